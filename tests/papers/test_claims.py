"""What papers claim and small examples refute."""

from typing import Any

from papers.run import measure, plan


def numbers(name: str, data: str, method: str) -> list[Any]:
    tasks = plan(name, quick=True).tasks
    return [measure(task) for task in tasks if (task.data, task.method) == (data, method)]


def test_logos_fixed_point_is_not_unique():
    found = numbers("logo-starts", "waveform", "two-starts")
    assert any(own["both_certified"] and own["apart"] > 0.1 for own in found)


def test_a_wide_kernel_does_not_make_logo_converge_without_damping():
    """Figure 5b has sigma 10 converge, and faster than narrower kernels."""
    (wide,) = numbers("logo-parameters", "sigma 10, lam 1", "undamped")
    (narrow,) = numbers("logo-parameters", "sigma 1, lam 1", "undamped")
    (damped,) = numbers("logo-parameters", "sigma 10, lam 1", "damped")
    assert (wide["converges"], narrow["converges"], damped["converges"]) == (0.0, 1.0, 1.0)
