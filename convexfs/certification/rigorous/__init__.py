"""Rigorous floating-point computations: every rounding error is bounded."""
