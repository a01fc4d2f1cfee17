"""A comparison in one file: what it was computed from, with what, and what came out.

::

    manifest.json        what it takes to do the comparison again; hash and size of every file
    requirements.txt     versions of all packages, as pip takes them
    results.sqlite       the store, with the machine and the options of every solver
    problems/...         problem files, as far from each other as they were
    data/...             files that they read their samples from

An archive may come from anybody. Nothing of it is run here, and nothing is unpacked before
all of it has been looked at: names that leave the folder, links, names given twice, more
bytes than it may have and bytes that are not those of the manifest are refused. Problem
files are run only where any problem file is, by :func:`convexfs.batch.problem_files.load`.
"""

import hashlib
import json
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import convexfs
from convexfs.batch.store.sqlite_file import connect, readable
from convexfs.batch.store.store import RESULTS, Store
from convexfs.data.specs import BUNDLED, GENERATORS, file_behind, load
from convexfs.data.targets import NUMBERS
from convexfs.errors import ConvexfsError, InputError, check_regular_file, writing

MANIFEST, REQUIREMENTS = "manifest.json", "requirements.txt"
PROBLEMS, DATA = "problems", "data"
KIND, VERSION = "convexfs comparison", 1
#: Largest archive that is unpacked: bytes after decompression, files, and bytes of the manifest.
MOST_BYTES, MOST_FILES, MOST_MANIFEST_BYTES = 2 * 10**9, 10_000, 10**7
_PLACES = re.compile(rf"({PROBLEMS}|{DATA})(/[^/\\:\x00-\x1f\x7f]{{1,150}}){{1,12}}")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Contents:
    """The folder of an unpacked archive, with the studies and environments of its manifest."""

    folder: Path
    studies: list[dict[str, Any]]
    environments: list[dict[str, Any]]


def write_archive(folder: str | Path, out: str | Path, more: Iterable[str | Path] = ()) -> Path:
    """Write a folder's comparisons, with files, data and versions, to a zip; return its path.

    Parameters
    ----------
    folder : path
        The ``--out`` of ``convexfs compare``.
    out : path
        A ``.zip`` file.
    more : paths
        Files that problem files read by themselves; they lie beside or below these.

    Raises
    ------
    InputError
        If a problem file or its data are no longer as they were.
    """
    folder, out = Path(folder), Path(out)
    if out.suffix != ".zip":
        raise InputError(f"{out}: an archive is written to a file that ends in .zip")
    with Store.read(folder) as store:
        studies, environments = store.studies(), store.environments()
        digests = dict(store.tasks()[["data", "data_sha256"]].dropna().itertuples(index=False))
    if not studies:
        raise InputError(f"{folder}: holds no comparison; give the --out of convexfs compare")
    try:
        files = _files(studies, digests, [Path(own) for own in more])
        placed = [_placed(own, files) for own in studies]
    except ConvexfsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder}: its record of the comparison is damaged ({error!r})"
        ) from error
    manifest = {
        "kind": KIND, "version": VERSION, "convexfs": convexfs.__version__,
        "environments": environments, "studies": placed,
    }  # fmt: skip
    texts = {name: path.read_bytes() for path, name in files.items()}
    texts[RESULTS] = _whole(folder / RESULTS)
    texts[REQUIREMENTS] = _requirements(environments).encode()
    manifest["files"] = {name: _hash_and_size(text) for name, text in texts.items()}
    with writing(out), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))
        for name, text in texts.items():
            archive.writestr(name, text)
    return out


def _hash_and_size(text: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(text).hexdigest(), "size": len(text)}


