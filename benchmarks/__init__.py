"""Benchmarks: two ways of doing the same work, timed in one run, told as a ratio."""
