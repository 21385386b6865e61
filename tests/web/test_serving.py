"""Where the page listens: on this machine alone, at the port that is asked for or at one that is free."""

from __future__ import annotations

import pytest

from planwright.domain.errors import SetupError
from planwright.web.serving import HOST, listen


@pytest.mark.enable_socket
def test_it_listens_on_this_machine_alone_and_says_when_it_cannot() -> None:
    with listen(None) as first, listen(None) as second:
        assert {first.getsockname()[0], second.getsockname()[0]} == {HOST} == {"127.0.0.1"}
        taken = first.getsockname()[1]
        assert second.getsockname()[1] != taken
        with pytest.raises(SetupError, match=f"port {taken} cannot be used"):
            listen(taken)
