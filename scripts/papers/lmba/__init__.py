"""Experiments of the lmba paper."""
