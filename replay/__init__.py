"""Replay: a run that has ended is judged anew by its records alone, without a tool and without a model."""
