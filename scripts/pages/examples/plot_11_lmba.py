"""
Lmba: why the printed box ranks nothing
=======================================

Lmba's loss is convex in the squared weights. Over the paper's box its minimum is often all ones,
which is no ranking; over a simplex features must compete.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("wdbc").scaled()
rows = np.arange(0, data.n_samples, 3)
weights = {}
for form in ("box", "simplex"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the box warns of the ties that are drawn here
        model = convexfs.Lmba(form=form).fit(data.X[rows], data.y[rows])
    weights[form] = model.weights_
    ties = np.isclose(model.weights_, model.weights_.max(), atol=1e-6).sum()
    print(f"{form}: {ties} of 30 features tie for the first place; {model.certificate_}")

# %%

figure, axes = plt.subplots(figsize=(8, 3.6))
order = np.argsort(-weights["simplex"])
for form, marker in (("box", "s"), ("simplex", "o")):
    axes.plot(np.arange(1, 31), weights[form][order], marker, label=form)
axes.set(xlabel="features, by the simplex's weights", ylabel="weight", title="wdbc")
axes.legend()