def _files(
    studies: list[dict[str, Any]], digests: dict[str, str], more: list[Path]
) -> dict[Path, str]:
    """Return {path: name in the archive} of problem and data files; raise if one has changed."""
    problems = {Path(own["path"]): own["sha256"] for study in studies for own in study["files"]}
    for path, sha256 in problems.items():
        if not path.is_file() or _hash_and_size(path.read_bytes())["sha256"] != sha256:
            raise InputError(f"{path}: is not as it was compared; put it back, or compare again")
    beside = {path.resolve() for path in more}
    common = Path(os.path.commonpath([path.parent for path in problems]))
    names = {path: f"{PROBLEMS}/{path.relative_to(common).as_posix()}" for path in problems}
    for path in sorted(beside):
        if not path.is_file() or not path.is_relative_to(common):
            raise InputError(f"{path}: is no file in {common}, where the problem files are")
        names[path] = f"{PROBLEMS}/{path.relative_to(common).as_posix()}"
    for study in studies:
        for spec in {spec for own in study["files"] for spec in own["data"]}:
            path = _data_file(spec, study["reading"]["data_dir"], digests)
            if path is not None:
                names.setdefault(path, f"{DATA}/{len(names)}/{path.name}")
    return names


def _data_file(spec: str, data_dir: str | None, digests: dict[str, str]) -> Path | None:
    path, digest = file_behind(spec, data_dir), digests.get(spec)
    if path is None:
        return path
    if digest is None:
        raise InputError(f"{spec}: no task on it is finished; finish the comparison first")
    if not _has_digest(spec, data_dir, digest):
        raise InputError(f"{spec}: is not the data that were compared on; put them back")
    return path


def _has_digest(spec: str, data_dir: str | None, digest: str) -> bool:
    """Return whether data still have this digest, their target read as classes or as numbers."""
    found = set()
    for kind in (None, NUMBERS):
        with suppress(InputError):
            found.add(load(spec, data_dir=data_dir, target_kind=kind).training.scaled().digest)
    return digest in found


def _placed(study: dict[str, Any], files: dict[Path, str]) -> dict[str, Any]:
    """Return the record of a study with file paths replaced by names in the archive."""
    data_dir = study["reading"]["data_dir"]
    told = [
        own
        | {"path": files[Path(own["path"])]}
        | {"data": [[spec, _place(file_behind(spec, data_dir), files)] for spec in own["data"]]}
        for own in study["files"]
    ]
    return {"files": told, "plan": study["plan"], "command": study["command"]}


def _place(path: Path | None, files: dict[Path, str]) -> str:
    return "" if path is None else files[path]


def _requirements(environments: list[dict[str, Any]]) -> str:
    packages = environments[-1].get("packages", {}) if environments else {}
    return "".join(f"{name}=={version}\n" for name, version in packages.items())


def _whole(store: Path) -> bytes:
    """Return the bytes of a SQLite store, including changes that are only in its journal."""
    with ExitStack() as held, closing(connect(*readable(store, held))) as source:
        return source.serialize()


def unpack_archive(archive: str | Path, folder: str | Path, limit: int = MOST_BYTES) -> Contents:
    """Check and unpack an archive; raise if another file is in the way; return its Contents.

    Parameters
    ----------
    archive : path
        What :func:`write_archive` wrote, perhaps somebody else's.
    folder : path
        Where its files go.
    limit : int
        Bytes they may have together.
    """
    archive, folder = Path(archive), Path(folder)
    if not archive.exists():
        raise InputError(f"there is no archive {archive}; check the spelling and the folder")
    check_regular_file(archive)
    try:
        with zipfile.ZipFile(archive) as opened:
            _check_members(archive, opened.infolist(), limit)
            manifest = _manifest(archive, opened)
            for name, told in manifest["files"].items():
                _unpack(archive, opened, name, told, folder / PurePosixPath(name))
    except ConvexfsError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{archive}: cannot be unpacked into {folder} ({reason})") from error
    # zipfile and the decompressors raise many classes of errors for invalid bytes.
    except Exception as error:
        raise InputError(f"{archive}: is no archive of convexfs, or damaged ({error})") from error
    return Contents(folder, manifest["studies"], manifest["environments"])


