"""Who is near whom: nearest hits and misses of every sample."""
