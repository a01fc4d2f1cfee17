"""
Local features of LLFS on a map
===============================

One class has two clusters, and the other lies between them. Every sample selects its own
features: what it selects is drawn where it lies.
"""

import numpy as np
from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("subclasses:n=40,noise=15,gap=6,seed=2")
scaled = data.scaled()
model = convexfs.LLFS(max_features=2).fit(scaled.X, scaled.y)

# %%
# Colour is what a sample selects among the two features that matter; the others' shape is their
# class. On the right, all features: noise is chosen where one feature is enough and the budget
# is two.

first, second = model.local_support_[:, 0], model.local_support_[:, 1]
kinds = {
    "x1": (first & ~second, "tab:blue"),
    "x2": (~first & second, "tab:orange"),
    "both": (first & second, "tab:green"),
    "neither": (~first & ~second, "0.5"),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1, 1.1))
for name, (rows, colour) in kinds.items():
    for y, marker in ((0, "o"), (1, "^")):
        here = rows & (data.y == y)
        label = name if y == int(name == "both") else None
        left.scatter(*data.X[here, :2].T, c=colour, marker=marker, s=18, label=label)
left.set(xlabel="x1", ylabel="x2", title="which features a sample selects")
left.legend()
order = np.argsort(data.groups, kind="stable")
right.imshow(model.local_support_[order], aspect="auto", cmap="Blues", interpolation="nearest")
right.set(xlabel="feature", ylabel="samples, cluster by cluster", title="all 17 features")

# %%
# And it classifies, by the spheres that hold a query.

print(f"{model.score(scaled.X, scaled.y):.2f} of the training samples right")
