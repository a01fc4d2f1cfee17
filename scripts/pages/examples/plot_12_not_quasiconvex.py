"""
Four samples against a claim
============================

The LLFS paper calls its compactness problem quasi-convex. Four samples show that it is not: along
a straight line between two feasible points the objective rises and falls again.
"""

import numpy as np
from matplotlib import pyplot as plt

from convexfs.methods.llfs.utility import utility

own = np.array([[1.0, 0.0], [0.0, 1.2]])  # distances to the two samples of the same class
other = np.array([[1.0, 1.0]])  # to the one of another class
s, lam = np.log(97 / 3), 0.005

# %%
# U1 over the feasible set: memberships between 0 and 1 whose separation U2 reaches the level.

grid = np.linspace(0, 1, 101)
f = np.stack(np.meshgrid(grid, grid), axis=-1)
u1 = utility(f @ own.T, s, lam).mean(axis=-1)
u2 = utility(f @ other.T, s, lam).mean(axis=-1)
level = 0.9331 * utility(np.array([2.0]), s, lam).item()
u1[u2 < level - 1e-6] = np.nan

share = np.linspace(0, 1, 201)
line = np.stack([1 - share, share], axis=1)
along = utility(line @ own.T, s, lam).mean(axis=1)
print(f"U1 at the ends {along[0]:.4f} and {along[-1]:.4f}, in the middle {along[100]:.4f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
drawn = left.contourf(grid, grid, u1, 20, cmap="viridis")
left.plot([1, 0], [0, 1], "--", color="tab:red")
left.set(xlabel="f1", ylabel="f2", title="U1 where U2 is large enough", aspect="equal")
figure.colorbar(drawn, ax=left)
right.plot(share, along, color="tab:red")
right.plot([0, 1], along[[0, -1]], "o", color="k")
right.set(xlabel="from (1, 0) to (0, 1)", ylabel="U1", title="two separate minima")
