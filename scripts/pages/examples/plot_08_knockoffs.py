"""
Knockoffs: features against copies of themselves
================================================

Every feature competes with a random copy that has its correlations but cannot matter. How often
copies win says how many of the selected features are false.
"""

import numpy as np
from matplotlib import pyplot as plt

import convexfs
from convexfs.inference import KnockoffSelector

data = convexfs.load("twonorm:n=400,noise=30,seed=1").scaled()
model = KnockoffSelector(fdr=0.2, random_state=0).fit(data.X, data.y)
false = (model.selected_ >= 20).sum()
print(f"{len(model.selected_)} selected, {false} of them false; s is {model.certificate_}")

# %%
# Green points matter. The line is the threshold: as many as lie below minus it are expected,
# plus one, among those above.

true = np.arange(50) < 20
figure, axes = plt.subplots(figsize=(8, 3.6))
for rows, colour, label in ((true, "tab:green", "matters"), (~true, "0.6", "noise")):
    axes.plot(np.flatnonzero(rows) + 1, model.W_[rows], "o", color=colour, label=label)
for height in (model.threshold_, -model.threshold_):
    axes.axhline(height, color="tab:red", linestyle="--", linewidth=1)
axes.axhline(0, color="0.8", linewidth=1)
axes.set(xlabel="feature", ylabel="lead over its knockoff", title="selected above the upper line")
axes.legend()
