"""
RELIEF, and whether to believe it
=================================

Twenty features tell two clouds apart, eighty are noise. RELIEF weighs them by a convex problem
with a closed form. A test against shadow columns says which features are related to the class.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import convexfs

data = convexfs.load("twonorm:n=100,noise=80,seed=1").scaled()
relief = convexfs.Relief(random_state=0).fit(data.X, data.y)
print("certificate:", relief.certificate_)

# %%
# The certificate says that the problem is solved. Which features to select is another question:
# by default those that are significant against shadow columns at a false discovery rate of 10 %.

kept = relief.get_support()
print(f"selected: {kept[:20].sum()} of the 20 that matter, {kept[20:].sum()} of the 80 others")

figure, axes = plt.subplots(figsize=(8, 3.5))
for chosen, colour, label in ((kept, "tab:blue", "selected"), (~kept, "0.75", "not selected")):
    index = np.flatnonzero(chosen)
    axes.bar(index + 1, relief.weights_[index], color=colour, label=label)
axes.axvline(20.5, color="tab:red", linewidth=1, linestyle=":")
axes.annotate("noise from here", (21, relief.weights_.max()), color="tab:red", va="top")
axes.set(xlabel="feature", ylabel="weight", title="RELIEF on twonorm with 80 noise features")
axes.legend(loc="upper right")

# %%
# It is a scikit-learn selector, so a pipeline takes it.

ten = convexfs.Relief(n_neighbors=10, n_features_to_select=20)
for name, model in (
    ("all features", KNeighborsClassifier(5)),
    ("20 features", make_pipeline(ten, KNeighborsClassifier(5))),
):
    print(f"{name}: {cross_val_score(model, data.X, data.y).mean():.2f} right")
