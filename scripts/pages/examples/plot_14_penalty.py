"""
The penalty of Logo
===================

How many features Logo selects by its penalty ``lam``, and how many it selects at the same penalty
from permuted labels. A good penalty is where the second curve falls below one: ``lam="null"``.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("twonorm:n=120,noise=80,seed=3").scaled()
rng = np.random.default_rng(0)
penalties = np.geomspace(0.5, 12, 8)
true, permuted = [], []
for lam in penalties:
    fit = convexfs.Logo(lam=float(lam)).fit(data.X, data.y)
    true.append((fit.get_support()[:20].sum(), fit.get_support()[20:].sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a signal it may cycle, or select nothing
        logo = convexfs.Logo(lam=float(lam), max_iter=60)
        shuffles = [rng.permutation(data.y) for _ in range(5)]
        permuted.append(np.mean([logo.fit(data.X, y).get_support().sum() for y in shuffles]))

# %%

figure, axes = plt.subplots(figsize=(7.5, 3.8))
right, wrong = np.array(true).T
axes.plot(penalties, right, "o-", color="tab:green", label="features that matter")
axes.plot(penalties, wrong, "s-", color="tab:red", label="noise features")
axes.plot(penalties, permuted, "^:", color="0.5", label="with permuted labels, on average")
axes.axhline(1, color="0.8", linewidth=1)
axes.set(xscale="log", xlabel="penalty lam", ylabel="features selected")
axes.legend()

# %%
# The same by one argument:

null = convexfs.Logo(lam="null", n_permutations=19, random_state=0).fit(data.X, data.y)
kept = null.get_support()
print(f"lam {null.lam_:.1f}: {kept[:20].sum()} that matter and {kept[20:].sum()} of noise")
