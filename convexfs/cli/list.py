"""The commands ``convexfs list`` and ``convexfs solvers``: short lists, details on request."""

import argparse
import textwrap
from typing import Any

from convexfs.cli.options import add_examples
from convexfs.cli.terminal import WIDTH, first_sentence, write


def list_all(arguments: argparse.Namespace) -> int:
    """List methods, formulations and built-in data sets."""
    from convexfs.data.specs import BUNDLED, GENERATORS
    from convexfs.methods import METHODS, estimator_homes

    write("Methods: convexfs select DATA --method NAME, or the class in Python")
    homes = estimator_homes()
    width = max(map(len, homes)) + 2
    for name, method in homes.items():
        home = f"{method.home}.{method.estimators[name]}"
        _entry(f"{name:{width}}{method.class_name(name)}", first_sentence(home), indent=width + 16)
    write("\nFormulations: convexfs show NAME")
    for method in METHODS.values():
        if arguments.verbose:
            for row in method.formulations:
                _entry(row.name, f"{row.equation}\n{row.reference}", indent=20)
        elif method.formulations:
            _entry(method.name, ", ".join(row.name for row in method.formulations), indent=20)
    write("\nData sets: convexfs select NAME")
    _entry("bundled", ", ".join(BUNDLED), indent=12)
    if arguments.verbose:
        for name in GENERATORS:
            _entry(name, first_sentence(f"convexfs.data.generators:{name}"), indent=12)
        return 0
    _entry("generated", ", ".join(GENERATORS), indent=12)
    write("\nconvexfs list --verbose prints the equations and references")
    return 0


def add_list_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs list``."""
    add_examples(parser, "list", "list --verbose", topic="methods")
    help_text = "print the equation and the reference of every formulation"
    parser.add_argument("--verbose", "-v", action="store_true", help=help_text)


def solvers(arguments: argparse.Namespace) -> int:
    """List the solvers, the problems each takes, and whether it is installed."""
    from convexfs.errors import InputError, did_you_mean
    from convexfs.solving.backends import BACKENDS

    if arguments.names or arguments.verbose:
        for name in [each.upper() for each in arguments.names] or BACKENDS:
            if name not in BACKENDS:
                raise InputError(f"unknown solver {name!r}: {did_you_mean(name, BACKENDS)}")
            _solver_details(BACKENDS[name])
        return 0
    write("solver     version         problem classes         licence")
    for row in BACKENDS.values():
        if row.installed:
            write(f"{row.name:10} {row.version:15} {_classes(row):23} {row.licence}")
    missing = [row.name for row in BACKENDS.values() if not row.installed]
    if missing:
        write("")
        _entry("not installed", ", ".join(missing), indent=15)
    write("\nconvexfs solvers NAME prints options, known faults and how to install it")
    return 0


def add_solvers_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs solvers``."""
    add_examples(parser, "solvers", "solvers CLARABEL SCS", topic="solvers")
    parser.add_argument("names", nargs="*", metavar="NAME", help="solvers to describe")
    parser.add_argument("--verbose", "-v", action="store_true", help="describe every solver")


def _solver_details(row: Any) -> None:
    warm = {"plan": "keeps its factorisation", "point": "starts at the last solution"}
    details = {
        "version": row.version if row.installed else f"not installed: {row.how_to_install}",
        "takes": _classes(row),
        "licence": row.licence,
        "time limit": "yes" if row.limit else "none of the solver; convexfs stops its process",
        "warm start": warm.get(row.warm, "no"),
        "tested": "by the test suite" if row.tested else "untested",
        "faults": "\n".join(row.faults) or "none known",
    }
    write(row.name)
    for name, text in details.items():
        _entry(f"  {name}", text, indent=14)


def _classes(row: Any) -> str:
    return " ".join(sorted(row.cones)) + (" integer" if row.integer_cones else "")


def _entry(name: str, text: str, indent: int) -> None:
    """Print a name and, beside it, its description in wrapped lines."""
    wrap = textwrap.TextWrapper(WIDTH - indent, break_on_hyphens=False).wrap
    wrapped = [line for part in text.splitlines() for line in wrap(part)]
    write(f"{name + ' ':{indent}}" + f"\n{'':{indent}}".join(wrapped))
