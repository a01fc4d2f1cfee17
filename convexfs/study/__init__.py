"""Studies: compare solvers on the same problems, and make tables, figures and pages."""
