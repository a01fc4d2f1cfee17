"""Explanations: conflicts, relaxations, rays, scaling, convexity, sensitivity, stages."""
