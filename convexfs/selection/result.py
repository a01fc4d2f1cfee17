"""The result of a selection: weights, selected features, tests and certificate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from convexfs.data.dataset import Dataset
from convexfs.errors import and_more
from convexfs.estimators.ranking import ranking_frame
from convexfs.records import Certificate, Solution
from convexfs.selection.effect_sizes import class_differences, target_correlations
from convexfs.selection.rules import SelectionDecision, curve_lines, enough_for_folds, smallest_list

if TYPE_CHECKING:
    import pandas as pd

    from convexfs.inference.selection_curves import SelectionCurve

#: Number of folds; held-out errors that were not requested are skipped if their fits would take
#: more than this many seconds.
FOLDS, MOST_SECONDS = 5, 20.0
_AT_WISH = "not by default with {}; --curve does it"
#: Most selected features that a line names.
SHOWN = 5
#: Description of each scaling.
SCALED = {
    "zscore": "features standardised",
    "minmax": "features scaled to between 0 and 1",
    "none": "features not scaled",
}


@dataclass(frozen=True)
class Selection:
    """Result of :func:`convexfs.select`: weights and selected features of any method.

    Attributes
    ----------
    method : str
    data : Dataset
        The samples, in their own units.
    weights : array (n_features,)
    weights_are : str
        Name of the weights, for tables.
    solution, certificate : Solution and Certificate, or None
        Solution of the method's convex problem and its certificate; None without one.
    parameters : mapping
        Parameters of the method by name.
    reduced : callable
        Samples, scaled like those fitted if this is a projection, in what was selected.
    picture : callable
        A matplotlib figure of the weights or the metric, or of what a rule went by.
    support : bool array or None
        None for a projection, which selects no features.
    explained, explained_as : array and str
        One number per component of a projection, and its meaning.
    components : array (n_samples, n_components) or None
        The samples along the components of a projection.
    judgement : SelectionDecision or None
        The selected features and the evidence for them; None for a projection.
    model : estimator or None
        As fitted.
    held_out : callable or None
        Computes held-out errors over the number of features.
    fit_seconds, seconds : float
        Time of the fit, and of the whole selection.
    scale : str
        How the features were scaled.
    line : str
        The command that repeats the selection.
    """

    method: str
    data: Dataset
    weights: np.ndarray
    weights_are: str
    parameters: Mapping[str, Any]
    reduced: Callable[[Dataset], Dataset]
    picture: Callable[[], Any]
    support: np.ndarray | None = None
    explained: np.ndarray | None = None
    explained_as: str = ""
    components: np.ndarray | None = None
    solution: Solution | None = None
    certificate: Certificate | None = None
    judgement: SelectionDecision | None = None
    model: Any = None
    held_out: Callable[[], "SelectionCurve"] | None = None
    fit_seconds: float = 0.0
    seconds: float = 0.0
    scale: str = "none"
    line: str = ""

    def __repr__(self) -> str:
        data, support = self.data, self.support
        if support is None:
            found = f"{0 if self.explained is None else len(self.explained)} components"
        else:
            names = and_more([data.full_names[j] for j in order(self)[:SHOWN]], int(support.sum()))
            found = f"{support.sum()} of {data.n_features} features selected"
            found += f": {names}" if names else ""
        proof = "none" if self.certificate is None else str(self.certificate)
        return f"<Selection by {self.method} on {data.name}: {found}; certificate {proof}>"

    def plot(self) -> Any:
        """Return a matplotlib figure of the weights, the metric or the test, as the rule has it."""
        return self.picture()

    def ranking(self) -> "pd.DataFrame":
        """Return all features as a table, by decreasing weight.

        Returns
        -------
        DataFrame
            name; metadata of the features, such as symbols; weight; rank; selected. If the
            features were tested: p against shadow columns, max_t_p and q adjusted for all
            features (family-wise error rate, false discovery rate). If halves of the samples
            selected: chosen_share. Then the class with the highest mean, and the difference of
            means in standard deviations within classes: that of the second class less the
            first or, with several classes, the highest less the rest. mean_difference is the
            same in the units of the column. For a numeric target instead the correlation with
            it.
        """
        frame = ranking_frame(self.data.feature_names, self.weights, self.support)
        ranked = heaviest(self)
        for at, (name, values) in enumerate(self.data.feature_metadata.items(), start=1):
            own = name if name not in frame else f"{name}_of_feature"
            frame.insert(at, own, [values[j] for j in ranked])
        for name, values in self.evidence().items():
            frame[name] = values[ranked]
        return frame

    def evidence(self) -> dict[str, np.ndarray]:
        """Return tests and effect sizes by column name, one value per feature in data order."""
        found: dict[str, np.ndarray] = {}
        judged = self.judgement
        if judged is not None and judged.test is not None:
            test = judged.test
            found |= {"p": test.pvalues, "max_t_p": test.max_t_pvalues, "q": test.qvalues}
        if judged is not None and judged.chosen_share is not None:
            found["chosen_share"] = judged.chosen_share
        if self.data.numeric:
            return found | {"correlation": target_correlations(self.data)}
        higher, difference, own = class_differences(self.data)
        return found | {"higher_in": higher, "difference": difference, "mean_difference": own}

    def told(self) -> dict[str, str]:
        """Return a summary by topic: tests, held-out error, scaling, certificate; a line each."""
        lines: dict[str, str] = {}
        if self.judgement is not None:
            lines |= self.judgement.lines
            why = self.why_no_curve() or "--curve or --report does it"
            lines.setdefault("held-out error", f"not computed: {why}")
        proof = "no certificate" if self.certificate is None else self.certificate.covers
        return lines | {"scaling": SCALED[self.scale], "certificate": proof}

    def curve(self) -> "SelectionCurve | None":
        """Return held-out errors over the number of features; None if not available or slow."""
        if self.judgement is None or self.held_out is None:
            return None
        if self.judgement.curve is not None:
            return self.judgement.curve
        return None if self.why_no_curve() else self.held_out()

    def with_curve(self) -> Self:
        """Return a copy with held-out errors added; itself if they would take long."""
        judged, curve = self.judgement, self.curve()
        if judged is None or curve is None:
            return self
        lines = dict(judged.lines) | curve_lines(curve, self.data)
        if judged.curve is None:
            lines["smallest list"] = smallest_list(curve)
        return replace(self, judgement=replace(judged, curve=curve, lines=lines))

    def why_no_curve(self) -> str:
        """Explain why there are no held-out errors and what to do; "" if they can be computed."""
        data = self.data
        if self.held_out is None:
            return "this rule has none; --curve is one that has"
        if enough_for_folds(data):
            slow = FOLDS * self.fit_seconds > MOST_SECONDS
            return f"a fit takes {self.fit_seconds:.0f} s; --curve makes one a fold" if slow else ""
        if data.numeric:
            return _AT_WISH.format("a target of numbers")
        if data.is_sparse:
            return _AT_WISH.format("sparse samples")
        sizes = np.bincount(data.y)
        few = f"class '{data.class_names[int(sizes.argmin())]}' has {sizes.min()}"
        return f"{few} of the {FOLDS} samples that folds need"

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained HTML page about the features, and write it to `path` if given."""
        from convexfs.selection.page import selection_html

        return selection_html(self, path)

    def annotate(self, adata: Any) -> None:
        """Write weights, tests and effect sizes into ``var`` and ``uns`` of an AnnData object."""
        from convexfs.selection.annotation import annotate

        annotate(self, adata)

    def _repr_html_(self) -> str:
        from convexfs.estimators.ranking import fit_html

        frame = ranking_frame(self.data.full_names, self.weights, self.support)
        return fit_html(frame, self.certificate)


def heaviest(selection: Selection) -> np.ndarray:
    """Return the indices of all features, by decreasing weight."""
    return np.argsort(-selection.weights, kind="stable")


def order(selection: Selection) -> list[int]:
    """Return the indices of the selected features, by decreasing weight."""
    by_weight = heaviest(selection)
    return by_weight[np.asarray(selection.support)[by_weight]].tolist()
