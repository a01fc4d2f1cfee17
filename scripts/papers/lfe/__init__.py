"""Experiments of the lfe paper."""
