"""The one way to an effect: judge, ask, record, call."""
