"""Pages that are served now: found by their owner's command, with a link that is good once."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.extras.web.served_pages import announced, opening_file, page_here, served_pages
from planwright.extras.web.web_command import print_links
from planwright.security.tickets import SignInTickets, own_host
from planwright.settings.settings import load

TOKEN = "s" * 43


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what the machine keeps."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_page_is_found_while_it_is_served_and_no_longer(tmp_path: Path, state: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    settings, elsewhere = load(tmp_path / "one"), load(tmp_path / "two")
    page, studio = page_here(2025, TOKEN), page_here(2024, "t" * 43, root="/page")
    assert served_pages(settings) == []
    with announced(settings, page):
        with announced(settings, studio):
            assert sorted(served_pages(settings), key=lambda one: one.token) == [page, studio]
            assert served_pages(elsewhere) == []
        assert served_pages(settings) == [page]
        (file,) = state.rglob("*.json")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (file, *list(file.parents)[:3])}
        assert modes == {0o600, 0o700}
        left = file.read_text("utf-8")
    assert served_pages(settings) == []
    file.write_text(left, "utf-8")  # of a process that was killed
    assert served_pages(settings) == []


def test_two_pages_at_one_port_of_two_addresses_are_both_found(tmp_path: Path) -> None:
    settings, pages = load(tmp_path), [page_here(2025, TOKEN), page_here(2025, "t" * 43)]
    with announced(settings, pages[0]), announced(settings, pages[1]):
        assert len(served_pages(settings)) == 2


def test_what_goes_wrong_while_it_is_served_is_not_said_of_its_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no browser"), announced(load(tmp_path), page_here(2025, TOKEN)):
        raise OSError("no browser")


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path, state: Path) -> None:
    state.write_text("a file", "utf-8")
    with (
        pytest.raises(SetupError, match="cannot be written") as refused,
        announced(load(tmp_path), page_here(2025, TOKEN)),
    ):
        pass
    assert "XDG_STATE_HOME" in refused.value.next_step


def test_its_link_signs_in_once_at_a_host_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with announced(load(tmp_path), page_here(2025, TOKEN)):
        assert [print_links(tmp_path), print_links(tmp_path)] == [0, 0]
    links = capsys.readouterr().out.split()
    tickets = SignInTickets(TOKEN)
    for link in links:
        origin, _, ticket = link.partition("/sign-in?ticket=")
        assert origin == f"http://{own_host(TOKEN)}:2025"
        assert [tickets.use(ticket), tickets.use(ticket)] == ["good", "used"]
        assert TOKEN not in link
    assert len(set(links)) == 2


def test_without_a_page_the_next_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no page of this workspace is served here") as refused:
        print_links(tmp_path)
    assert refused.value.next_step.startswith("begin: planwright web")


def test_a_browser_is_opened_with_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    link = page_here(2025, TOKEN).link()
    with opening_file(load(tmp_path), link) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f'content="0; url={link}"' in path.read_text("utf-8")
        assert not any(part in str(path) for part in (TOKEN, link.rpartition("=")[2], own_host(TOKEN)))
    assert not path.exists()


def test_over_tls_the_link_names_the_host_of_the_certificate() -> None:
    assert page_here(443, TOKEN, host="[::1]").link().startswith("https://[::1]:443/sign-in?ticket=")
