"""Describe a selection in the sentences of a paper's methods section."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import convexfs
from convexfs.methods import estimator_homes
from convexfs.selection.class_markers import ClassMarkers
from convexfs.selection.result import SCALED, Selection
from convexfs.selection.rules import PERMUTED

#: Text on how features were selected, for each rule that does not test them.
KEPT = {
    "top": "the heaviest, their number chosen beforehand, were selected without a test",
    "non-zero weights": "those of non-zero weight were selected, single features not tested",
    "curve": "the fewest were selected that predicted held-out samples as well as any number "
    "(within one standard error of the least error)",
    "stability": "those were selected that most halves of the samples selected (stability "
    "selection; Shah and Samworth 2013)",
    "knockoffs": "those were selected that outweighed their knockoffs (Candès, Fan, Janson and Lv "
    "2018)",
}
#: Texts in messages about reading the data that report changed values: imputed, normalised, or
#: detection limits.
CHANGED_VALUES = ("are missing, and filled", "are normalised", "are read as")
#: Parameters to leave out: they do not affect the result, or only matter for repeating it.
QUIET = ("verbose", "n_jobs", "random_state")
_ALIKE = "; samples were weighted by 1 minus the share of their class"
ERROR_RATES = {"fdr": "a false discovery rate", "fwer": "a family-wise error rate"}


def in_words(selection: Selection) -> str:
    """Describe methods and results for a paper; return "" for a projection."""
    if selection.support is None or selection.judgement is None:
        return ""
    return " ".join(_sentences(selection))


def _sentences(selection: Selection) -> Iterator[str]:
    data, judged, support = selection.data, selection.judgement, selection.support
    assert judged is not None
    assert support is not None
    about = [f"convexfs {convexfs.__version__}", *_chosen(selection), SCALED[selection.scale]]
    home = estimator_homes().get(selection.method)
    about[:0] = [home.cited] if home is not None and home.cited else []
    about += [told for told in data.told if any(part in told for part in CHANGED_VALUES)]
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
        alike = getattr(selection.model, "_pairs_alike", False)
        yield from _about_test(test, number, alike, judged.lines.get(PERMUTED, ""))
    else:
        yield f"Of them {KEPT[str(judged.record['rule'])]}: {number}."
    if (curve := judged.curve) is not None:
        yield (
            f"The {curve.measure} of held-out samples in {curve.folds.max() + 1}-fold "
            "cross-validation, with ranking and number of features chosen again inside the folds "
            f"and corrected by bootstrap (BBC-CV; Tsamardinos et al. 2018), was "
            f"{curve.held_out_error:.2f} (95 % interval {curve.interval[0]:.2f} to "
            f"{curve.interval[1]:.2f}; chance {curve.chance:.2f})."
        )


def markers_in_words(found: ClassMarkers) -> str:
    """Describe for a paper how the markers of every class were selected."""
    part, number = next(iter(found.parts.values())), len(found.parts)
    sentences = list(_sentences(replace(part, data=found.data)))
    tests = found.tests
    if not tests:
        return f"{sentences[0]} Each of {number} classes was compared with all other samples."
    test = next(iter(tests.values()))
    lists = ", ".join(f"{name} {len(own)}" for name, own in found.markers().items())
    rate = f"{ERROR_RATES[test.control]} of {100 * test.level:g} %"
    compared = f"Each of {number} classes was compared with all other samples."
    adjusted = ""
    if found.families > 1 and test.control == "fwer":
        adjusted = f" P-values were multiplied by the number of classes ({number})."
    elif found.families > 1:
        adjusted = (
            " Classes with any signal were selected by Benjamini and Hochberg's rule on their "
            "smallest max-T p-values (Westfall and Young 1993), and the level within each was "
            "multiplied by the share of these classes (Benjamini and Bogomolov 2014), which "
            "bounds the average false discovery rate of their lists."
        )
    return (
        " ".join([sentences[0], compared, sentences[1]])
        + f"{adjusted} At {rate}, the numbers of markers were: {lists}."
    )


def _about_test(test: Any, number: str, alike: bool, permuted: str) -> Iterator[str]:
    """Yield sentences about the test, its p-values, and the selected features."""
    rule = (
        "adjusted by max-T (Westfall and Young 1993)"
        if test.control == "fwer"
        else "pooled over features and adjusted by Benjamini and Hochberg (1995)"
    )
    sampled = ""
    if test.sampled is not None:
        drawn, total = test.sampled
        sampled = f" of {drawn} of the {total} samples, drawn at random by class"
    yield (
        "Each feature was tested against shadow columns (after Kursa and Rudnicki 2010): all "
        f"columns were copied with their rows permuted together {permuted}{' ' if permuted else ''}"
        f"({test.n_permutations} permutations{sampled}), neighbours were sought in the columns and "
        "their copies, and the mean statistic of a feature minus that of its copies was divided "
        "by the pooled standard deviation of the copies"
        f"{_ALIKE if alike else ''}; p-values were {rule}."
    )
    gate = ""
    if test.control == "fdr" and test.gate < 1:
        gate = f", provided that the smallest max-T p-value was at most {test.gate:g}"
    bound = ""
    if test.selected.any():
        bound = (
            f"; with 95 % confidence at most {test.max_false()} of them are false, "
            "simultaneously over all thresholds (Blanchard, Neuvial and Roquain 2020)"
        )
    rate = f"{ERROR_RATES[test.control]} of {100 * test.level:g} %"
    yield f"At {rate}{gate}, {number} were selected{bound}."


def _chosen(selection: Selection) -> list[str]:
    """Return parameters that differ from the defaults, and a penalty set by permuted labels."""
    if selection.model is None or not hasattr(selection.model, "get_params"):
        return []
    defaults = type(selection.model)().get_params()
    lam = getattr(selection.model, "lam_", None)
    penalty = []
    if lam is not None and getattr(selection.model, "lam", None) == "null":
        penalty.append(f"lam = {lam:.3g}, set by permuted labels")
    return penalty + [
        f"{name} = {value!r}"
        for name, value in selection.parameters.items()
        if _is_plain(value) and name not in QUIET and value != defaults.get(name)
    ]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
