"""What all scikit-learn estimators of the package share."""
