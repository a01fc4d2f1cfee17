"""Experiments of the logo paper."""
