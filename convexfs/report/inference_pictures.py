"""Figures of the tests of a selection."""

from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.report.pictures import new_figure

if TYPE_CHECKING:
    from convexfs.inference.label_permutations import PermutationResult
    from convexfs.inference.selection_curves import SelectionCurve


def permutation_picture(result: "PermutationResult") -> Any:
    """Return a figure of sorted standardised statistics over the null's range, rank by rank."""
    figure, axes = new_figure()
    order = np.argsort(-result.centred, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    rows = [-np.sort(-block, axis=1) for block in result.centred_null()]
    low, middle, high = np.quantile(np.concatenate(rows), [0.05, 0.5, 0.95], axis=0)
    axes.fill_between(ranks, low, high, color="lightgrey", label=f"{result.null_name}, 5 to 95 %")
    axes.plot(ranks, middle, color="grey", linewidth=1)
    chosen = result.selected[order]
    for kind, colour, size in ((~chosen, "black", 4), (chosen, "tab:blue", 12)):
        label = "selected" if colour == "tab:blue" else "features"
        if kind.any():
            axes.scatter(ranks[kind], result.centred[order][kind], size, colour, label=label)
    axes.set(xlabel="rank", ylabel=f"statistic, in deviations of {result.null_name}", xscale="log")
    axes.set_title(
        f"{int(chosen.sum())} of {len(order)} features selected; {result.null_name}: "
        f"p = {result.global_pvalue:.2g}",
        loc="left",
    )
    axes.legend(frameon=False)
    return figure


def curve_picture(curve: "SelectionCurve") -> Any:
    """Return a figure of held-out error against the number of features, with the chosen one."""
    figure, axes = new_figure()
    low, _, high = curve.permuted
    axes.fill_between(curve.sizes, low, high, color="lightgrey", label="permuted labels, 5 to 95 %")
    axes.errorbar(curve.sizes, curve.errors, curve.se, fmt=".-", capsize=2, label="held out")
    axes.axhline(curve.chance, color="grey", linestyle=":", label="chance")
    axes.plot(
        [curve.chosen], [curve.held_out_error], "o", color="tab:red",
        label=f"{curve.chosen} chosen, {curve.held_out_error:.2f} to be expected",
    )  # fmt: skip
    axes.set(xlabel="features", ylabel=curve.measure, xscale="log", ylim=(0, None))
    axes.set_title(f"whole curve: p = {curve.pvalue:.2g}", loc="left")
    axes.legend(frameon=False)
    return figure
