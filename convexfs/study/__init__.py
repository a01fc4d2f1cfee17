"""Studies: solvers compared on the same problems, and the tables that come of it."""
