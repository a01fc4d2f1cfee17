"""A problem made visible: its formula, sizes, cones and the solvers that take it."""

from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np

from convexfs.errors import InputError
from convexfs.solving.backends import BACKENDS, Needs, needs_of


@dataclass(frozen=True)
class Inspection:
    """What :func:`show` found; prints as readable text."""

    problem: cp.Problem

    @cached_property
    def needs(self) -> Needs:
        return needs_of(self.problem)

    @property
    def rules(self) -> dict[str, bool]:
        """Which of cvxpy's disciplines the problem keeps."""
        return {
            "DCP": self.problem.is_dcp(),
            "DPP": self.problem.is_dpp(),
            "DQCP": self.problem.is_dqcp(),
        }

    @property
    def solvers(self) -> dict[str, str]:
        """Every solver of the table: ``ready``, or why it cannot be used."""
        verdicts = {}
        for name, row in BACKENDS.items():
            taken = row.integer_cones if self.needs.integer else row.cones
            lacking = sorted(self.needs.cones - taken)
            if lacking:
                verdicts[name] = f"cannot take {' + '.join(lacking)}"
            else:
                verdicts[name] = "ready" if row.installed else row.how_to_install
        return verdicts

    def __str__(self) -> str:
        with np.printoptions(threshold=8, edgeitems=2, precision=4):
            formula = str(self.problem)
        rules = ", ".join(f"{rule} {'yes' if kept else 'no'}" for rule, kept in self.rules.items())
        ready = [name for name, verdict in self.solvers.items() if verdict == "ready"]
        lines = [
            formula,
            "",
            "variables    " + _listing(self.problem.variables()),
            "parameters   " + (_listing(self.problem.parameters()) or "none"),
            "constraints  " + ", ".join(self._constraints()),
            f"curvature    {self.problem.objective.expr.curvature.lower()}; {rules}",
            f"needs        {self.needs}",
            "solvers      " + ", ".join(ready),
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _constraints(self) -> list[str]:
        return [
            f"{constraint.label or position} ({type(constraint).__name__.lower()}, "
            f"{constraint.size} row{'s' if constraint.size != 1 else ''})"
            for position, constraint in enumerate(self.problem.constraints)
        ] or ["none"]


def show(problem: cp.Problem) -> Inspection:
    """Describe any cvxpy problem; print the result to read it."""
    if not isinstance(problem, cp.Problem):
        raise InputError(f"show takes a cvxpy.Problem, not {type(problem).__name__}")
    return Inspection(problem)


def _listing(leaves: list) -> str:
    return ", ".join(f"{leaf.name()} {leaf.shape or 'scalar'}" for leaf in leaves)
