"""Code that all methods share: formulations, convex steps, fixed points, progress."""
