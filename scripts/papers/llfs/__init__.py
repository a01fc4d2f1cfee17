"""Experiments of the llfs paper."""
