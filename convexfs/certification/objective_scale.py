"""What gaps are relative to: the size of an objective, in proofs and in refutations."""

import numpy as np

from convexfs.certification.program.standard_form import StandardForm, once
from convexfs.certification.rigorous.implied_bounds import Box

#: Costs below tol times this share of the data's unit count as 0, and are relative to it.
NIL = 1e-3
#: Costs below this share of the data's unit are refuted in that unit only.
NEAR_ZERO = 1e-5
#: Share of constant terms that the scale of an objective has at least.
OFFSET = 1e-8


def proof_scale(terms: float, unit: float, tol: float) -> float:
    """Return the size of an objective: that of its terms, unless they are nearly 0.

    `unit` is the cost of the data's own units, of which a cost of 0 may miss a small share.
    """
    return max(terms, NIL * unit) if terms <= tol * NIL * unit else terms


def size_of_terms(form: StandardForm, z: np.ndarray, box: Box, cost: float) -> float:
    """Return the size of the objective's terms at z, without those that are constant."""
    size = np.where(box.bounded, np.maximum(box.magnitude, 1e-300), 0.0)
    fixed = box.bounded & (np.where(box.bounded, box.upper - box.lower, np.inf) <= 1e-9 * size)
    fixed &= _has_stated_value(form)
    constant = float(form.q[fixed] @ z[fixed])
    offset = float(np.abs(form.q * z)[fixed].max(initial=0.0))
    largest = float(np.abs(form.q * z)[~fixed].max(initial=0.0))
    if form.P is not None:
        largest = max(largest, 0.5 * float(np.abs(z * (form.P @ z)).max(initial=0.0)))
    return max(abs(cost - constant), largest, OFFSET * offset)


@once
def _has_stated_value(form: StandardForm) -> np.ndarray:
    """Which columns are fixed by their own equation or two bounds: the user's constants.

    Columns that only all rows together fix are found by solvers to their accuracy alone.
    """
    alone = (np.diff(form.A.indptr) == 1) & form.equalities
    equal = form.A.indices[form.A.indptr[:-1][alone]]
    columns = np.concatenate([equal, equal, form.single_rows[1]])
    return np.bincount(columns, minlength=form.q.size) >= 2
