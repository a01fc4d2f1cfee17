"""Which finished tasks count as failures."""

from convexfs.records import INFEASIBLE, MEASURED, OPTIMAL, REFUTED, SKIPPED, UNBOUNDED

#: Statuses that say what the problem has; they are proven, refuted or undecided.
DEFINITE = (OPTIMAL, INFEASIBLE, UNBOUNDED)


def failure_kind(status: str, ok: bool | None) -> str:
    """How a finished task failed, in a word; empty if it did not.

    A status that its certificate refutes is ``refuted``; one that is undecided is no failure. A
    solver that is not sure has failed, whatever is proven of its point. What only the answers of
    other solvers tell is left to a study of all of them.
    """
    if status in DEFINITE:
        return REFUTED if ok is False else ""
    return "" if status in (SKIPPED, MEASURED) else status
