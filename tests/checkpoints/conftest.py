"""The stores of a fresh folder, and a run that this process holds."""

from tests.store.conftest import begin as begin
from tests.store.conftest import lease as lease
from tests.store.conftest import make_run as make_run
from tests.store.conftest import stores as stores