def _check_members(archive: Path, members: list[zipfile.ZipInfo], limit: int) -> None:
    total = sum(member.file_size for member in members)
    if not 0 < len(members) <= MOST_FILES or total > limit:
        raise InputError(
            f"{archive}: holds {len(members):,} files of {total:,} bytes; {MOST_FILES:,} files "
            f"and {limit:,} bytes are allowed"
        )
    for member in members:
        kind = stat.S_IFMT(member.external_attr >> 16)
        parts = member.filename.split("/")
        known = member.filename in (MANIFEST, REQUIREMENTS, RESULTS)
        fits = known or _PLACES.fullmatch(member.filename)
        if not fits or {".", ".."} & set(parts) or kind not in (0, stat.S_IFREG):
            raise InputError(f"{archive}: holds {member.filename!r}, which no archive may hold")
    ((name, count),) = Counter(own.filename.casefold() for own in members).most_common(1)
    if count > 1:
        raise InputError(f"{archive}: holds {name!r} {count} times")


def _manifest(archive: Path, opened: zipfile.ZipFile) -> dict[str, Any]:
    """Return the checked manifest; raise unless it lists exactly the files of the archive."""
    if MANIFEST not in opened.namelist() or RESULTS not in opened.namelist():
        raise InputError(f"{archive}: has no {MANIFEST} or no {RESULTS}: it is no archive of ours")
    if opened.getinfo(MANIFEST).file_size > MOST_MANIFEST_BYTES:
        raise InputError(f"{archive}: its {MANIFEST} is too long")
    try:
        manifest = json.loads(opened.read(MANIFEST))
        if (manifest["kind"], manifest["version"]) != (KIND, VERSION):
            raise InputError(f"{archive}: is of another version of convexfs")
        told = {
            name: (str(own["sha256"]), int(own["size"])) for name, own in manifest["files"].items()
        }
        studies = [_checked_study(own, set(told)) for own in manifest["studies"]]
        environments = [dict(own) for own in manifest["environments"]]
    except (
        ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError,
    ) as error:  # fmt: skip
        raise InputError(f"{archive}: its {MANIFEST} cannot be understood ({error!r})") from error
    if {*told, MANIFEST} != set(opened.namelist()):
        raise InputError(f"{archive}: its {MANIFEST} lists other files than it holds")
    return {"files": told, "studies": studies, "environments": environments}


def _checked_study(study: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the needed fields of a study; raise ValueError if a file it names is missing."""
    files = []
    for own in study["files"]:
        data = [(str(spec), str(name)) for spec, name in own["data"]]
        for spec, name in data:
            made_here = spec.partition(":")[0] in (*GENERATORS, *BUNDLED)
            if name not in names and not (made_here and not name):
                raise ValueError(f"data {spec!r} is not in the archive")
        if own["path"] not in names:
            raise ValueError(f"problem file {own['path']!r} is not in the archive")
        files.append({"path": own["path"], "sha256": str(own["sha256"]), "data": data})
    command = [str(word) for word in study["command"]]
    return {"files": files, "plan": dict(study["plan"]), "command": command}


def _unpack(
    archive: Path, opened: zipfile.ZipFile, name: str, told: tuple[str, int], target: Path
) -> None:
    """Write one file; raise if its bytes differ from the manifest or another file is there."""
    sha256, size = told
    if target.is_file() and _hash_and_size(target.read_bytes())["sha256"] == sha256:
        return
    if target.exists():
        raise InputError(f"{target}: is there already and is another file; choose another --out")
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, written = hashlib.sha256(), 0
    try:
        with opened.open(name) as source, target.open("xb") as copy:
            while (chunk := source.read(_CHUNK)) and written <= size:
                digest.update(chunk)
                written += copy.write(chunk)
        if (digest.hexdigest(), written) != (sha256, size):
            raise InputError(f"{archive}: {name} does not match its {MANIFEST}")
    except BaseException:
        target.unlink(missing_ok=True)
        raise
