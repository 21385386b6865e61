"""The house keeps its order: rooms, folders, files, nodes, documents, packaging."""

from __future__ import annotations

import tomllib

from tests.house import rooms
from tests.house.rooms import ROOMS, ROOT, SOURCES


def test_imports_point_down() -> None:
    assert rooms.upward_imports() == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert rooms.circles() == []


def test_a_file_and_a_function_can_be_read_in_one_sitting() -> None:
    assert rooms.too_long() == []


def test_a_folder_says_what_it_is_and_holds_no_more_than_can_be_looked_over() -> None:
    assert rooms.folders_without_sentence() == []


def test_every_file_of_nodes_is_a_node_and_every_node_has_its_file() -> None:
    assert rooms.nodes_without_file() == []


def test_no_text_refers_to_a_document_that_is_not_here() -> None:
    assert rooms.absent_documents() == []


def test_only_settings_reads_the_environment() -> None:
    assert rooms.readers_of_the_environment() == ["settings.settings"]


def test_one_place_decides_what_time_it_is_for_a_store() -> None:
    deciding = {"store.store_time"}
    handing_the_clock_to_it = {"records.records", "domain.clock", "graph.building"}
    defaults_of_tests = {"capabilities.call_context", "state.invocation"}
    labels = {
        "store.marks.mark",
        "cli.views.db_views",
        "store.folder_trust",
        "extras.demo.webhook",
    }
    without_a_store = {"cli.views.open_store"}
    of_something_else = {"cli.session.terminal", "models.failover.classify", "extras.web.rate_limits"}
    known = deciding | handing_the_clock_to_it | defaults_of_tests | labels
    assert set(rooms.readers_of_the_clock()) == known | without_a_store | of_something_else


def test_every_folder_is_packaged_linked_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = set(project["tool"]["setuptools"]["packages"])
    on_disk = {f"planwright.{name.removesuffix('.__init__')}" for name in SOURCES if "__init__" in name}
    links = {link.name for link in (ROOT / ".typing" / "planwright").iterdir() if link.is_symlink()}
    assert packages == {"planwright", *on_disk}  # the first for `__main__.py` alone
    assert links == {*ROOMS, "__main__.py"}
    assert all((ROOT / ".typing" / "planwright" / link).resolve() == ROOT / link for link in links)
