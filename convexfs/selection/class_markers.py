"""Markers of each class: features selected in one class against all other classes."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.data.dataset import Dataset
from convexfs.data.targets import CLASSES
from convexfs.errors import ConvexfsWarning, InputError, warn
from convexfs.inference.shadow_statistics import ShadowResult
from convexfs.methods import estimator_homes
from convexfs.records import Certificate
from convexfs.selection.fit_by_name import fit_and_select, prepare_fit
from convexfs.selection.result import SCALED, Selection, order
from convexfs.selection.rules import SelectionRule

#: Selection rules that are available for markers.
MARKER_RULES = ("", "fdr", "fwer", "top")
#: Confidence of the bounds on false markers, jointly over all classes.
CONFIDENCE = 0.95
#: Start of the warning that nothing is selected, which is given once for all classes.
_NOTHING = "nothing is selected"


@dataclass(frozen=True, repr=False)
class ClassMarkers:
    """Markers of each class; ``convexfs.select(..., per_class=True)`` makes them.

    Attributes
    ----------
    method : str
    data : Dataset
        The samples, in their own units.
    parts : mapping of str to Selection
        By class, the selection from its samples against all others.
    families : int
        Number of tests for which p-values are adjusted: one per class, or 1 for two classes,
        whose tests are the same.
    seconds : float
    line : str
        What does the same again.
    """

    method: str
    data: Dataset
    parts: Mapping[str, Selection]
    families: int
    seconds: float = 0.0
    line: str = ""

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(own)}" for name, own in self.markers().items())
        return f"<ClassMarkers by {self.method} on {self.data.name}: {counts}>"

    def markers(self) -> dict[str, list[str]]:
        """Return the names of each class's markers, by decreasing weight."""
        names = self.data.feature_names
        return {name: [names[j] for j in order(part)] for name, part in self.parts.items()}

    def ranking(self) -> pd.DataFrame:
        """Return one row per class and feature, by class and decreasing weight.

        Returns
        -------
        DataFrame
            class, then the columns of :meth:`Selection.ranking`. Tests are adjusted for all
            features and classes: q for the false discovery rate of every class with markers,
            max_t_p for the family-wise error rate of all classes together. Differences are
            those of the class less all other samples: negative where the class is lower.
        """
        frames = [part.ranking().drop(columns="higher_in") for part in self.parts.values()]
        for name, frame in zip(self.parts, frames, strict=True):
            if "class" in frame:  # The features have a metadata column called "class".
                frame.rename(columns={"class": "class_of_feature"}, inplace=True)
            frame.insert(0, "class", name)
        return pd.concat(frames, ignore_index=True)

    @property
    def support(self) -> np.ndarray:
        """Mask of the features that are markers of any class."""
        mask = np.zeros(self.data.n_features, dtype=bool)
        mask[[j for part in self.parts.values() for j in order(part)]] = True
        return mask

    @property
    def tests(self) -> dict[str, ShadowResult]:
        """Return the test of each class, adjusted for all classes; empty if none was run."""
        found = {name: part.judgement and part.judgement.test for name, part in self.parts.items()}
        return {name: test for name, test in found.items() if test is not None}

    @property
    def certificate(self) -> Certificate | None:
        """Return the weakest certificate: refuted before undecided before proven; None if none."""
        known = [part.certificate for part in self.parts.values() if part.certificate is not None]
        return min(known, key=lambda own: {False: 0, None: 1, True: 2}[own.ok], default=None)

    def max_false(self) -> dict[str, int]:
        """Return bounds on false markers that hold for all classes together (95 % confidence)."""
        share = 1 - (1 - CONFIDENCE) / self.families
        return {name: test.max_false(share) for name, test in self.tests.items()}

    def reduced(self, data: Dataset) -> Dataset:
        """Return the data set restricted to the markers of all classes."""
        return data.select(self.support)

    def picture(self) -> Any:
        """Return a figure of all class means of each class's first five markers; raise if none."""
        from convexfs.report.pictures import mean_map
        from convexfs.selection.effect_sizes import standardised_means

        chosen = list(dict.fromkeys(j for part in self.parts.values() for j in order(part)[:5]))
        if not chosen:
            raise InputError("nothing is selected, so there is nothing to draw")
        names = [self.data.full_names[j] for j in chosen]
        return mean_map(standardised_means(self.data.select(chosen)), names, list(self.parts))

    plot = picture

    def told(self) -> dict[str, str]:
        """Return a summary by topic: test, error rate, scaling and certificates, one line each."""
        parts, lines = list(self.parts.values()), {"shadow columns": "single features not tested"}
        how = "each class against the rest" if self.families > 1 else "one class against the other"
        if test := next(iter(self.tests.values()), None):
            lines = {"shadow columns": f"{how}, {test.n_permutations} permutations"}
            lines |= test.sampling_line()
            lines["error rate"] = error_rate(test.control, test.level, self.families)
        lines["scaling"] = SCALED[parts[0].scale]
        verdicts = [part.certificate.ok for part in parts if part.certificate is not None]
        proven = f"proven for {sum(map(bool, verdicts))} of {len(parts)} classes"
        return lines | {"certificate": proven if verdicts else "no certificate"}

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained HTML page about the markers, and write it to `path` if given."""
        from convexfs.selection.marker_page import markers_html

        return markers_html(self, path)

    def annotate(self, adata: Any, key: str = "rank_genes_groups") -> None:
        """Write the markers into an AnnData object, in scanpy's form.

        ``adata.uns[key]`` gets names, scores, pvals, pvals_adj and logfoldchanges by class, as
        ``scanpy.tl.rank_genes_groups`` writes them, so that ``scanpy.get.rank_genes_groups_df``
        and the plots of scanpy read them. ``adata.var`` gets ``convexfs_marker_of``.
        """
        from convexfs.selection.annotation import annotate

        annotate(self, adata, key)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{len(own)}</td>"
            f"<td style='text-align:left'>{escape(', '.join(own[:10]))}</td></tr>"
            for name, own in self.markers().items()
        )
        heads = "".join(f"<th>{name}</th>" for name in ("class", "markers", "heaviest first"))
        told = "".join(f"<p>{escape(f'{name}: {text}')}</p>" for name, text in self.told().items())
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{told}"


def error_rate(control: str, level: float, families: int) -> str:
    """Describe in words the error rate of the lists of markers, and how it is controlled."""
    if control == "fwer":
        how = f"max-T x {families} classes" if families > 1 else "max-T"
        return f"family-wise {100 * level:g} % over all lists ({how})"
    if families == 1:
        return f"FDR {100 * level:g} %"
    return f"FDR {100 * level:g} % of each list, on average (Benjamini-Bogomolov)"


def check_markers(method: str, rule: str) -> None:
    """Raise if the method or the rule does not support markers of classes."""
    if rule not in MARKER_RULES:
        raise InputError(f"--per-class takes --fdr, --fwer or --top, and not --{rule}")
    home = estimator_homes().get(method)
    if home is not None and home.component_number is not None:
        raise InputError(f"{method} is a projection and selects no features: no --per-class")
    if home is not None and home.target != CLASSES:
        raise InputError(f"{method} learns from numbers, and --per-class needs classes")


def select_markers(
    method: str,
    settings: Mapping[str, Any],
    data: Dataset,
    rule: SelectionRule,
    scale: str | None,
    line: str = "",
) -> ClassMarkers:
    """Select features of each class against all others by a method and rule; warn if none.

    Parameters
    ----------
    method, settings, rule, scale, line
        As :func:`fit_by_name.prepare_fit` and :func:`fit_by_name.fit_and_select` take them.
    data : Dataset
        Of classes.
    """
    began = time.perf_counter()
    present = np.unique(data.training.y).tolist()
    families = len(present) if len(present) > 2 else 1
    _check_permutations(rule, families)
    rule = replace(rule, families=families, beside=False)
    parts: dict[str, Selection] = {}
    with _once():
        # With two classes, test only the second: the first has the same test.
        for c in present[-families:]:
            name = data.class_names[c]
            own = replace(rule, tell=_prefixed(rule.tell, name))
            fit = prepare_fit(method, settings, own)
            parts[name] = fit_and_select(fit, _against_rest(data, c), own, scale, line)
    if families == 1:
        first, part = present[0], parts[data.class_names[present[1]]]
        mirrored = replace(part, data=_against_rest(data.training, first))
        parts = {data.class_names[first]: mirrored, **parts}
    parts = _adjusted_parts(parts, families)
    seconds = time.perf_counter() - began
    found = ClassMarkers(method, data.training, parts, families, seconds, line)
    if not found.support.any():
        warn(f"{_NOTHING}: no class has a marker; --top K selects the K heaviest of each")
    return found


def adjust_for_classes(tests: Sequence[ShadowResult]) -> list[ShadowResult]:
    """Correct the tests of several classes for multiple testing over the classes.

    False discovery rate (Benjamini and Bogomolov 2014): classes with any signal are selected by
    Benjamini and Hochberg's rule on the global p-values, and the q-values of these are
    multiplied by the number of classes over that of the selected ones. Then the false discovery
    rates of the lists of the selected classes are on average at most the level. Family-wise
    error rate: max-T p-values are multiplied by the number of classes (Bonferroni).
    """
    from scipy.stats import false_discovery_control

    number = len(tests)
    signal = false_discovery_control([test.global_pvalue for test in tests]) <= tests[0].level
    factors = np.where(signal, number / max(int(signal.sum()), 1), np.inf)
    return [
        replace(
            test,
            qvalues=np.minimum(test.qvalues * factor, 1.0),
            max_t_pvalues=np.minimum(number * test.max_t_pvalues, 1.0),
        ).without_null()
        for test, factor in zip(tests, factors, strict=True)
    ]


def _adjusted_parts(parts: dict[str, Selection], families: int) -> dict[str, Selection]:
    from convexfs.report.pictures import weight_bars

    judged = [part.judgement for part in parts.values()]
    tests = [own.test for own in judged if own is not None and own.test is not None]
    if len(tests) < len(parts):
        return parts
    adjusted = adjust_for_classes(tests) if families > 1 else [t.without_null() for t in tests]
    made = {}
    for (name, part), own, test in zip(parts.items(), judged, adjusted, strict=True):
        assert own is not None
        support = own.support & test.selected  # Constant features are never selected.
        decision = replace(own, support=support, test=test, lines=test.lines(), picture=None)

        def picture(part: Selection = part, support: np.ndarray = support) -> Any:
            return weight_bars(part.weights, part.data.full_names, support)

        made[name] = replace(part, support=support, judgement=decision, picture=picture)
    return made


def _check_permutations(rule: SelectionRule, families: int) -> None:
    number = rule.permutations
    if rule.rule == "fwer" and number is not None and families / (number + 1) > rule.bound:
        least = int(np.ceil(families / rule.bound)) - 1
        raise InputError(
            f"--permutations {number} is too few for a family-wise error rate of {rule.bound:g} "
            f"in {families} classes: use at least {least}"
        )


def _against_rest(data: Dataset, c: int) -> Dataset:
    """Return the data set with two classes: class c and all others."""
    name = data.class_names[c]
    return replace(data, y=(data.y == c).astype(data.y.dtype), class_names=(f"not {name}", name))


def _prefixed(tell: Callable[[str], Any] | None, name: str) -> Callable[[str], Any] | None:
    return None if tell is None else lambda line: tell(f"{name}: {line}")


@contextmanager
def _once() -> Iterator[None]:
    """Show each warning of several fits once, and none about classes without markers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text, own in {str(own.message): own for own in caught}.items():
        if not issubclass(own.category, ConvexfsWarning):
            warnings.warn_explicit(own.message, own.category, own.filename, own.lineno)
        elif not text.startswith(_NOTHING):
            warn(text)
