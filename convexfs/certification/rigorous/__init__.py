"""Statements about real numbers proven in floating point: rounding errors are bounded."""
