"""Explain problems: conflicts, relaxations, rays, scaling, convexity, sensitivity."""
