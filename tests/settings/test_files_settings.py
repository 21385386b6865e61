"""`[files]`: what can be listed, and what no list can say."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.settings.files import PROGRAMS, TYPES
from planwright.settings.settings import load


@pytest.mark.parametrize(
    "allow", ["Makefile", "logs/*.log", "a/b/c.yaml", "*.yml", "report-?.log", "x.pyx.md", "[ab].log", "py"]
)
def test_a_path_is_listed(tmp_path: Path, allow: str) -> None:
    assert load(tmp_path, files={"allow": [allow]}).files.allow == (allow,)


@pytest.mark.parametrize(
    "allow",
    (
        "* ** notes/* x.py X.PY *.py conf*.p? x.* x.p[xy] Make* x.[a-z]y *.so x.pth a/b/*.pyc x.pyd *h *?"
        " ???????? run.sh .env a/.b/c.md ../x.md /etc/x ~/x . a\\b"
    ).split()
    + [""],
)
def test_a_path_that_may_be_a_program_or_lie_elsewhere_is_refused(tmp_path: Path, allow: str) -> None:
    (tmp_path / "planwright.toml").write_text(f"[files]\nallow = ['{allow}']\n")
    with pytest.raises(SetupError, match=r"files\.allow"):
        load(tmp_path)


@pytest.mark.parametrize("type_", [".log", ".YAML", ".svg", ".c++"])
def test_a_type_is_listed(tmp_path: Path, type_: str) -> None:
    assert load(tmp_path, files={"types": [type_]}).files.types == (type_.lower(),)


@pytest.mark.parametrize(
    "type_", ["log", "", ".", "*", ".*", ".tar.gz", "a.b", "./x", ". x", ".PY", *sorted(PROGRAMS)]
)
def test_what_is_no_type_or_one_of_programs_is_refused(tmp_path: Path, type_: str) -> None:
    with pytest.raises(SetupError, match=r"files\.types"):
        load(tmp_path, files={"types": [type_]})


def test_no_type_is_one_of_programs() -> None:
    assert not PROGRAMS & set(TYPES)
    assert ".svg" not in TYPES
