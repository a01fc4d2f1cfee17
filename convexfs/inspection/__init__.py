"""A problem made visible: its formula, sizes, cones and the solvers that take it.

A cvxpy expression is read into one tree (:mod:`reading`, :mod:`tree`), which
:mod:`notation` writes in a style (:mod:`styles`: text, LaTeX, MathML) and
:mod:`numpy_code` as code that evaluates to cvxpy's own numbers.
"""

from convexfs.inspection.comparison import differences
from convexfs.inspection.report import Inspection, show, to_latex
from convexfs.inspection.symbolic import symbolic

__all__ = ["Inspection", "differences", "show", "symbolic", "to_latex"]
