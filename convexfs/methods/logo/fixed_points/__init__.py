"""Ways to find a fixed point of Logo's convex step."""
