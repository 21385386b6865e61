"""The row of a run that has just begun."""

from tests.store.conftest import make_run as make_run
