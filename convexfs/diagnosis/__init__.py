"""Explanations of problems: conflicts, relaxations, rays, scaling, convexity, sensitivity, stages."""
