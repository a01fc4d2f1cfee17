"""Callbacks of scikit-learn (1.9 and later), such as progress bars: fits report to them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or find_spec("sklearn.callback"):
    from sklearn.callback import CallbackSupportMixin, with_callbacks
else:  # Earlier versions have no callbacks, and no estimator has set_callbacks.
    CallbackSupportMixin = object

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged, because this scikit-learn has no callbacks."""
        return method


Report = Callable[..., None] | None


@contextmanager
def reported_fit(
    estimator: Any, X: Any, y: Any, n_iterations: int | None = None
) -> Iterator[Report]:
    """Report a fit to the callbacks of an estimator, inside a method ``with_callbacks``.

    It yields a function that reports one iteration, whatever its arguments, or None if there are
    no callbacks. A callback cannot stop the fit: its solution would have no certificate.

    Parameters
    ----------
    estimator, X, y
        The estimator and what it is fitted to.
    n_iterations : int, optional
        The number of iterations, if it is known before.
    """
    if not hasattr(estimator, "_skl_callbacks"):
        yield None
        return
    fit = estimator._init_callback_context(max_subtasks=n_iterations)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def report(*_: Any) -> None:
        iteration = fit.subcontext("iteration")
        iteration.call_on_fit_task_begin(estimator=estimator)
        iteration.call_on_fit_task_end(estimator=estimator)

    yield report
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y)
