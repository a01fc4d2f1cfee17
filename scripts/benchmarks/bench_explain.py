"""Measure explanations: conflicts, relaxations, scalings and rewrites, with fixed seeds.

Usage::

    python scripts/benchmarks/bench_explain.py netlib FOLDER      # infeasible linear programs
    python scripts/benchmarks/bench_explain.py random [COUNT]     # planted conflicts of cones
    python scripts/benchmarks/bench_explain.py planted FOLDER     # public files made infeasible
    python scripts/benchmarks/bench_explain.py scaling FOLDER     # badly scaled problems
    python scripts/benchmarks/bench_explain.py convexity          # expressions to be rewritten

FOLDER has the folders netlib, netlib_infeasible, maros_meszaros, cblib_* and sdplib with public
files. One line of JSON for each instance, then a summary.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import cvxpy as cp
import numpy as np
from explain_cases import badly_scaled, non_convex, planted_conflict

import convexfs
from convexfs.certification.auxiliary import Budget
from convexfs.diagnosis.conflicts import Conflict, find_conflict
from convexfs.diagnosis.convexity import explain_not_convex
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import OwnedProgram
from convexfs.diagnosis.relaxation import least_relaxation
from convexfs.diagnosis.rewrites import rewritten
from convexfs.diagnosis.scaling import propose_scaling

#: CPU seconds for the conflict of one public file, and for its relaxation.
SECONDS = 40.0
PLANTED = {
    "netlib": (
        "sc50a sc50b sc105 adlittle blend share2b scagr7 e226 stair kb2 recipe vtp.base share1b "
        "bore3d lotfi beaconfd scsd1 capri boeing1 sctap1"
    ),
    "maros_meszaros": (
        "HS21 HS35 HS118 DUAL1 DUAL2 DUALC8 CVXQP1_S QPCBLEND QSHARE2B QPTEST GENHS28 TAME "
        "ZECEVIC2 HS35MOD HS52 LASER"
    ),
    "cblib_exp": "gptest beck752 beck753 fang88 demb761 demb762 demb763 rijc781 rijc782 fiac81a",
    "cblib_socp": "nb",
    "cblib_pow": "HMCR-n20-m400",
    "sdplib": (
        "truss1 truss2 truss4 truss5 theta1 control1 control2 hinf1 hinf2 qap5 gpp124-3 mcp124-1"
    ),
}
ENDINGS = {"netlib": ".mps.gz", "maros_meszaros": ".mat", "sdplib": ".dat-s.gz"}


def timed(function, *args):
    """Return what a function returns, and its CPU seconds."""
    start = time.process_time()
    return function(*args), time.process_time() - start


def report(**fields):
    print(json.dumps(fields), flush=True)
    return fields


def netlib(folder):
    """Exact conflicts of the infeasible Netlib problems, beside HiGHS's own."""
    rows = []
    for path in sorted(Path(folder, "netlib_infeasible").glob("*.mps.gz")):
        problem = convexfs.read_problem(path)
        solution, solving = timed(convexfs.solve, problem, "HIGHS")
        found, seconds = timed(lambda p=problem: _conflict(p, 120.0))
        exact = isinstance(found, Conflict) and found.exact
        own = _highs_size(problem)
        rows.append(report(
            name=path.name, status=solution.status, solve=round(solving, 3),
            seconds=round(seconds, 3), ratio=round(seconds / solving, 1), exact=exact,
            irreducible=isinstance(found, Conflict) and exact and found.irreducible, highs=own,
            rows=len(found.rows) if isinstance(found, Conflict) else None,
        ))  # fmt: skip
    good = [row for row in rows if row["irreducible"]]
    summary = {"proven": len(good), "of": len(rows)}
    report(**summary, median_ratio=float(np.median([row["ratio"] for row in good])))


def _conflict(problem, seconds):
    return find_conflict(OwnedProgram.of(problem), Budget.of(seconds))


def _highs_size(problem):
    """Return the size of the conflict that HiGHS reports, proven or not."""
    from convexfs.certification.exact.linear_program import LinearProgram
    from convexfs.diagnosis.linear_conflicts import _reduced_conflict

    program = OwnedProgram.of(problem)
    form, _ = program.restricted(program.stated_rows)
    found = _reduced_conflict(LinearProgram(form), Budget.of(60))
    return None if found is None else int(found.size)


