"""What is trusted is kept on this machine, by folder, and nothing that cannot be read trusts anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.store.folder_trust import (
    Brought,
    FolderTrust,
    GivenTrust,
    below_no_more,
    trust_below,
    trusted_folders,
)

ONE = Brought("audit.command", "runs", '["true"]', "d1")


def test_it_covers_what_was_looked_at_and_no_other_state_or_name(tmp_path: Path, other_machine: Path) -> None:
    trust = FolderTrust(tmp_path)
    trust.give([ONE], "ada")
    assert trust.covers("audit.command", "d1")
    assert not trust.covers("audit.command", "d2")
    assert not trust.covers("audit.anchor", "d1")
    (given,) = trust.read().values()
    assert (given.given_by, given.shows) == ("ada", '["true"]')


def test_it_is_kept_outside_of_the_folder_for_its_owner_alone(tmp_path: Path, other_machine: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    FolderTrust(folder).give([ONE], "ada")
    assert list(folder.iterdir()) == []
    assert FolderTrust(folder).path.is_relative_to(other_machine)
    assert [path for path in other_machine.rglob("*") if path.stat().st_mode & 0o077] == []


def test_the_file_of_another_folder_trusts_nothing_here(tmp_path: Path, other_machine: Path) -> None:
    FolderTrust(tmp_path / "a").give([ONE], "ada")
    FolderTrust(tmp_path / "a").path.rename(FolderTrust(tmp_path / "b").path)
    assert not FolderTrust(tmp_path / "b").covers("audit.command", "d1")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"folder": "x"}'])
def test_a_file_that_cannot_be_read_trusts_nothing(tmp_path: Path, other_machine: Path, text: str) -> None:
    trust = FolderTrust(tmp_path)
    trust.give([ONE], "ada")
    trust.path.write_text(text, "utf-8")
    assert not trust.covers("audit.command", "d1")


def test_a_file_that_others_may_have_written_trusts_nothing(tmp_path: Path, other_machine: Path) -> None:
    trust = FolderTrust(tmp_path)
    trust.give([ONE], "ada")
    trust.path.chmod(0o666)
    assert not trust.covers("audit.command", "d1")


def test_it_is_taken_back_by_name(tmp_path: Path, other_machine: Path) -> None:
    trust = FolderTrust(tmp_path)
    trust.give([ONE], "ada")
    assert trust.take_back("audit.command")
    assert not trust.take_back("audit.command")
    assert not trust.covers("audit.command", "d1")


def test_all_in_a_folder_of_ones_own_is_trusted_and_nothing_beside_it(
    tmp_path: Path, other_machine: Path
) -> None:
    trust_below(tmp_path / "..")
    trust_below(tmp_path)
    assert len(trusted_folders()) == 2
    assert below_no_more(tmp_path / "..")
    assert FolderTrust(tmp_path / "new").covers("anything", "d")
    assert not FolderTrust(tmp_path.with_name(f"{tmp_path.name}x")).covers("anything", "d")
    (tmp_path / "out").symlink_to("/usr")
    assert not FolderTrust(tmp_path / "out").covers("anything", "d")
    assert below_no_more(tmp_path)
    assert not below_no_more(tmp_path)
    assert not FolderTrust(tmp_path / "new").covers("anything", "d")


@pytest.mark.parametrize("folder", [Path("/"), Path("/tmp")])
def test_a_folder_into_which_others_write_is_never_trusted_whole(other_machine: Path, folder: Path) -> None:
    with pytest.raises(SetupError, match="others can put files"):
        trust_below(folder)


def test_a_state_that_cannot_be_kept_is_said(tmp_path: Path, other_machine: Path) -> None:
    other_machine.parent.write_text("no folder", "utf-8")
    with pytest.raises(SetupError, match="cannot be kept") as refused:
        FolderTrust(tmp_path).give([ONE], "ada")
    assert "XDG_STATE_HOME" in refused.value.next_step


class ReadByOthers(FolderTrust):
    """The trust of a folder on a disk that keeps no rights of files."""

    def read(self) -> Mapping[str, GivenTrust]:
        """Rely on nothing."""
        return {}


def test_what_is_kept_and_does_not_count_is_said(tmp_path: Path, other_machine: Path) -> None:
    with pytest.raises(SetupError, match="others may read or write") as refused:
        ReadByOthers(tmp_path).give([ONE], "ada")
    assert "XDG_STATE_HOME" in refused.value.next_step
    trust_below(tmp_path)
    ReadByOthers(tmp_path).give([ONE], "ada")


def test_taking_back_what_cannot_be_changed_is_said(tmp_path: Path, other_machine: Path) -> None:
    other_machine.parent.write_text("no folder", "utf-8")
    with pytest.raises(SetupError, match="cannot be kept"):
        FolderTrust(tmp_path).take_back("audit.command")


def test_a_folder_that_is_not_there_is_not_trusted_whole(tmp_path: Path, other_machine: Path) -> None:
    with pytest.raises(SetupError, match="there is no folder"):
        trust_below(tmp_path / "none")


def test_a_relative_state_folder_is_left_out_as_the_standard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FolderTrust(tmp_path).path.is_relative_to(tmp_path / ".local/state/planwright")
    FolderTrust(tmp_path).give([ONE], "ada")
    assert json.loads(FolderTrust(tmp_path).path.read_text("utf-8"))["folder"] == str(tmp_path)
