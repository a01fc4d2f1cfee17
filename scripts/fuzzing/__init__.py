"""The attacks of ``scripts/fuzz.py``, a module each, and the engine that runs them."""
