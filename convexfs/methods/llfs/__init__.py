"""The method llfs."""
