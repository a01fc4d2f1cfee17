"""Find irreducible conflicts: constraints, and rows of them, that no point satisfies together.

A constraint or row is dropped only if the rest is proven infeasible, and called necessary only if
the rest has a verified feasible point. Undecided ones stay and are reported as not proven.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from convexfs.certification.auxiliary import Budget, Stopped
from convexfs.diagnosis.decisions import Decision, Decisions
from convexfs.diagnosis.linear_conflicts import exact_conflict
from convexfs.diagnosis.ownership import CONSTRAINT, OwnedProgram, Part, StatedRow

#: Constraints or rows with multipliers below this share of the largest are dropped first; the
#: shares are tried in turn.
SUPPORTS = (1e-4, 1e-7)
#: Most conflicts that are searched for beside the first; they share no constraint row.
MOST_CONFLICTS = 4
EXACT = "multipliers in rational arithmetic (Farkas)"
DECIMAL = f"{EXACT}, with the numbers as they are written in decimals"

Item = TypeVar("Item")


@dataclass(frozen=True)
class Conflict:
    """Stated rows that no point satisfies together, with the proof and which are necessary.

    Attributes
    ----------
    rows : tuple of StatedRow
        The conflict; `needed` are those without which the others are verified to be feasible.
    parts : tuple of Part
        The constraints, attributes and domains that the rows belong to, and `needed_parts`.
    proof : str
        How infeasibility is proven.
    exact : bool
        Whether the conflict of rows is proven in rational arithmetic.
    relaxed : bool
        Whether fractions are allowed: the conflict does not need integrality.
    decisions : int
        Subsets that were decided.
    """

    rows: tuple[StatedRow, ...]
    needed: frozenset[int]
    parts: tuple[Part, ...]
    needed_parts: frozenset[Part]
    proof: str
    exact: bool = False
    relaxed: bool = False
    decisions: int = 0
    multipliers: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def irreducible(self) -> bool:
        """Whether every row of the conflict is proven necessary."""
        return len(self.needed) == len(self.rows)

    @property
    def irreducible_by_part(self) -> bool:
        """Whether every constraint of the conflict, with all its rows, is proven necessary."""
        return len(self.needed_parts) == len(self.parts)


def find_conflict(
    program: OwnedProgram, budget: Budget, members: list[StatedRow] | None = None
) -> Conflict | Decision:
    """Return a conflict among `members` (default: all rows), or the Decision that there is none.

    The Decision may be unknown; rows that are not proven necessary stay in the conflict.
    """
    members = program.stated_rows if members is None else members
    for relaxed in (True, False) if program.form.integer.size else (False,):
        search = _Search(program, Decisions(program, budget, relaxed), members)
        found = search.run()
        if isinstance(found, Conflict) or not relaxed:
            return found
    raise AssertionError("the last round returns")


def further_conflicts(program: OwnedProgram, budget: Budget, first: Conflict) -> list[Conflict]:
    """Return at most MOST_CONFLICTS more; they share no constraint row with any other."""
    found, left = [first], program.stated_rows
    while len(found) <= MOST_CONFLICTS:
        last = {id(row) for row in found[-1].rows}
        own = [row for row in found[-1].rows if row.part.kind == CONSTRAINT]
        # Attributes of variables may occur in several conflicts, unless one has nothing else.
        left = [row for row in left if id(row) not in last or (own and row.part.kind != CONSTRAINT)]
        other = find_conflict(program, budget, left)
        if not isinstance(other, Conflict):
            break
        found.append(other)
    return found[1:]


class _Search:
    """Search for one conflict among some stated rows: exactly if linear, else by decisions."""

    def __init__(self, program: OwnedProgram, decisions: Decisions, members: list[StatedRow]):
        self.program, self.decisions, self.stated_rows = program, decisions, members
        self.by_rows = bool(getattr(program.stated, "row_names", ()))

    def run(self) -> Conflict | Decision:
        exact = self._exact(self.stated_rows)
        if exact is not None:
            parts = _parts(exact.rows)
            if self.by_rows:  # In a problem read from a file, each row is a constraint.
                return exact
            parts, needed = self._reduced_parts(parts)
            if set(parts) < set(exact.parts):
                exact = self._exact(self._of_parts(parts))
            if exact is not None:
                return self._with_parts(exact, parts, needed)
        whole = self.decisions.decide(self.stated_rows)
        if whole.feasible is not False:
            return whole
        if self.by_rows:
            return self._rows_of(self.stated_rows, whole, (), frozenset())
        parts, needed = self._reduced_parts(_parts(self.stated_rows), whole)
        chosen = self._of_parts(parts)
        exact = self._exact(chosen)
        if exact is not None:
            return self._with_parts(exact, parts, needed)
        return self._rows_of(chosen, self.decisions.decide(chosen), parts, needed)

    def _of_parts(self, parts: Iterable[Part]) -> list[StatedRow]:
        chosen = set(parts)
        return [member for member in self.stated_rows if member.part in chosen]

    def _reduced_parts(
        self, parts: tuple[Part, ...], known: Decision | None = None
    ) -> tuple[tuple[Part, ...], frozenset[Part]]:
        def decide(chosen: list[Part]) -> Decision:
            return self.decisions.decide(self._of_parts(chosen))

        def weight(part: Part, decision: Decision) -> float:
            return max(_weight(member, decision) for member in self._of_parts([part]))

        kept, needed = _shrunk(list(parts), decide, weight, known or decide(list(parts)))
        return tuple(kept), frozenset(needed)

    def _rows_of(
        self,
        members: list[StatedRow],
        known: Decision,
        parts: tuple[Part, ...],
        needed_parts: frozenset[Part],
    ) -> Conflict:
        rows, needed = _shrunk(members, self.decisions.decide, _weight, known)
        final = self.decisions.decide(rows)
        return Conflict(
            tuple(rows), frozenset(map(id, needed)), parts or _parts(rows), needed_parts,
            (final if final.feasible is False else known).by,
            relaxed=self.decisions.relaxed, decisions=self.decisions.taken,
        )  # fmt: skip

    def _with_parts(
        self, exact: Conflict, parts: tuple[Part, ...], needed: frozenset[Part]
    ) -> Conflict:
        """Return an exactly proven conflict with its constraints, and those proven necessary."""
        own = tuple(part for part in parts if part in exact.parts)
        return Conflict(
            exact.rows, exact.needed, own, needed & frozenset(own), exact.proof, True,
            exact.relaxed, self.decisions.taken, exact.multipliers,
        )  # fmt: skip

    def _exact(self, members: list[StatedRow]) -> Conflict | None:
        form, rows = self.program.restricted(members, self.decisions.relaxed)
        if form.curved.any() or form.integer.size or not form.A.nnz:
            return None
        try:
            found = exact_conflict(form, self.decisions.budget)
        except Stopped:
            return None
        if found is None:
            return None
        owner = {int(row): member for member in members for row in member.rows}
        chosen = [owner[int(rows[row])] for row in found.rows if int(rows[row]) in owner]
        unique = list({id(member): member for member in chosen}.values())
        needed = [each for each in unique if self._is_needed(each, unique)]
        # A stated row with several program rows, such as abs(x) <= 1, is necessary if one of these
        # is.
        return Conflict(
            tuple(unique), frozenset(map(id, needed)), _parts(unique), frozenset(),
            DECIMAL if found.decimal else EXACT, True, self.decisions.relaxed,
            self.decisions.taken, tuple(zip(found.rows.tolist(), found.multipliers, strict=True)),
        )  # fmt: skip

    def _is_needed(self, member: StatedRow, conflict: list[StatedRow]) -> bool:
        """Return whether a row is proven necessary in an exact conflict; True without booleans."""
        if not self.program.boolean_rows.size:
            return True
        return bool(self.decisions.decide([e for e in conflict if e is not member]).feasible)


def _parts(members: Iterable[StatedRow]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(member.part for member in members))


def _weight(member: StatedRow, decision: Decision) -> float:
    return 1.0 if decision.weights is None else float(decision.weights[member.own].max())


def _shrunk(
    items: list[Item],
    decide: Callable[[list[Item]], Decision],
    weight: Callable[[Item, Decision], float],
    known: Decision,
) -> tuple[list[Item], list[Item]]:
    """Drop items while the others stay infeasible; return those left and those proven necessary."""
    items = _support(items, decide, weight, known)
    # Try to drop constraints first: readers can rarely change attributes and domains.
    pending = sorted(items, key=lambda item: _kind(item) != CONSTRAINT)
    kept: list[Item] = []
    needed: list[Item] = []
    size = max(1, len(pending) // 4)
    while pending:
        found = decide([*kept, *pending[size:]])
        if found.feasible is False:
            pending = _support(pending[size:], lambda rest: decide([*kept, *rest]), weight, found)
        elif size > 1:
            size //= 2
            continue
        else:
            kept.append(pending[0])
            needed += pending[:1] if found.feasible else []
            pending = pending[1:]
        size = min(size, max(1, len(pending) // 2))
    order = {id(item): k for k, item in enumerate(items)}
    return sorted(kept, key=lambda item: order[id(item)]), needed


def _kind(item: Any) -> str:
    return item.kind if isinstance(item, Part) else item.part.kind


def _support(
    items: list[Item],
    decide: Callable[[list[Item]], Decision],
    weight: Callable[[Item, Decision], float],
    known: Decision,
) -> list[Item]:
    """Return the items with clearly nonzero multipliers if proven infeasible, else all."""
    if known.weights is None or len(items) < 2:
        return items
    weights = [weight(item, known) for item in items]
    for share in SUPPORTS:
        kept = [
            item for item, own in zip(items, weights, strict=True) if own > share * max(weights)
        ]
        if len(kept) < len(items) and decide(kept).feasible is False:
            return kept
    return items
