"""Nearest neighbours: hits and misses of every sample."""
