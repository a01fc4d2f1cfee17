"""
A certificate that refuses
==========================

A right answer, moved away from the optimum by ever smaller steps, and one that a solver called
optimal too early. The certificate proves the first of all and says what is wrong with the rest.
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
print("proven:", convexfs.certify(problem, best))

# %%
# A solver that stops early still says ``optimal``:

problem.solve(solver="SCS", eps_abs=1e-2, eps_rel=1e-2)
print(problem.status, "->", convexfs.certify(problem))

# %%
# Feasible points on the way from the optimum to zero. Their objectives are told truly; the gap
# to the proven bound is what refuses them, where it exceeds ten times the accuracy asked for.

steps, gaps, accepted = np.logspace(-9, -0.5, 18), [], []
optimum = best.primal["x"]
for step in steps:
    point = (1 - step) * optimum
    value = float(np.sum((A @ point - b) ** 2))
    claim = replace(best, objective=value, primal={"x": point})
    certificate = convexfs.certify(problem, claim)
    gaps.append(max(certificate.gap, 1e-17))
    accepted.append(certificate.ok)

accepted = np.array(accepted)
figure, axes = plt.subplots(figsize=(7, 3.8))
for rows, colour, label in ((accepted, "tab:green", "ok"), (~accepted, "tab:red", "refused")):
    axes.loglog(steps[rows], np.array(gaps)[rows], "o", color=colour, label=label)
axes.axhline(certificate.tol, color="0.6", linestyle=":", label="the gap that is allowed")
axes.set(xlabel="share of the way to zero", ylabel="gap to the proven bound")
axes.legend()
