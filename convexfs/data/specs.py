"""Load data by a spec: a path, a generator, a bundled set or a name in the data folder.

Readers and generators are imported when needed.
"""

import csv
import functools
import inspect
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from convexfs.data.readers import memory_limit
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import WORDS, Reading, ReadOptions
from convexfs.data.targets import CLASSES, NUMBERS, check_kind, check_single_target
from convexfs.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from convexfs.data.dataset import Dataset

DATA_FOLDER_VARIABLE = "CONVEXFS_DATA"
#: Names of the generators, functions of convexfs.data.generators.
GENERATORS = (
    "spiral", "twonorm", "ringnorm", "waveform", "subclasses", "six_gaussians", "sign_bits",
    "friedman", "product", "ring",
)  # fmt: skip
#: Names of bundled data sets, and the functions of sklearn.datasets that load them.
BUNDLED = {
    "iris": "load_iris", "wine": "load_wine", "wdbc": "load_breast_cancer",
    "digits": "load_digits", "diabetes": "load_diabetes",
}  # fmt: skip

P = ParamSpec("P")


def _takes_options(
    options: Callable[P, ReadOptions],
) -> Callable[[Callable[[Any, ReadOptions], "Dataset"]], Callable[Concatenate[Any, P], "Dataset"]]:
    """Decorate f(spec, options) so that each option becomes a parameter of its signature."""

    def decorate(function: Callable[[Any, ReadOptions], "Dataset"]) -> Any:
        spec = inspect.Parameter("spec", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own = inspect.signature(options).parameters.values()
        signature = inspect.Signature([spec, *own], return_annotation="Dataset")

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> "Dataset":
            given: Any = signature.bind(*args, **kwargs).arguments
            make: Any = options
            return function(given.pop("spec"), make(**given))

        vars(decorated)["__signature__"] = signature
        return decorated

    return decorate


@_takes_options(ReadOptions)
def load(spec: Any, options: ReadOptions) -> "Dataset":
    """Load a data set from a file, table or bundled set, or generate one.

    Parameters
    ----------
    spec : str, path, DataFrame (pandas, polars) or AnnData
        The first of these that fits: an existing file; a generator with parameters, such as
        ``spiral:noise=500,seed=3``; a bundled set (iris, wine, wdbc, digits);
        ``data:NAME`` for a file of the data folder. Words may follow that say the same as the
        parameters below, as in ``lab.csv --target status --drop age,site``.
    target : str, optional
        The column (for npz and mat: the array) that holds the classes of a file.
    data_dir : path, optional
        The data folder; default: the environment variable CONVEXFS_DATA.
    drop : sequence of str
        Columns to leave out.
    aside : sequence of str
        Columns that are no features but stay with the samples: ``aside`` of the data set.
    id : str, optional
        The column that names the samples. Default: a column of words that differ in every
        row, or of row numbers; ``told`` of the data set says so.
    labels : path, optional
        A table of classes, joined by id: ``FILE`` or ``FILE:COLUMN``.
    transpose : bool
        Whether samples are columns, and the first column names the features.
    sep, decimal, encoding : str, optional
        Format of a text file; detected by default.
    limits : {"value", "missing"}, optional
        How detection limits such as ``<0.5`` and ``>100`` are read: as the number, or as
        missing values. By default they are errors.
    thousands : str, optional
        Character between thousands, as in ``12,400``.
    na : sequence of str
        Cells that mean a missing value, texts or numbers, as in ``["not done", "-999"]``.
    sheet, layer : str, optional
        Sheet of a workbook, by default the first; layer of annotated data, by default X.
    target_kind : {"classes", "numbers"}, optional
        Kind of the target. The default is that of the generator or bundled set; files have
        classes by default, and many different integers are refused.
    impute : {"none", "median", "knn"}
        How missing numbers are replaced.
    normalize : {"log1p-cpm"}, optional
        Normalise counts: divide by the sum of their sample, multiply by a million, and take
        log(1 + x).
    sparse : bool
        Whether a matrix that a file stores sparse (libsvm, mtx, h5ad) stays so, for methods
        that take it; by default it becomes dense.
    mixed : bool
        Whether missing values, and columns of text that have few values, are kept: for the
        methods that take them. Otherwise they are errors.
    categorical : sequence of str
        Columns that are categories, whatever they hold, if data are `mixed`.
    read_limit : str or number, optional
        Memory that reading may take, as in "4GB" or in bytes; what would need more is refused
        before it is read. Default: half of the machine's.

    Returns
    -------
    Dataset
        Unscaled; its ``name`` is the spec.

    Raises
    ------
    InputError
        If nothing fits or the data cannot be used.
    """
    check_kind(options.target_kind)
    check_single_target(options.target)
    reading = _reading(options)
    if not isinstance(spec, str | os.PathLike):
        return _normalized(_from_object(spec, reading), reading)
    text = os.fspath(spec)
    bare, said = split_spec(text) if not os.path.exists(os.path.expanduser(text)) else (text, {})
    try:
        reading = replace(reading, **said)
        return replace(_normalized(_load(bare, reading), reading), name=text)
    except MemoryError:
        raise InputError(f"{text} does not fit into memory; ask for less of it") from None


def _reading(options: ReadOptions) -> Reading:
    """Return options with lists of names for single ones, and their memory limit."""
    lists = {
        name: _as_list(getattr(options, name)) for name in ("drop", "aside", "categorical", "na")
    }
    labels = None if options.labels is None else os.fspath(options.labels)
    chosen: dict[str, Any] = vars(options) | lists | {"labels": labels}
    return Reading(**chosen, limit=memory_limit.read_limit(options.read_limit))


def file_behind(spec: str, data_dir: str | None = None) -> Path | None:
    """Return the path of the file that a spec names; None for a generator or bundled set."""
    if not os.path.isfile(os.path.expanduser(spec)):
        spec = split_spec(spec)[0]
    path = _matrix_in(os.path.expanduser(spec))
    if os.path.isfile(path):
        return Path(path).resolve()
    name, _, rest = spec.partition(":")
    return _in_data_folder(rest, data_dir).resolve() if name == "data" and rest else None


def check_source(spec: str) -> None:
    """Raise unless a spec names a file, generator or bundled set; ``data:`` is not looked up."""
    text = spec if os.path.exists(os.path.expanduser(spec)) else split_spec(spec)[0]
    path, name = _matrix_in(os.path.expanduser(text)), text.partition(":")[0]
    if os.path.isfile(path) or (name == "data" and name != text):
        return
    if os.path.isdir(path) or (name not in GENERATORS and name not in BUNDLED):
        raise InputError(_unknown(text, path))


def generator(name: str) -> Callable[..., "Dataset"]:
    """Return the generator function of this name."""
    from convexfs.data import generators

    return getattr(generators, name)


def _from_object(table: Any, reading: Reading) -> "Dataset":
    """Make a Dataset of a DataFrame (or other table) or AnnData object in memory."""
    from convexfs.data.readers.anndata_plink import arrays_of
    from convexfs.data.readers.files import from_arrays
    from convexfs.data.readers.table import from_table
    from convexfs.data.validation import as_pandas

    if hasattr(table, "obs") and hasattr(table, "var_names"):
        return from_arrays(arrays_of(table, reading, "the data"), reading, "the data")
    table = as_pandas(table)
    if not hasattr(table, "columns"):
        raise InputError(
            f"data are a path, a name, a DataFrame or AnnData, not {type(table).__name__}; arrays "
            "go into convexfs.data.make_dataset(X, y)"
        )
    return from_table(table, reading, "the table")


def _normalized(data: "Dataset", reading: Reading) -> "Dataset":
    """Normalise counts if requested; else note if sparse or transposed data look like counts."""
    from convexfs.data.counts import looks_like_counts, normalize_counts

    if reading.normalize is not None:
        return normalize_counts(data, reading.normalize)
    if (data.is_sparse or reading.transpose) and looks_like_counts(data.X):
        hint = "values are counts, taken as they are; for counts of reads add --normalize log1p-cpm"
        return replace(data, told=(*data.told, hint))
    return data


def _as_list(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _load(text: str, reading: Reading) -> "Dataset":
    from convexfs.data.build import kept_features
    from convexfs.data.readers.files import read_file
    from convexfs.data.targets import require_kind

    path = _matrix_in(os.path.expanduser(text))
    if os.path.exists(path) and not os.path.isdir(path):
        return read_file(path, reading, text)
    name, _, options = text.partition(":")
    if name == "data" and options:
        return read_file(_in_data_folder(options, reading.data_dir), reading, text)
    if name not in GENERATORS and name not in BUNDLED:
        raise InputError(_unknown(text, path))
    if reading.target is not None:
        raise InputError(f"{name} has its own classes; leave the target '{reading.target}' out")
    if reading.id or reading.labels or reading.transpose or reading.aside:
        raise InputError(
            f"{name} is no file with columns: leave --id, --labels, --transpose, --groups and "
            "--blocks out"
        )
    if name in GENERATORS:
        data = _generated(text, name, options, reading.limit)
    elif options:
        raise InputError(f"{name} takes no parameters; write just {name}")
    else:
        data = _bundled(name)
    require_kind(data.name, data.numeric, reading.target_kind)
    if not reading.drop:
        return data
    return data.select(kept_features(reading.drop, data.feature_names, text, data.target))


def _generated(text: str, name: str, options: str, limit: ReadLimit) -> "Dataset":
    from convexfs.data.generators import check_size

    make = generator(name)
    known = inspect.signature(make).parameters
    chosen: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        key, _, value = (part.strip() for part in option.partition("="))
        if key not in known:
            raise InputError(
                f"{text} has an unknown parameter '{key}'; {name} takes {', '.join(known)}"
            )
        chosen[key] = _number(text, key, value, whole=known[key].annotation is int)
    check_size(make, chosen, text, limit)
    return replace(make(**chosen), name=text)


def _number(text: str, key: str, value: str, whole: bool) -> float | int:
    try:
        number = float(value)
    except ValueError:
        number = None
    if number is None or (whole and not number.is_integer()):
        kind = "an integer" if whole else "a number"
        raise InputError(f"{text} gives '{value}' for {key}; {key} must be {kind}")
    return int(number) if whole else number


def _bundled(name: str) -> "Dataset":
    import sklearn.datasets

    from convexfs.data.build import make_dataset

    bunch: Any = getattr(sklearn.datasets, BUNDLED[name])()
    classes = getattr(bunch, "target_names", None)
    kind = NUMBERS if classes is None else CLASSES
    return make_dataset(
        bunch.data, bunch.target, bunch.feature_names, classes, name, target_kind=kind
    )


def _in_data_folder(name: str, data_dir: Any) -> Path:
    from convexfs.data.readers.files import file_suffix

    folder = data_dir or os.environ.get(DATA_FOLDER_VARIABLE)
    if not folder:
        raise InputError(
            f"data:{name} needs the data folder; set {DATA_FOLDER_VARIABLE} or pass data_dir= "
            "(--data on the command line)"
        )
    folder = Path(os.path.expanduser(folder))
    if not os.path.isdir(folder):
        raise InputError(
            f"the data folder {folder} does not exist; correct {DATA_FOLDER_VARIABLE} or data_dir="
        )
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"data:{name} leaves the data folder {folder}; name a file in it")
    for candidate in (folder / f"{name}.npz", folder / name):
        if os.path.isfile(candidate):
            return candidate
    files = [path for path in folder.iterdir() if file_suffix(path)]
    options = [path.stem if path.suffix == ".npz" else path.name for path in files]
    raise InputError(f"the data folder {folder} has no '{name}'; {did_you_mean(name, options)}")


def _matrix_in(path: str) -> str:
    """Return the matrix file in a Cell Ranger folder (10x Genomics); other paths unchanged."""
    matrices = (os.path.join(path, name) for name in ("matrix.mtx", "matrix.mtx.gz"))
    return next(filter(os.path.isfile, matrices), path)


def _unknown(text: str, path: str) -> str:
    if os.path.isdir(path):
        return f"{text} is a folder; name a file in it"
    name = text.partition(":")[0]
    if Path(name).suffix or os.sep in text or "/" in text:
        return f"there is no file {text}; check the spelling and the folder"
    return f"no data set is called '{name}'; {did_you_mean(name, [*GENERATORS, *BUNDLED])}"


_MARK = " --"


def split_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split a spec into the name of the data and a dict of reading options.

    >>> split_spec("lab.csv --drop age,site --transpose")
    ('lab.csv', {'drop': ['age', 'site'], 'transpose': True})

    Raises
    ------
    InputError
        If a word is not known, or has no value.
    """
    name, mark, rest = spec.partition(_MARK)
    if not mark:
        return spec, {}
    try:
        words = shlex.split("--" + rest)
    except ValueError as error:
        raise InputError(f"{spec} cannot be read ({error})") from None
    said: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        option = word.removeprefix("--")
        if not word.startswith("--") or option not in WORDS:
            raise InputError(f"{spec} says '{word}'; {did_you_mean(option, WORDS)}")
        if WORDS[option].default is False:
            said[option] = True
            continue
        if not words:
            raise InputError(f"{spec} says '{word}' without a value: write {word} NAME")
        value = words.pop(0)
        said[option] = listed(value) if WORDS[option].default == () else value
    return name.strip(), said


def renamed(spec: str, name: str) -> str:
    """Return a spec with another name and the same options.

    >>> renamed("lab.csv --drop age", "here/lab.csv")
    'here/lab.csv --drop age'
    """
    return name + "".join(spec.partition(_MARK)[1:])


def listed(text: str) -> list[str]:
    """Split a text at commas into names, which are quoted as in csv if they contain a comma."""
    return next(csv.reader([text], skipinitialspace=True), [])
