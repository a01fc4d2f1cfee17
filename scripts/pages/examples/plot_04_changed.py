"""
A changed formulation: no feature may dominate
==============================================

RELIEF's problem as a ``cvxpy.Problem``, one constraint more, and the answers of both certified.
"""

import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("wdbc").scaled()
relief = convexfs.Relief(n_neighbors=10).fit(data.X, data.y)
printed = convexfs.FORMULATIONS["relief"].build(z=relief.margin_)
print(convexfs.show(printed))

# %%
# The same objective and constraints, with a cap on every weight that is lowered step by step.

caps, weights, objectives = [1.0, 0.25, 0.2], [], []
w = printed.variables()[0]
for cap in caps:
    problem = cp.Problem(printed.objective, [*printed.constraints, w <= cap])
    solution = convexfs.solve(problem, solver="CLARABEL")
    weights.append(solution.primal["w"])
    objectives.append(solution.objective)
    print(f"cap {cap}: {solution.objective:.1f}, {convexfs.certify(problem, solution)}")

# %%

order = np.argsort(-weights[0])[:15]
figure, axes = plt.subplots(figsize=(8, 4.2))
for number, (cap, row) in enumerate(zip(caps, weights, strict=True)):
    axes.barh(np.arange(15) + 0.27 * number, row[order], 0.25, label=f"cap {cap}")
axes.set_yticks(np.arange(15) + 0.27, [data.feature_names[i] for i in order])
axes.invert_yaxis()
axes.set(xlabel="weight", title="The fifteen heaviest features of wdbc")
axes.legend()
