"""Results of tests of single features against shadow columns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from convexfs.errors import InputError, check_number
from convexfs.inference.label_permutations import PermutationResult, check_rule, evidence

#: Default number of permutations, and the least that estimate the spread of shadows.
USUAL, LEAST = 200, 39


@dataclass(frozen=True, eq=False, repr=False)
class ShadowResult(PermutationResult):
    """Result of a test of every feature against shadow columns.

    Attributes
    ----------
    statistic : array (n_features,)
        Mean over the permutations of the feature's statistic beside the shadow columns, divided
        by the standard deviation of the feature.
    null : array (n_permutations, n_features)
        The same of the feature's shadow in each permutation.
    centred : array (n_features,)
        `statistic` minus the mean of the feature's shadows, divided by one scale for all
        features: the root of the mean variance of the shadows.
    pvalues : array (n_features,)
        Share of the centred shadows of all features and permutations that are at least as
        large as the feature.
    max_t_pvalues : array (n_features,)
        Share of the permutations whose largest centred shadow is at least as large (step-down
        max-T of Westfall and Young): selecting those up to .05 bounds the family-wise error
        rate by 5 %.
    qvalues : array (n_features,)
        `pvalues` adjusted by Benjamini and Hochberg: the smallest false discovery rate at which
        the feature is selected.
    global_pvalue : float
        Of the hypothesis that no feature is related to the target.
    control, level, gate
        The rule that `selected` applies.
    asked : int
        Number of permutations asked for; `n_permutations` is smaller if time did not allow them.
    sampled : tuple of int, optional
        Number of samples that were drawn for the test, and of all; None if all were used.

    Notes
    -----
    The null hypothesis of a feature: it is independent of the target and of all features that
    are related to the target. A feature that is correlated with a related one is related; so is
    a feature that explains the noise of a related one (a suppressor). Rows have to be
    independent; pass replicates as `groups` and batches as `blocks`.

    Error rates were measured, not proven: ``convexfs guide selection``.
    """

    null_name: ClassVar[str] = "shadow columns"

    asked: int = 0
    sampled: tuple[int, int] | None = None

    def lines(self) -> dict[str, str]:
        """Return a dict of report lines about the test: topic to text."""
        number = f"{self.n_permutations} permutations"
        if self.n_permutations < self.asked:
            number += f"; {self.asked} take long"
        count, n_features = int(self.selected.sum()), len(self.statistic)
        rule = "family-wise error" if self.control == "fwer" else "FDR"
        text = f"{count} of {n_features} at {rule} {100 * self.level:g} %"
        if count:
            text += f"; at most {self.max_false()} false (95 % confidence)"
        else:
            text += f": {self.why_empty()}"
        found = {"shadow columns": f"p = {self.global_pvalue:.2g} for any signal ({number})"}
        found |= self.sampling_line()
        found["selected"] = text
        if self.control == "fdr":
            strict = int((self.max_t_pvalues <= 0.05).sum())
            found["family-wise 5 %"] = f"{strict} of {n_features} (max-T)"
        return found

    def sampling_line(self) -> dict[str, str]:
        """Return a dict with the report line about drawn samples; empty if all were used."""
        if self.sampled is None:
            return {}
        drawn, total = self.sampled
        text = f"{drawn:,} of {total:,}, drawn at random by class to save time; "
        return {"tested samples": f"{text}--permutations {self.n_permutations} tests all"}

    def why_empty(self) -> str:
        """Return the reason why no feature is selected."""
        if self.control == "fdr" and self.opened:
            return f"the smallest q-value is {self.qvalues.min(initial=1.0):.2g}"
        bound = self.level if self.control == "fwer" else self.gate
        return f"the smallest max-T p is {self.max_t_pvalues.min(initial=1.0):.2g}, above {bound:g}"


def check_shadow_rule(control: str, level: float, gate: float, n_permutations: int) -> None:
    """Raise if the rule is invalid, no feature could pass it, or permutations are too few."""
    check_number("n_permutations", n_permutations, 1, 1_000_000, whole=True)
    if n_permutations < LEAST:
        raise InputError(
            f"n_permutations={n_permutations} is too few to estimate the spread of the shadow "
            f"columns: use at least {LEAST}, better 200"
        )
    check_rule(control, level, gate, n_permutations)


def shadow_result(
    mean: np.ndarray,
    shadows: np.ndarray,
    units: np.ndarray,
    *,
    asked: int = 0,
    sampled: tuple[int, int] | None = None,
    control: str = "fdr",
    level: float = 0.1,
    gate: float = 1.0,
) -> ShadowResult:
    """Compute p-values and q-values of features from their mean and the shadows' statistics.

    Parameters
    ----------
    mean : array (J,)
        Statistic beside the shadows, averaged over the permutations.
    shadows : array (B, J)
    units : array (J,)
        Scale of each feature; a feature of scale 0 is constant and has p = 1.
    asked, sampled, control, level, gate
        As :class:`ShadowResult` has them.
    """
    varies = units > 0
    size = np.where(varies, units, 1.0)
    null = (shadows / size).astype(np.float32)
    centre = null.mean(axis=0, dtype=np.float64)
    variance = null[:, varies].var(axis=0, dtype=np.float64).mean() if varies.any() else 0.0
    # Some shadows hardly vary over the permutations, so that a scale per feature would be
    # too small. Use one scale for all features.
    scale = np.where(varies, np.sqrt(variance) if variance > 0 else 1.0, np.inf)
    found = evidence(mean / size, null, centre, scale)
    rule: dict[str, Any] = {"control": control, "level": level, "gate": gate}
    return ShadowResult(**found, **rule, asked=asked, sampled=sampled)
