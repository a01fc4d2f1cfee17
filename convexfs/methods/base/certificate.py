"""The proof that a fixed point of convex steps comes with."""

from dataclasses import dataclass
from typing import Any

from convexfs.records import Certificate


@dataclass(frozen=True)
class FixedPointCertificate(Certificate):
    """The last convex step is solved over all features, and it leads back to its start.

    The gap is that of the last convex step, over every feature. A True ``ok``
    proves a fixed point over all features, not that it is the only one.

    Attributes
    ----------
    residual : float
        ``|T(w) - w| / |T(w)|``, T the convex step with neighbours taken at w.
    residual_tol : float
        Largest residual accepted.
    n_violated : int
        Features left out although their score exceeds the price of weight.
    n_features : int
    n_found : int
        Fixed points that the starts tried have led to, this one included.
    """

    residual: float
    residual_tol: float
    n_violated: int
    n_features: int
    n_found: int = 1

    @property
    def ok(self) -> bool | None:
        fixed = self.residual <= self.residual_tol and self.n_violated == 0
        return super().ok if fixed else False

    def __str__(self) -> str:
        among = f", one of {self.n_found} found" if self.n_found > 1 else ""
        verdict = f"a fixed point{among}" if self.ok else "refused: not shown to be a fixed point"
        return f"{verdict} (gap {self.gap:.0e}, {self._found})"

    @property
    def _found(self) -> str:
        return (
            f"residual {self.residual:.0e}, "
            f"{self.n_violated} of {self.n_features} features violated"
        )

    def as_dict(self) -> dict[str, Any]:
        """The columns of every certificate; what is a fixed point's own is told in ``basis``."""
        return super().as_dict() | {"basis": f"{self.basis}; claims a fixed point: {self._found}"}
