"""Base classes and input validation that all scikit-learn estimators of the package share."""
