"""Run ``convexfs`` on some files, in this process or as one of its own, and judge how it ends.

Whatever it is given: exit code 0, 1 or 2; with 2 exactly one line of error; no traceback; nothing
that a terminal would obey; JSON that is JSON; no code run that nobody asked to run.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .attack import Failure, Hung, PeakMemory, Verdict, cause_of

TRACEBACK = "Traceback (most recent call last)"
#: Control characters other than line feed and tab, those of 8 bits included.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: What code in a store that is only to be read would leave behind.
SENTINEL = "code-was-run"
#: Seconds after which a command in a process of its own is given up.
PATIENCE = 50.0


@dataclass(frozen=True)
class Case:
    """Files by name, and the words of a command that runs in their folder."""

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    outside: bool = False  #: in a process of its own


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    error: str
    raised: BaseException | None = None


def judge(case: Case) -> Verdict:
    """Run the command in a fresh folder and judge it."""
    with folder_of(case.files), PeakMemory() as memory:
        ended = (_run_outside if case.outside else _run_here)(case.words)
        failures = list(_broken_promises(case, ended))
    outcome = "traceback" if ended.raised else f"{case.words[0] if case.words else ''} {ended.code}"
    return Verdict(outcome.strip(), (*failures, *memory.failures()))


@contextlib.contextmanager
def folder_of(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with these files, in which this process is meanwhile."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def _run_here(words: tuple[str, ...]) -> Ended:
    from convexfs.cli import main

    code, raised = -1, None
    with (
        warnings.catch_warnings(),
        _captured("stdout", "strict") as out,
        _captured("stderr", "backslashreplace") as error,
    ):
        # As in a process of its own, whatever the one around it makes of warnings.
        warnings.simplefilter("default")
        try:
            code = main(list(words))
        except BaseException as escaped:
            if isinstance(escaped, KeyboardInterrupt | Hung):
                raise
            raised = escaped
    return Ended(code, out.getvalue().decode(), error.getvalue().decode(), raised)


@contextlib.contextmanager
def _captured(name: str, errors: str) -> Iterator[io.BytesIO]:
    """A stream of `sys` as bytes, encoded like Python's own."""
    content, before = io.BytesIO(), getattr(sys, name)
    stream = io.TextIOWrapper(content, "utf-8", errors, write_through=True)
    setattr(sys, name, stream)
    try:
        yield content
    finally:
        setattr(sys, name, before)
        stream.detach()


def _run_outside(words: tuple[str, ...]) -> Ended:
    command = [sys.executable, "-m", "convexfs", *words]
    ran = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    return Ended(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def _broken_promises(case: Case, ended: Ended) -> Iterator[Failure]:
    command = case.words[0] if case.words else "convexfs"
    if ended.raised is not None:
        yield Failure("traceback", f"{command}: {cause_of(ended.raised)}")
        return
    lines = [line for line in ended.error.splitlines() if line]
    if TRACEBACK in ended.out + ended.error:
        yield Failure("traceback", f"{command}: {lines[-1] if lines else 'on standard output'}")
        return
    if ended.code not in (0, 1, 2):
        yield Failure("exit code", f"{command}: {ended.code}")
    told = [line for line in lines if not line.startswith("convexfs: warning: ")]
    if ended.code == 2 and (len(told) != 1 or not told[0].startswith("convexfs: ")):
        yield Failure("error lines", f"{command}: {len(told)} lines with exit code 2")
    for stream, text in (("standard output", ended.out), ("standard error", ended.error)):
        if OBEYED.search(text):
            yield Failure("escape bytes", f"{command}: control characters on {stream}")
    if "--json" in case.words and ended.code in (0, 1) and ended.out:
        try:
            json.loads(ended.out, parse_constant=_no_json)
        except ValueError as error:
            yield Failure("not JSON", f"{command}: {error}")
    if any(Path.cwd().rglob(SENTINEL)):
        yield Failure("code run", f"{command}: ran code of what it was to read")


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def reproducer(case: Case) -> dict[str, bytes]:
    """The files and a script with the command line."""
    # Names that no file system takes alike are written by number, and named in the script.
    files, script = {}, ["#!/bin/sh", 'cd "$(dirname "$0")" || exit', "mkdir -p again && cd again"]
    for number, (path, content) in enumerate(case.files.items()):
        files[f"file-{number}"] = content
        parent = os.path.dirname(path)
        script += [f"mkdir -p {shlex.quote(parent)}"] if parent else []
        script.append(f"cp ../file-{number} {shlex.quote(path)}")
    # Of the environment that convexfs is installed in.
    script.append('"${PYTHON:-python}" ' + shlex.join(["-m", "convexfs", *case.words]))
    files["run.sh"] = "\n".join([*script, ""]).encode(errors="surrogateescape")
    return files
