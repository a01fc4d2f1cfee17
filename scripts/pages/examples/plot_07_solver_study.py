"""
A solver study: accuracy asked for, accuracy verified
=====================================================

One logistic problem of Logo, two solvers, four accuracies. What counts is not what a solver
says but what can be verified of its answer.
"""

import time

from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("wdbc").scaled()
row = convexfs.FORMULATIONS["logo-penalised"]
values, hyper = row.numbers(data.X, data.y, lam=5.0)
problem = row.build(**values, **hyper)

asked = [1e-2, 1e-4, 1e-6, 1e-8]
verified: dict[str, list[float]] = {}
seconds: dict[str, list[float]] = {}
for solver in ("CLARABEL", "SCS"):
    for tol in asked:
        began = time.process_time()
        solution = convexfs.solve(problem, solver=solver, tol=tol)
        seconds.setdefault(solver, []).append(time.process_time() - began)
        certificate = convexfs.certify(problem, solution)
        residual = max(certificate.gap, certificate.primal_residual, 1e-16)
        verified.setdefault(solver, []).append(residual)
        print(f"{solver:9} asked {tol:.0e}: {solution.status}, {certificate}")

# %%
# ``convexfs compare`` does this for many problems and solvers, one at a time in processes of
# their own, with repeats, failures charged, and a page to read.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
for solver, reached in verified.items():
    left.loglog(asked, reached, "o-", label=solver)
    right.loglog(reached, seconds[solver], "o-", label=solver)
left.loglog(asked, asked, ":", color="0.6", label="as asked")
left.set(xlabel="accuracy asked for", ylabel="accuracy verified", title="asked and got")
right.set(xlabel="accuracy verified", ylabel="CPU seconds", title="what it costs")
for axis in (left, right):
    axis.invert_xaxis()
    axis.legend()
