"""A problem made visible: its formula, sizes, cones and the solvers that take it.

A cvxpy expression is read into one tree (:mod:`parse`, :mod:`tree`), which
:mod:`layout` writes in a style (:mod:`writers`: text, LaTeX, MathML).
"""

from convexfs.inspection.comparison import differences
from convexfs.inspection.report import Inspection, StatedProblem, show, to_latex
from convexfs.inspection.symbolic import symbolic

__all__ = ["Inspection", "StatedProblem", "differences", "show", "symbolic", "to_latex"]
