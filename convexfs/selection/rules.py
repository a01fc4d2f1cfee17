"""Rules that select features from weights: tests, cross-validation, stability, top k."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.column_ranges import constant_columns
from convexfs.data.dataset import Dataset, feature_frame
from convexfs.errors import InputError, check_number, warn
from convexfs.inference.shadow_statistics import USUAL, check_shadow_rule
from convexfs.records import NOT_TESTED

if TYPE_CHECKING:
    from convexfs.inference.selection_curves import SelectionCurve
    from convexfs.inference.shadow_statistics import ShadowResult

#: Default level of each rule that controls an error rate.
LEVELS = {"fdr": 0.1, "fwer": 0.05, "knockoffs": 0.2}
#: Rules that test features against shadow columns.
TESTS = ("", "fdr", "fwer")
#: Label of the line about the certificate of a rule's own optimisation problem.
ITS_CERTIFICATE = "rule's certificate"
#: Held-out errors count as better than chance up to this p-value.
_CHANCE = 0.05
#: With several tests, draw enough permutations for a joint bound on false features with this error
#: probability (1 - class_markers.CONFIDENCE).
_BOUND = 0.05
#: Fewest samples per class at which held-out errors are computed without a request.
_FOLDS = 5

#: Name of the line that says how groups and blocks restrict permutations.
PERMUTED = "rows permuted"


@dataclass(frozen=True)
class SelectionDecision:
    """Result of a rule: mask of the selected features, lines to print, record, and test or curve.

    Attributes
    ----------
    support : bool array
    lines : mapping of str to str
        By what each is about, in the order of printing.
    record : mapping
        The same as numbers.
    column : tuple of str and array, optional
        One number per feature, for the table.
    picture : callable, optional
        Draws what the rule went by.
    test, curve : ShadowResult and SelectionCurve, optional
        Test of the features, and errors of held-out samples.
    chosen_share : array, optional
        How often each feature is selected from halves of the samples.
    """

    support: np.ndarray
    lines: Mapping[str, str]
    record: Mapping[str, Any]
    column: tuple[str, np.ndarray] | None = None
    picture: Callable[[], Any] | None = None
    test: "ShadowResult | None" = None
    curve: "SelectionCurve | None" = None
    chosen_share: np.ndarray | None = None


@dataclass(frozen=True)
class SelectionRule:
    """Rule that selects features from the weights of a method.

    Parameters
    ----------
    rule : {"", "top", "fdr", "fwer", "curve", "stability", "knockoffs"}
        "" is what the method does by default: a test, or its non-zero weights.
    level : float, optional
        Target level: FDR for "fdr" and "knockoffs", FWER for "fwer".
    top : int, optional
        Number of features to select; for "stability" the number in each half of the samples.
    seed : int
    scale : str
        What the features were scaled by, to be done again inside folds.
    groups, blocks : arrays, optional
        Rows that belong together, and batches within which rows are permuted.
    permutations : int, optional
        Permutations of the test; by default 200, or fewer if these took too long.
    gate : float, default=1
        Largest max-T p-value of the best feature at which "fdr" selects anything.
    families : int, default=1
        Tests for which p-values will be adjusted: there are enough permutations for one of them
        to be significant.
    beside : bool, default=True
        Whether held-out errors are computed beside a test.
    tell : callable, optional
        Called with each line of progress.
    """

    rule: str = ""
    level: float | None = None
    top: int | None = None
    seed: int = 0
    scale: str = "none"
    groups: np.ndarray | None = None
    blocks: np.ndarray | None = None
    permutations: int | None = None
    gate: float = 1.0
    families: int = 1
    beside: bool = True
    tell: Callable[[str], Any] | None = field(default=None, repr=False)

    def check(self) -> None:
        """Raise if the rule's options are invalid, before any data are read."""
        if self.rule in LEVELS:
            check_number(f"--{self.rule}", self.bound, 0, 1, open_ends=True)
        if self.rule not in TESTS and (self.permutations is not None or self.gate != 1.0):
            raise InputError(
                f"--permutations and --gate belong to the test, and --{self.rule} runs none: "
                "leave them out, or use --fdr or --fwer"
            )
        asked = (self.rule, self.level, self.permutations, self.gate) != ("", None, None, 1.0)
        if self.rule in TESTS and asked:
            number = USUAL if self.permutations is None else self.permutations
            check_shadow_rule(self.rule or "fdr", self.bound, self.gate, number)

    @property
    def bound(self) -> float:
        return LEVELS[self.rule or "fdr"] if self.level is None else self.level

    def __call__(
        self, source: Any, weights: np.ndarray, data: Dataset, untested: np.ndarray | None = None
    ) -> SelectionDecision:
        """Apply the rule to a fitted method's weights; return which features are selected, and why.

        Parameters
        ----------
        source : estimator or callable
            What weighs features, to be fitted again.
        weights : array (n_features,)
            As it weighed those of all samples.
        data : Dataset
            Scaled.
        untested : bool array, optional
            What a method selects by weights of 0, without a test.
        """
        constant = constant_columns(data.X)
        if self.rule == "top":
            mask = heaviest(weights, constant, self.top or 1)
            return SelectionDecision(mask, self._untested(mask), {"rule": "top"})
        if self.rule == "" and untested is not None:
            mask = untested & ~constant
            return SelectionDecision(mask, self._untested(mask), {"rule": "non-zero weights"})
        if self.rule == "curve":
            return self._by_curve(source, weights, constant, data)
        if self.rule == "stability":
            return self._by_stability(source, data)
        return self._by_test(source, constant, data)

    def _untested(self, support: np.ndarray) -> dict[str, str]:
        return {
            "permuted labels": NOT_TESTED,
            "selected": f"{support.sum()} of {len(support)}; {NOT_TESTED}",
        }

    def _by_test(self, source: Any, constant: np.ndarray, data: Dataset) -> SelectionDecision:
        from convexfs.inference.selector_tests import affordable, drawn_samples, run_shadow_test

        control = self.rule or "fdr"
        samples = _samples(source, data)
        smallest = self.bound if control == "fwer" else self.gate
        # With several tests, use enough permutations to bound the false features of all of them.
        if self.families > 1:
            smallest = min(self.bound, _BOUND)
        least = math.ceil(self.families / smallest) - 1
        number, drawn = self.permutations, None
        if number is None:
            number = max(affordable(source, samples), least)
            drawn = drawn_samples(
                source, samples, data.y, self.seed, groups=self.groups, tests=self.families
            )
        result = run_shadow_test(
            source, samples, data.y, number, self.seed, groups=self.groups, blocks=self.blocks,
            drawn=drawn, tell=self.tell, control=control, level=self.bound, gate=self.gate,
            asked=self.permutations or USUAL,
        )  # fmt: skip
        support = result.selected & ~constant
        if not support.any():
            warn(f"nothing is selected: {result.why_empty()}; --top K selects the K heaviest")
        lines = result.lines()
        record: dict[str, Any] = {"rule": control, "permutations": _test_record(result, data)}
        if permuted := self._permuted():
            lines, record = lines | {PERMUTED: permuted}, record | {"rows_permuted": permuted}
        curve = self._curve_beside(source, data)
        if curve is not None:
            lines = lines | curve_lines(curve, data)
            lines["smallest list"] = smallest_list(curve)
            record = record | {"curve": _curve_record(curve)}
        named = ("max-T p", result.max_t_pvalues) if control == "fwer" else ("q", result.qvalues)
        return SelectionDecision(
            support, lines, record, column=named, picture=result.plot, test=result, curve=curve
        )

    def _permuted(self) -> str:
        """Return how rows are permuted, such as "within 3 blocks"; "" without groups and blocks."""
        count = [0 if own is None else len(np.unique(own)) for own in (self.groups, self.blocks)]
        whole = f"in {count[0]} groups of rows" if count[0] else ""
        return " ".join([whole] * bool(whole) + [f"within {count[1]} blocks"] * bool(count[1]))

    def _curve_beside(self, source: Any, data: Dataset) -> Any:
        """Return held-out errors beside a test; None if fits are slow or classes too small."""
        fast = self.beside and enough_for_folds(data) and hasattr(source, "_operations")
        fast = fast and source._operations(_samples(source, data)) is not None
        return self.curve(source, data) if fast else None

    def curve(self, source: Any, data: Dataset) -> "SelectionCurve":
        """Return held-out errors over the number of features, in this rule's scaling and groups."""
        from convexfs.inference import selection_curve

        X = feature_frame(data) if data.is_mixed else data.X
        return selection_curve(
            source, X, data.y, scale=self.scale, groups=self.groups, random_state=self.seed
        )

    def _by_curve(
        self, source: Any, weights: np.ndarray, constant: np.ndarray, data: Dataset
    ) -> SelectionDecision:
        curve = self.curve(source, data)
        support = heaviest(weights, constant, curve.chosen)
        lines = self._untested(support)
        lines["selected"] = (
            f"{support.sum()} of {len(support)}: the fewest that predict as well as any number"
        )
        record = {"rule": "curve", "curve": _curve_record(curve)}
        lines = lines | curve_lines(curve, data)
        return SelectionDecision(support, lines, record, picture=curve.plot, curve=curve)

    def _by_stability(self, source: Any, data: Dataset) -> SelectionDecision:
        from convexfs.inference import StabilitySelector

        model = StabilitySelector(self._few(source, data), random_state=self.seed)
        model.fit(feature_frame(data), data.labels)
        values = model.probabilities_
        record = {"probabilities": _by_name(values, data), "threshold": float(model.threshold_)}
        return SelectionDecision(
            np.asarray(model.get_support()),
            summary_lines(model),
            {"rule": self.rule, self.rule: record},
            column=("probability", values),
            picture=model.plot,
            chosen_share=values,
        )

    def _few(self, source: Any, data: Dataset) -> Any:
        """Return the estimator for halves, set to select `top` or, if not sparse, sqrt(J)."""
        if source._sparse and self.top is None:
            return source
        number = self.top or max(round(math.sqrt(data.n_features)), 1)
        return type(source)(**source.get_params() | {"n_features_to_select": number})


