"""Curved cones replaced by half-spaces, so that a linear program bounds a curved one.

Multipliers y in the dual of a cone give a row that all its points satisfy: y'(Az + b) >= 0. The
linear program of such rows and all flat ones is a relaxation, and its optimum is as good as the
multipliers are. Its own multipliers may scale those of each cone, so that they need not fit
exactly.
"""

import numpy as np
import scipy.sparse as sp

from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.certification.rigorous.rounding import EPSILON


def with_cone_cuts(form: StandardForm, y: np.ndarray, box: Box) -> StandardForm:
    """Return `form` with one more row for each curved cone, surely valid within `box`.

    `y` must surely be in the dual cones. Errors of rounding are added to the right-hand sides.
    """
    used = np.flatnonzero(form.curved & (y != 0))
    cones, owner = np.unique(form.first_rows[used], return_inverse=True)
    Y = sp.csr_array((y[used], (owner, used)), shape=(cones.size, form.b.size))
    A, sizes = sp.csr_array(Y @ form.A), sp.csr_array(abs(Y) @ form.sizes)
    # An entry is exact if it is one product with a power of 2: sums and other products are not.
    inexact = form.sizes.copy()
    inexact.data = np.where(np.frexp(inexact.data)[0] == 0.5, 1.0, 2.0)
    rounded = sp.csr_array(sp.csr_array((np.ones(used.size), (owner, used)), Y.shape) @ inexact)
    rounded.data = np.where(rounded.data > 1.0, (rounded.data + 1.0) * 2 * EPSILON, 0.0)
    rounded.eliminate_zeros()
    errors = rounded.multiply(sizes)
    magnitude = np.where(np.isfinite(box.magnitude), box.magnitude, np.inf)
    terms = abs(Y) @ np.abs(form.b)
    b = Y @ form.b + errors @ magnitude * (1.0 + 1e-9) + 8 * EPSILON * (form.b.size + 1) * terms
    kept = np.isfinite(b)
    return form.with_rows(A[kept], b[kept])
