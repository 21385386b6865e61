"""The store of the audit's tests."""

from tests.checkpoints.audit.conftest import played as played
from tests.checkpoints.audit.conftest import run_id as run_id
from tests.checkpoints.audit.conftest import store as store
