"""Benchmarks, run from the root of the repository (`python -m benchmarks.bench`), not installed."""

from contextlib import suppress

from benchmarks.own_ground import stand_on_own_ground

with suppress(ImportError):  # in the environment of a peer there is no Planwright
    stand_on_own_ground()
