"""Local-learning feature selection as explicit convex problems with certificates."""

__version__ = "0.1.0"
