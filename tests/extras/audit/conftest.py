"""The store of the audit's tests, and the workspaces of those that play commands."""

from tests.cli.conftest import asked as asked
from tests.cli.conftest import desk as desk
from tests.cli.conftest import template as template
from tests.cli.conftest import waiting as waiting
from tests.records.audit.conftest import played as played
from tests.records.audit.conftest import run_id as run_id
from tests.records.audit.conftest import store as store
