"""
A certificate that refutes
==========================

A right solution, moved away from the optimum by ever smaller steps, and one that a solver called
optimal too early. The certificate proves what is optimal to the tolerance and refutes the rest.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt

import convexfs

rng = np.random.default_rng(0)
A, b = rng.normal(size=(40, 10)), rng.normal(size=40)
x = cp.Variable(10, name="x")
problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [x >= 0, cp.sum(x) <= 0.5])
best = convexfs.solve(problem, solver="CLARABEL", tol=1e-6)
print(convexfs.certify(problem, best))

# %%
# A solver that stops early still says ``optimal``:

problem.solve(solver="SCS", eps_abs=1e-2, eps_rel=1e-2)
print(problem.status, "->", convexfs.certify(problem))

# %%
# Feasible points on the way from the optimum to zero, with their true objectives. They are
# refuted where they are worse than the proven bound by more than ten times the accuracy asked for.

steps, found = np.logspace(-9, -0.5, 18), []
for step in steps:
    point = (1 - step) * best.primal["x"]
    value = float(np.sum((A @ point - b) ** 2))
    claim = replace(best, objective=value, primal={"x": point})
    found.append(convexfs.certify(problem, claim))

gaps = np.array([max(certificate.gap, 1e-17) for certificate in found])
verdicts = np.array([certificate.verdict for certificate in found])
figure, axes = plt.subplots(figsize=(7, 3.8))
for verdict, colour in (("proven", "tab:green"), ("refuted", "tab:red"), ("undecided", "0.6")):
    rows = verdicts == verdict
    if rows.any():
        axes.loglog(steps[rows], gaps[rows], "o", color=colour, label=verdict)
axes.axhline(found[0].tol, color="0.6", linestyle=":", label="tolerance")
axes.set(xlabel="share of the way to zero", ylabel="gap to the proven bound")
axes.legend()
