"""
LFE: a projection, beside principal components
==============================================

Three wines in two dimensions, with 30 features of noise added. Principal components do not look
at the classes; LFE solves a semidefinite program about them.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

import convexfs

wine = convexfs.load("wine").scaled()
X = np.hstack([wine.X, np.random.default_rng(0).normal(size=(wine.n_samples, 30))])
train = np.arange(len(X)) % 2 == 0
lfe = convexfs.LFE(n_components=2, n_neighbors=5).fit(X[train], wine.y[train])
print(lfe.certificate_)

# %%
# Only every other wine was used for learning; the others are drawn.

figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for axis, (name, model) in zip(
    axes, {"LFE": lfe, "PCA": PCA(2).fit(X[train])}.items(), strict=True
):
    projected = model.transform(X[~train])
    for y in range(3):
        axis.scatter(*projected[wine.y[~train] == y].T, s=16, label=wine.class_names[y])
    axis.set(title=f"{name}, wines not seen before", xlabel="component 1", ylabel="component 2")
axes[1].legend()
