"""
How stable is a list?
=====================

Halves of the samples select again and again. A list that is significant need not be stable, and
this says how stable it is, with a bound on its false features from a certified linear program.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

import convexfs
from convexfs.inference import StabilitySelector

data = convexfs.load("twonorm:n=200,noise=80,seed=1").scaled()
shuffled = np.random.default_rng(0).permutation(data.y)
relief = convexfs.Relief(n_neighbors=10, n_features_to_select=12)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for axis, (name, y) in zip(
    axes, {"true labels": data.y, "shuffled labels": shuffled}.items(), strict=True
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing is selected is printed below
        model = StabilitySelector(relief, n_pairs=25, random_state=0).fit(data.X, y)
    axis.bar(np.arange(1, 101), model.probabilities_, color="0.75")
    chosen = model.selected_
    axis.bar(chosen + 1, model.probabilities_[chosen], color="tab:blue")
    axis.axhline(model.threshold_, color="tab:red", linestyle="--", linewidth=1)
    axis.set(xlabel="feature", title=f"{name}: stability {model.stability_.value:.2f}")
    print(f"{name}: {len(chosen)} selected, at most {model.bound_:.2f} false expected")
axes[0].set_ylabel("share of halves that select it")
