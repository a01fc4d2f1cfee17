"""Dual values, the bounds they prove, and their corrections."""
