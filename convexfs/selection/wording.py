"""A selection in the sentences of a methods section."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import convexfs
from convexfs.selection.result import Selection

#: What was done to the features, by scale.
SCALED = {
    "zscore": "features standardised",
    "minmax": "features scaled to between 0 and 1",
    "none": "features not scaled",
}
#: By what features were kept where no test of each says it.
KEPT = {
    "top": "the heaviest, their number chosen beforehand, were kept without a test",
    "non-zero weights": "those of non-zero weight were kept, single features not tested",
    "curve": "the heaviest were kept, as many as predicted held-out samples best",
    "stability": "those were kept that halves of the samples selected again and again",
    "knockoffs": "those were kept that outweighed their knockoffs",
}
#: Parameters that are not told of: they do not change what is found, or say how to repeat it.
QUIET = ("verbose", "n_jobs", "random_state")
ERROR_RATES = {"fdr": "a false discovery rate", "fwer": "a family-wise error rate"}


def in_words(selection: Selection) -> str:
    """Say what was done and found, to be pasted into a paper; "" of a projection."""
    if selection.support is None or selection.judgement is None:
        return ""
    return " ".join(_sentences(selection))


def _sentences(selection: Selection) -> Iterator[str]:
    data, judged, support = selection.data, selection.judgement, selection.support
    assert judged is not None
    assert support is not None
    about = [f"convexfs {convexfs.__version__}", *_chosen(selection), SCALED[selection.scale]]
    about += [told for told in data.told if "values are missing, and filled" in told]
    if not data.is_sparse and (holes := int(np.isnan(data.X).sum())):
        about.append(f"{holes:,} of {data.X.size:,} values missing, the others compared")
    samples = f"{data.n_samples} samples" + (
        "" if data.numeric else f" of {data.n_classes} classes"
    )
    yield f"The {len(support)} features of {samples} were weighted by {selection.method} " + (
        f"({'; '.join(about)})."
    )
    number = f"{support.sum()} of {len(support)} features"
    if (test := judged.test) is not None:
        rate = f"{ERROR_RATES[test.control]} of {100 * test.level:g} %"
        yield (
            f"They were tested against {test.n_permutations} permutations of the labels "
            f"(global p = {test.global_pvalue:.2g}); {number} were selected at {rate}."
        )
    else:
        yield f"Of them {KEPT[str(judged.record['rule'])]}: {number}."
        if judged.lines["permuted labels"].startswith("p ="):
            yield f"Permuted labels: {judged.lines['permuted labels']}."
    if (curve := judged.curve) is not None:
        yield (
            f"The {curve.measure} of held-out samples in {curve.folds.max() + 1}-fold "
            "cross-validation, with ranking and number of features chosen again inside the folds "
            f"and corrected by bootstrap (BBC-CV), was {curve.honest_error:.2f} "
            f"(chance {curve.chance:.2f})."
        )


def _chosen(selection: Selection) -> list[str]:
    """The parameters that are not the method's own defaults, as they would be typed."""
    if selection.model is None or not hasattr(selection.model, "get_params"):
        return []
    defaults = type(selection.model)().get_params()
    return [
        f"{name} = {value!r}"
        for name, value in selection.parameters.items()
        if _is_plain(value) and name not in QUIET and value != defaults.get(name)
    ]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
