"""
The spiral at growing noise
===========================

Two features form a spiral, the others are noise: up to 5000 of them. No straight line tells the
arms apart. Logo returns exactly the two features, with the same weights, and a proof over all.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.preprocessing import scale

import convexfs


def worse_rank(margin):
    """The place of the second of the two features in a ranking."""
    return 1 + np.argsort(np.argsort(-margin))[:2].max()


sizes, weights, ranks = [20, 100, 500, 2000, 5000], [], []
for noise in sizes:
    data = convexfs.load(f"spiral:noise={noise},seed=1")
    X = scale(data.X)
    logo = convexfs.Logo(lam=1.0).fit(X, data.y)
    weights.append(logo.weights_[:2])
    neighbours = [convexfs.Relief(n_neighbors=k, n_features_to_select=2) for k in (1, 10)]
    ranks.append([worse_rank(relief.fit(X, data.y).margin_) for relief in neighbours])
    print(f"{noise:5d} noise features: Logo finds {np.flatnonzero(logo.get_support())}")
print(logo.certificate_)

# %%
# RELIEF takes its neighbours in the space of all features, where noise hides who is near: the
# worse of the two features falls back in its ranking. All features have been standardised; as
# they come, the spiral is five times wider than the noise, and RELIEF finds it too.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4))
for y, colour in ((0, "tab:blue"), (1, "tab:orange")):
    axes[0].plot(*data.X[data.y == y, :2].T, ".", color=colour, markersize=3)
axes[0].set(aspect="equal", title="the two features", xlabel="x1", ylabel="x2")
axes[1].plot(sizes, weights, "o-")
axes[1].set(xscale="log", ylim=(0, 8), xlabel="noise features", title="Logo's two weights")
axes[2].plot(sizes, [row[0] for row in ranks], "s-", color="tab:red", label="RELIEF")
axes[2].plot(sizes, [row[1] for row in ranks], "^-", color="tab:orange", label="RELIEF-F, 10")
axes[2].plot(sizes, [2] * len(sizes), "o-", color="tab:green", label="Logo")
axes[2].set(xscale="log", yscale="log", xlabel="noise features", title="rank of the worse one")
axes[2].legend()
