"""Show a problem: its formula, sizes and cones, and the solvers that take it.

A cvxpy expression is parsed into one tree (:mod:`parse`, :mod:`tree`), which :mod:`layout` prints
in a style (:mod:`writers`: text, LaTeX, MathML).
"""

from convexfs.inspection.comparison import differences
from convexfs.inspection.report import Inspection, StatedProblem, show, to_latex
from convexfs.inspection.symbolic import symbolic

__all__ = ["Inspection", "StatedProblem", "differences", "show", "symbolic", "to_latex"]
