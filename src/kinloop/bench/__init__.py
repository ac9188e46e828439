"""Benchmarks: kernels beside the peers, timed so that noise hits all alike."""
