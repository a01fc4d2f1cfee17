"""A problem made visible: its formula, sizes, cones and the solvers that take it.

A cvxpy expression is read into a small tree (:mod:`reading`, :mod:`nodes`), given its
notation (:mod:`notation`, :mod:`boxes`) and written as :mod:`text`, :mod:`latex` or
:mod:`mathml`; the same tree is also written as :mod:`numpy_code`, which evaluates to
cvxpy's own numbers.
"""

from convexfs.inspection.canonical import save
from convexfs.inspection.difference import differences
from convexfs.inspection.report import Inspection, show, to_latex

__all__ = ["Inspection", "differences", "save", "show", "to_latex"]
