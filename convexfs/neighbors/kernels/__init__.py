"""Compiled loops over pairs of samples."""
