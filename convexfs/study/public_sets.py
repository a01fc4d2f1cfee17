"""Public sets of instances by name: their files, and where to download them.

No set is shipped. A set is a folder of files as its authors publish them, which you name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convexfs.errors import InputError, check_number, check_seed, did_you_mean
from convexfs.formats import ending

ALL = "all"


@dataclass(frozen=True)
class PublicSet:
    """A public set of instances: where to get it, and its licence."""

    source: str
    licence: str


SETS = {
    "netlib": PublicSet("netlib.org/lp/data", "public"),
    "netlib-infeasible": PublicSet("netlib.org/lp/infeas", "public"),
    "maros-meszaros": PublicSet("qpbenchmark/maros_meszaros_qpbenchmark", "Apache-2.0"),
    "cblib-exp": PublicSet("cblib.zib.de", "CBLIB's notice"),
    "cblib-socp": PublicSet("cblib.zib.de", "CBLIB's notice"),
    "cblib-pow": PublicSet("cblib.zib.de", "CBLIB's notice"),
    "sdplib": PublicSet("vsdp/SDPLIB", "GPL-2.0"),
    "liu-pataki": PublicSet("unc.edu/~pataki/SDP.zip", "not stated"),
    "miplib3": PublicSet("miplib.zib.de", "public"),
}


def files_of(
    names: Iterable[str], instances: Path | None, sample: int | None = None, seed: int = 0
) -> list[Path]:
    """Return files of public sets, all or a sample over all sizes; smallest first in each set.

    Parameters
    ----------
    names : iterable of str
        Names of SETS, each one or several between commas, or ``all`` for those that are there.
    instances : Path
        The folder with a folder for every set, named as it is (``cblib_exp`` will do as well).
    sample : int, optional
        At most so many files of each set, drawn by `seed` from all sizes of files alike.
    """
    names = [part for name in names for part in name.split(",")]
    for name in names:
        if name not in (*SETS, ALL):
            raise InputError(f"no public set is named {name!r}: {did_you_mean(name, [*SETS, ALL])}")
    if instances is None:
        raise InputError("give the folder that holds the public sets by --instances DIR")
    if sample is not None:
        check_number("sample", sample, 1, whole=True)
    check_seed("seed", seed)
    there = {name: _folder(name, instances) for name in SETS}
    chosen = [name for name in SETS if there[name]] if ALL in names else names
    found: list[Path] = []
    for name in dict.fromkeys(chosen):
        folder = there[name]
        if folder is None:
            raise InputError(
                f"{instances} has no folder {name}: get the files from {SETS[name].source}"
            )
        files = [path for path in folder.iterdir() if path.is_file() and ending(path.name)]
        files.sort(key=lambda path: (path.stat().st_size, path.name))
        found += _sampled(files, sample, seed)
    if not found:
        raise InputError(f"{instances} has no folder of any public set: {', '.join(SETS)}")
    return found


def _folder(name: str, instances: Path) -> Path | None:
    places = (instances / name, instances / name.replace("-", "_"))
    return next((place for place in places if place.is_dir()), None)


def _sampled(files: list[Path], sample: int | None, seed: int) -> list[Path]:
    """Return all files, or one random file from each of `sample` groups of similar size."""
    if sample is None or len(files) <= sample:
        return files
    draw = np.random.default_rng(seed)
    layers = np.array_split(np.arange(len(files)), sample)
    return [files[int(draw.choice(layer))] for layer in layers]
