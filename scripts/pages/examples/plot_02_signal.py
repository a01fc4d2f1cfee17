"""
Is there a signal at all?
=========================

The same table twice: once with its labels, once with the labels shuffled. A list of features can
always be made; only one of these two should be.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

import convexfs
from convexfs.inference import shadow_test

wine = convexfs.load("wine").scaled()
rng = np.random.default_rng(0)
noise = rng.normal(size=(wine.n_samples, 87))
X = np.hstack([wine.X, noise])
relief = convexfs.Relief()
labels = {"true labels": wine.y, "shuffled labels": rng.permutation(wine.y)}

# %%
# The statistic of every feature, in standard deviations of the shadow columns, largest first.
# Thirteen features are wine's own, the others noise.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for axis, (name, y) in zip(axes, labels.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the title reports that nothing is selected
        test = shadow_test(relief, X, y, random_state=0)
    order = np.argsort(-test.centred)
    chosen = test.selected[order]
    rank = np.arange(1, len(order) + 1)
    axis.plot(rank[~chosen], test.centred[order][~chosen], ".", color="0.6")
    axis.plot(rank[chosen], test.centred[order][chosen], ".", color="tab:blue")
    axis.set(xscale="log", xlabel="rank")
    axis.set_title(f"{name}: p = {test.global_pvalue:.2g}, {test.selected.sum()} selected")
axes[0].set_ylabel("statistic, in deviations")
