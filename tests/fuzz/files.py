"""Damaged data files of every format into the reader, and into ``select`` behind it."""

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.io import savemat

import convexfs
from convexfs.errors import ConvexfsError

from . import command_line
from .arrays import finite, quiet
from .attack import Attack, Failure, PeakMemory, Verdict, cause_of, pick
from .bombs import BOMBS
from .mutations import PIECES, damaged

#: Methods that take milliseconds, so that the file is what is tried.
METHODS = ["relief", "mmc", "simba", "irelief", "lfe", "lmba"]
#: Bombs take a second each.
BOMB_SHARE = 0.003
#: Names that a terminal, a shell or a file system may take amiss; %s is the suffix.
NAMES = ["data%s"] * 12 + [
    "two words%s", "new\nline%s", "\x1b[31mred%s", "-dash%s", "é\u202e%s", "\udcff%s", "sub/data%s",
    "[bold]%s", "%%s%s", "iris%s", "spiral:n=3%s", "{0}%s", "'quoted\"%s", "a" * 200 + "%s",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A data file, and the words of the command that reads it; none: only the reader does."""

    name: str
    content: bytes
    target: str | None
    words: tuple[str, ...] = ()


def make(rng: np.random.Generator) -> Case:
    if rng.random() < BOMB_SHARE:
        name = pick(rng, BOMBS)
        words = ("select", name, "--method", "ks", "--read-limit", "100MB")
        return Case(name, BOMBS[name](), None, words)
    suffix = pick(rng, UNKNOWN if rng.random() < 0.03 else FORMATS)
    content = FORMATS.get(suffix, _noise)(rng)
    name = pick(rng, NAMES) % suffix
    target = pick(rng, [None] * 6 + ["y", "f0", "nosuch", ""])
    if rng.random() < 0.5:
        return Case(name, content, target)
    words = ["select", name if rng.random() < 0.9 else f"./{name}", "--method", pick(rng, METHODS)]
    words += [] if target is None else ["--target", target]
    words += pick(rng, [[], [], ["--json"], ["--out", "out.csv"], ["--top", "1"], ["--drop", "f0"]])
    words += pick(rng, [[], [], ["--scale", pick(rng, ["none", "minmax", "zscore"])]])
    return Case(name, content, target, tuple(words))


def _frame(rng: np.random.Generator) -> pd.DataFrame:
    rows, columns = int(rng.integers(4, 12)), int(rng.integers(1, 5))
    X = np.round(rng.normal(size=(rows, columns)), 2)
    if rng.random() < 0.2:
        X = np.round(X)
    frame = pd.DataFrame(X).add_prefix("f")
    frame["y"] = np.array(["a", "b", "c"])[np.arange(rows) % 3 % pick(rng, [2, 3])]
    if rng.random() < 0.15:
        strange = pick(rng, PIECES).decode(errors="replace")
        frame = frame.rename(columns={pick(rng, list(frame.columns)): strange})
    if rng.random() < 0.15:
        row, column = int(rng.integers(rows)), int(rng.integers(columns + 1))
        frame = frame.astype(object)
        frame.iloc[row, column] = pick(rng, PIECES).decode(errors="replace")
    return frame


def _separated(separator: str) -> Callable[[np.random.Generator], bytes]:
    def write(rng: np.random.Generator) -> bytes:
        text = _frame(rng).to_csv(index=bool(rng.random() < 0.1), sep=separator)
        return damaged(rng, text.encode()) if rng.random() < 0.8 else text.encode()

    return write


def _zipped(separator: str) -> Callable[[np.random.Generator], bytes]:
    def write(rng: np.random.Generator) -> bytes:
        content = gzip.compress(_separated(separator)(rng), mtime=0)
        return damaged(rng, content) if rng.random() < 0.4 else content

    return write


def _parquet(rng: np.random.Generator) -> bytes:
    content = io.BytesIO()
    frame = _frame(rng)
    frame.astype({name: str for name in frame if frame[name].dtype == object}).to_parquet(content)
    return damaged(rng, content.getvalue())


def _arff(rng: np.random.Generator) -> bytes:
    frame = _frame(rng)
    kinds = dict.fromkeys(frame, "numeric") | {frame.columns[-1]: "{a,b,c}"}
    head = "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items())
    text = f"@relation r\n{head}@data\n{frame.to_csv(index=False, header=False)}"
    return damaged(rng, text.encode())


def _arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    frame = _frame(rng)
    arrays = {"X": frame.iloc[:, :-1].to_numpy(), "y": frame.iloc[:, -1].to_numpy().astype(str)}
    if arrays["X"].dtype == object:
        arrays["X"] = arrays["X"].astype(str)
    if rng.random() < 0.5:
        arrays["y"] = np.arange(len(frame)) % 2
    extras = {
        "feature_names": lambda: np.array([f"g{pick(rng, [j, 1])}" for j in range(len(frame))]),
        "class_names": lambda: np.array(["a", "\x1b[31m", "c"])[: int(rng.integers(4))],
        "split": lambda: rng.integers(-1, 3, len(frame)),
    }
    for name, extra in extras.items():
        if rng.random() < 0.2:
            arrays[name] = extra()
    if rng.random() < 0.2:
        twist = pick(rng, [np.ravel, np.transpose, np.atleast_3d, lambda a: a[:1], lambda a: a[:0]])
        name = pick(rng, list(arrays))
        arrays[name] = np.ascontiguousarray(twist(arrays[name]))
    return arrays


def _npz(rng: np.random.Generator) -> bytes:
    """An archive whose members, header or whole are damaged; checksums hide the first two."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in _arrays(rng).items():
            member = io.BytesIO()
            pickled = rng.random() < 0.05
            np.save(member, array.astype(object) if pickled else array, allow_pickle=pickled)
            inside = member.getvalue()
            if rng.random() < 0.3:
                inside = damaged(rng, inside)
            elif rng.random() < 0.1:
                inside = _with_shape(inside, pick(rng, HUGE_SHAPES))
            # The time of day would make another file of the same case.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), inside)
    return damaged(rng, content.getvalue()) if rng.random() < 0.3 else content.getvalue()


#: Sizes that a header claims.
HUGE_SHAPES = ["(10000000000, 3)", "(3, 10000000000)", "(0, 3)", "(-1, 3)", "(2, 0)", "()"]


def _with_shape(member: bytes, shape: str) -> bytes:
    """An array whose header tells a lie about its size."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    padded = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + member[-80:]


def _mat(rng: np.random.Generator) -> bytes:
    content = io.BytesIO()
    savemat(content, _arrays(rng), do_compression=bool(rng.random() < 0.3))
    # The first bytes tell the time, which would make another file of the same case.
    return damaged(rng, b"MATLAB 5.0 MAT-file".ljust(116) + content.getvalue()[116:])


def _libsvm(rng: np.random.Generator) -> bytes:
    frame = _frame(rng)
    lines = [
        f"{n % 2} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row))
        for n, row in enumerate(frame.iloc[:, :-1].to_numpy())
    ]
    if rng.random() < 0.1:
        lines.append(pick(rng, ["1 999999999:1", "0 2147483648:1", "1 99999999999999999999:1"]))
    return damaged(rng, "\n".join(lines).encode())


def _noise(rng: np.random.Generator) -> bytes:
    return rng.bytes(int(rng.integers(200)))


FORMATS: dict[str, Callable[[np.random.Generator], bytes]] = {
    ".csv": _separated(","),
    ".CSV": _separated(","),
    ".csv.gz": _zipped(","),
    ".tsv": _separated("\t"),
    ".tsv.gz": _zipped("\t"),
    ".parquet": _parquet,
    ".arff": _arff,
    ".npz": _npz,
    ".mat": _mat,
    ".libsvm": _libsvm,
    ".svmlight": _libsvm,
    ".svm": _libsvm,
}
#: Suffixes of no format that can be read.
UNKNOWN = [".npy", "", ".", ".csv.zip"]


def judge(case: Case) -> Verdict:
    """Read the file, alone or by a command."""
    if case.words:
        return command_line.judge(_as_command(case))
    with command_line.folder_of({case.name: case.content}), PeakMemory() as memory, quiet():
        try:
            data = convexfs.load(case.name, case.target)
        except ConvexfsError as error:
            verdict = Verdict("load refused", _one_line(error))
        except Exception as error:
            verdict = Verdict("load crashed", (Failure("crash", f"load: {cause_of(error)}"),))
        else:
            odd = () if finite(data.X) else (Failure("NaN", "load: X not finite"),)
            verdict = Verdict("load read", odd)
    return Verdict(verdict.outcome, verdict.failures + memory.failures())


def _one_line(error: ConvexfsError) -> tuple[Failure, ...]:
    """From Python the text is as it is; only a mute error is a fault."""
    return () if str(error).strip() else (Failure("mute error", type(error).__name__),)


def _as_command(case: Case) -> command_line.Case:
    return command_line.Case(case.words, {case.name: case.content})


def reproducer(case: Case) -> Mapping[str, bytes]:
    if case.words:
        return command_line.reproducer(_as_command(case))
    files = command_line.reproducer(command_line.Case(("select",), {case.name: case.content}))
    script = (
        "from pathlib import Path\n\nimport convexfs\n\n"
        "here = Path(__file__).parent\n"
        f"name = here / 'again' / {case.name!r}\n"
        "name.parent.mkdir(parents=True, exist_ok=True)\n"
        "name.write_bytes((here / 'file-0').read_bytes())\n"
        f"print(convexfs.load(name, {case.target!r}))\n"
    )
    return {"file-0": files["file-0"], "case.py": script.encode()}


ATTACK = Attack(make, judge, reproducer, share=50)
