"""One cvxpy problem in, one Solution and one Certificate out."""
