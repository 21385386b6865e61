"""Benchmarks, run from the root of the repository (`python -m benchmarks.bench`), not installed."""