def random(count="100"):
    """Planted conflicts in small random problems of all cones, and their least relaxation."""
    rows = []
    for seed in range(int(count)):
        kind, problem, _ = planted_conflict(seed)
        _, solving = timed(convexfs.solve, problem, "CLARABEL")
        found, seconds = timed(_conflict, problem, 60.0)
        program = OwnedProgram.of(problem)
        relaxed = least_relaxation(program, Names(program), Budget.of(20))
        proven = isinstance(found, Conflict)
        rows.append(report(
            seed=seed, kind=kind, ratio=round(seconds / solving, 1), proven=proven,
            parts=proven and found.irreducible_by_part, rows=proven and found.irreducible,
            size=len(found.rows) if proven else None,
            relaxed=relaxed is not None and relaxed.verified,
            changes=None if relaxed is None else len(relaxed.changes),
        ))  # fmt: skip
    counts = {
        key: sum(bool(row[key]) for row in rows) for key in ("proven", "parts", "rows", "relaxed")
    }
    report(**counts, of=len(rows), median_ratio=float(np.median([row["ratio"] for row in rows])))


def planted(folder, *names):
    """Public files whose objective must be better than the certified optimum by 1 %."""
    rows = []
    for kind, listed in PLANTED.items():
        for name in listed.split():
            path = Path(folder, kind, name + ENDINGS.get(kind, ".cbf.gz"))
            if (names and name not in names) or not path.exists():
                continue
            try:
                rows.append(_planted(kind, path))
            except Exception as error:  # an instance that breaks is a result too
                rows.append(report(name=name, kind=kind, error=f"{type(error).__name__}: {error}"))
    keys = ("proven", "parts", "rows", "has_planted", "relaxed")
    report(**{key: sum(bool(row.get(key)) for row in rows) for key in keys}, of=len(rows))


def _planted(kind, path):
    problem = convexfs.read_problem(path)
    solution, solving = timed(convexfs.solve, problem, "CLARABEL")
    certificate = convexfs.certify(problem, solution)
    value = solution.objective
    if value is None:
        return report(name=path.name, kind=kind, error=f"base problem: {solution.status}")
    margin = 0.01 * max(abs(value), 1e-2)
    cost = problem.objective.expr
    better = cost >= value + margin if isinstance(problem.objective, cp.Maximize) else (
        cost <= value - margin
    )  # fmt: skip
    stated = cp.Problem(cp.Minimize(0), [*problem.constraints, better.set_label("planted")])
    found, seconds = timed(_conflict, stated, SECONDS)
    proven = isinstance(found, Conflict)
    program = OwnedProgram.of(stated)
    relaxed = least_relaxation(program, Names(program), Budget.of(SECONDS)) if proven else None
    last = len(stated.constraints) - 1
    return report(
        name=path.name, kind=kind, base=certificate.ok, solve=round(solving, 2),
        seconds=round(seconds, 2), proven=proven, exact=proven and found.exact,
        parts=proven and found.irreducible_by_part, rows=proven and found.irreducible,
        needed=len(found.needed) if proven else None, size=len(found.rows) if proven else None,
        has_planted=proven and any(part.position == last for part in found.parts),
        relaxed=relaxed is not None and relaxed.verified,
        why=None if proven else found.by,
    )  # fmt: skip


def scaling(folder, *names):
    """Proposals for badly scaled problems: solvers certified to 1e-6 before and after."""
    rows = []
    for name, problem in badly_scaled(folder):
        if names and name.partition("_")[0] not in names:
            continue
        proposal, seconds = timed(lambda p=problem: propose_scaling(p, Budget.of(120.0)))
        rows.append(report(
            name=name, proposed=proposal is not None, seconds=round(seconds, 1),
            before=None if proposal is None else proposal.before,
            after=None if proposal is None else proposal.after,
            words=None if proposal is None else proposal.sentences[:2],
        ))  # fmt: skip
    more = [row for row in rows if row["proposed"]]
    fewer = sum(row["after"] < row["before"] for row in more)
    report(proposed=len(more), more=sum(r["after"] > r["before"] for r in more), fewer=fewer,
           of=len(rows))  # fmt: skip


def convexity():
    """Named parts and rewrites of expressions that cvxpy rejects."""
    named = accepted = total = 0
    for name, problem, part in non_convex():
        total += 1
        found = explain_not_convex(problem)
        offered = rewritten(problem)
        dcp = offered is not None and offered[0].is_dcp()
        has_part = any(part in reason for reason in found.data["reasons"])
        named, accepted = named + has_part, accepted + dcp
        report(name=name, named=has_part, rewritten=dcp, reasons=found.data["reasons"])
    report(named=named, rewritten=accepted, of=total)


COMMANDS = {each.__name__: each for each in (netlib, random, planted, scaling, convexity)}

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    COMMANDS[sys.argv[1]](*sys.argv[2:])
