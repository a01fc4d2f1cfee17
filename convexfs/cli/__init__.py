"""The ``convexfs`` command.

Exit codes: 0 done, 1 something was computed but failed or was refuted, 2 bad
input (one line on standard error, no traceback), 3 undecided (``certify``, ``explain``), 75
stopped by a scheduler's signal and to be resumed by the same command, 130 stopped by Ctrl-C.

Only the command that runs is imported. Help texts and lists are read from the sources, so
that they need no numerical library.
"""

import argparse
import errno
import importlib
import io
import os
import pickle
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import convexfs
from convexfs.cli.terminal import WIDTH, first_sentence, one_line
from convexfs.errors import ConvexfsError, InputError, did_you_mean

#: Module and function of each command; add_NAME_options of the same module defines its options.
COMMANDS = {
    "guide": "convexfs.cli.guide:guide",
    "list": "convexfs.cli.list:list_all",
    "solvers": "convexfs.cli.list:solvers",
    "select": "convexfs.cli.select:select",
    "show": "convexfs.cli.show:show",
    "export-problems": "convexfs.cli.export_problems:export_problems",
    "solve": "convexfs.cli.solve:solve",
    "merge": "convexfs.cli.report:merge",
    "export": "convexfs.cli.report:export",
    "certify": "convexfs.cli.certify:certify",
    "explain": "convexfs.cli.explain:explain",
    "compare": "convexfs.cli.compare:compare",
    "report": "convexfs.cli.report:report",
    "archive": "convexfs.cli.report:archive",
}

#: Commands of earlier versions, with a message on what replaces them.
FORMER = {"reproduce": "the papers' experiments left the package: run python scripts/reproduce.py"}

_EPILOG = """\
start here:
  convexfs select wdbc                       rank features of a bundled data set
  convexfs select FILE.csv --target COLUMN   rank features of your own table
  convexfs COMMAND --help                    options and examples of a command
  convexfs guide                             pages of the guide"""

#: Error numbers that writing to standard output may raise, such as for a full disk.
_WRITING = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EAGAIN}


def main(argv: Sequence[str] | None = None, loaded: Callable[[], None] | None = None) -> int:
    """Run the command line, print errors as one line, and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The words of the line; default: this process's.
    loaded : callable, optional
        Called when the command has been imported and is about to run.
    """
    if sys.stdout is None:  # Otherwise the next file to be opened would become standard output.
        _complain("error: standard output is closed; send it somewhere, such as >/dev/null")
        return 2
    for stream in (sys.stdout, sys.stderr):
        # Characters that cannot be encoded must not end a command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:] if argv is None else argv, loaded)
        # Errors of a flush at interpreter exit can no longer be handled.
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader (head, less) has gone: exit quietly, with nothing left to flush.
        _drop_output()
        return 0
    except OSError as error:
        _complain(f"error: {_system_trouble(error)}")
        return 2


def _run(argv: Sequence[str], loaded: Callable[[], None] | None) -> int:
    try:
        if argv and argv[0] in FORMER.keys() - COMMANDS.keys():
            raise InputError(f"{FORMER[argv[0]]} in a checkout")
        if not argv:
            _parser(argv).print_help(sys.stdout)
            return 0
        if not argv[0].startswith("-") and argv[0] not in COMMANDS:
            raise InputError(f"unknown command {argv[0]!r}: {did_you_mean(argv[0], COMMANDS)}")
        arguments = _parser(argv).parse_args(argv)
        arguments.words = argv
        if loaded is not None:
            loaded()
        with warnings.catch_warnings(), _reading_within(getattr(arguments, "read_limit", None)):
            warnings.showwarning = lambda message, *_, **__: _complain(f"warning: {message}")
            return arguments.run(arguments)
    except ConvexfsError as error:
        _complain(f"error: {error}")
        return 2
    except MemoryError:
        _complain("error: there is not enough memory; use less data, or fewer features")
        return 2
    except KeyboardInterrupt:
        _complain("stopped")
        return 130
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError) as error:
        folder = _damaged_cache(error)
        if folder is None:
            raise
        _complain(f"error: numba's compiled kernels in {folder} are damaged; delete that folder")
        return 2
    except SystemExit as end:
        # argparse exits after a bad line or --help; rich exits if the reader has gone.
        return 0 if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)


def _damaged_cache(error: Exception) -> str | None:
    """Return the folder of numba's cache if an error arose from reading it, else None."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.endswith(os.path.join("numba", "core", "caching.py")):
            folder = getattr(frame.f_locals.get("self"), "_cache_path", None)
            if folder is not None:
                return str(folder)
    return None


def _reading_within(limit: str | None) -> AbstractContextManager[None]:
    """Return a context in which all readers have the memory limit of ``--read-limit``, if given."""
    if limit is None:
        return nullcontext()
    from convexfs.data.readers.memory_limit import default_limit

    return default_limit(limit)


def _system_trouble(error: OSError) -> str:
    reason = error.strerror or str(error)
    # An error without file name is one of standard output, because files are opened by name.
    if error.filename is None and error.errno in _WRITING:
        _drop_output()
        return f"standard output cannot be written ({reason})"
    return f"{error.filename or 'a file'} cannot be used ({reason})"


def _drop_output() -> None:
    with suppress(OSError):
        sys.stdout.close()


def _complain(line: str) -> None:
    with suppress(OSError):  # There is nowhere else to report it.
        print(f"convexfs: {one_line(line)}", file=sys.stderr or io.StringIO())


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports bad options in one line, with the nearest option."""

    #: The parser of the command on the line, which knows its options.
    of_command: argparse.ArgumentParser | None = None

    def error(self, message: str) -> Any:
        asked = self.of_command or self
        word = message.removeprefix("unrecognized arguments: ").split(" ")[0].split("=")[0]
        if word.startswith("--"):
            near = did_you_mean(word, asked._option_string_actions)
            message += f"; {near}" if near.endswith("?") else ""
        _complain(f"error: {message} (see {asked.prog} --help)")
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would not report that its help could not be written.
        (file or sys.stderr).write(message or "")


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands; only the requested one is imported, with its options."""
    parser = _Parser(
        prog="convexfs",
        description="Select features with local-learning methods. Each method is a convex problem\n"
        "that you can print, change, solve with any solver, and verify.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"convexfs {convexfs.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    asked_for = next((word for word in argv if not word.startswith("-")), None)
    for name, home in COMMANDS.items():
        described = first_sentence(home) if asked_for in (None, name) else ""
        made = commands.add_parser(
            name,
            help=described,
            description=textwrap.fill(described, WIDTH),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == asked_for:
            module, _, function = home.partition(":")
            own = importlib.import_module(module)
            made.set_defaults(run=getattr(own, function))
            getattr(own, f"add_{name.replace('-', '_')}_options")(made)
            parser.of_command = made
    return parser
