"""
How many features, and how good will they be?
=============================================

Held-out error over the number of features, with the ranking made anew in every fold. The error
at the chosen number is too low, because that number was chosen by it. The error of nested
cross-validation beside it is not.
"""

from matplotlib import pyplot as plt

import convexfs
from convexfs.inference import selection_curve

data = convexfs.load("waveform:n=150,noise=200,seed=1").scaled()
curve = selection_curve(convexfs.Relief(n_neighbors=10), data.X, data.y, random_state=0)
print(curve)

# %%

figure, axes = plt.subplots(figsize=(7, 3.8))
axes.errorbar(curve.sizes, curve.errors, curve.se, marker="o", capsize=3, label="held-out error")
axes.axhline(curve.chance, color="0.6", linestyle=":", label="chance")
axes.axhline(curve.held_out_error, color="tab:red", linestyle="--", label="expected (BBC-CV)")
axes.axvline(curve.chosen, color="tab:blue", linewidth=1, alpha=0.5)
axes.set(xscale="log", xlabel="features", ylabel="balanced error")
axes.set_title(f"{curve.chosen} features are enough")
axes.legend()
