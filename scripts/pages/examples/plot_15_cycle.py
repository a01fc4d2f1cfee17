"""
A fixed point that is not reached
=================================

Logo repeats a convex step until nothing changes. As printed in its paper, and with a wide kernel,
it may go round in circles; convexfs notices, and the certificate refutes it. With damping, its
default, it arrives.
"""

import warnings

from matplotlib import pyplot as plt

import convexfs

data = convexfs.load("spiral:noise=300,seed=1")
cases = {
    "as printed, sigma 2": {"algorithm": "paper", "sigma": 2.0},
    "as printed, sigma 20": {"algorithm": "paper", "sigma": 20.0},
    "damped, sigma 20": {"algorithm": "certified", "sigma": 20.0},
}
figure, axes = plt.subplots(figsize=(7.5, 3.8))
for name, settings in cases.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is printed below
        model = convexfs.Logo(**settings, max_iter=40).fit(data.X, data.y)
    changes = [step["residual"] for step in model.history_]
    axes.semilogy(range(1, len(changes) + 1), changes, "o-", markersize=3, label=name)
    print(f"{name}: {model.certificate_}")
axes.set(xlabel="iteration", ylabel="relative change of the weights")
axes.legend()