def _samples(source: Any, data: Dataset) -> Any:
    """Return the samples in the form that `source` was fitted to."""
    from convexfs.inference.selector_tests import unfitted_copy

    if not data.is_mixed:
        return data.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The fit has already warned about these samples.
        return unfitted_copy(source)._validate(feature_frame(data), data.labels)[0]


def summary_lines(selector: Any) -> dict[str, str]:
    """Return a dict of a selector's summary lines: topic to text."""
    lines = dict(line.split(None, 1) for line in selector.summary().splitlines())
    about = lines.pop("certificate")
    return {"permuted labels": NOT_TESTED, **lines, ITS_CERTIFICATE: about}


def curve_lines(curve: "SelectionCurve", data: Dataset) -> dict[str, str]:
    """Return the lines about held-out errors, with the names of the classes."""
    return curve.lines(None if data.numeric else data.class_names)


def smallest_list(curve: "SelectionCurve") -> str:
    """Describe the fewest features that predict as well as any number, if better than chance."""
    if curve.pvalue > _CHANCE:
        return "none: no number of features predicts better than chance"
    features = "feature predicts" if curve.chosen == 1 else "features predict"
    return f"{curve.chosen} {features} as well as any number (--curve)"


def enough_for_folds(data: Dataset) -> bool:
    """Return whether samples are dense, in classes of at least five each."""
    if data.numeric or data.is_sparse:
        return False
    return bool(np.bincount(data.y).min() >= _FOLDS)


