"""A run of a study, whose tables and figures the kit writes."""

from tests.study.conftest import report, run

__all__ = ["report", "run"]
