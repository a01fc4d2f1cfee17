"""Proofs about solutions, independent of the solver that returned them."""