def heaviest(weights: np.ndarray, constant: np.ndarray, number: int) -> np.ndarray:
    """Return a mask of the `number` features of highest weight that are not constant."""
    mask = np.zeros(len(weights), dtype=bool)
    mask[np.lexsort((-weights, constant))[:number]] = True
    return mask & ~constant


def _test_record(result: "ShadowResult", data: Dataset) -> dict[str, Any]:
    return {
        "n_permutations": result.n_permutations,
        "n_samples": data.n_samples if result.sampled is None else result.sampled[0],
        **{name: getattr(result, name) for name in ("global_pvalue", "control", "level", "gate")},
        "max_false_95": result.max_false(0.95),
        "pvalues": _by_name(result.pvalues, data),
        "max_t_pvalues": _by_name(result.max_t_pvalues, data),
        "qvalues": _by_name(result.qvalues, data),
    }


def _curve_record(curve: Any) -> dict[str, Any]:
    return {
        **{name: getattr(curve, name).tolist() for name in ("sizes", "errors", "se")},
        "chosen": curve.chosen,
        "honest_error": curve.held_out_error,
        "interval": list(curve.interval),
        "confusion": None if curve.confusion is None else curve.confusion.tolist(),
        **{name: getattr(curve, name) for name in ("chance", "measure", "pvalue")},
    }


def _by_name(values: np.ndarray, data: Dataset) -> dict[str, float]:
    return dict(zip(data.feature_names, values.tolist(), strict=True))
