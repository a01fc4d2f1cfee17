"""The attacks of ``tests/fuzz``, a module each, and the engine that runs them."""
