"""Files that come with a request: in the workspace and named in it, or refused with nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from planwright.extras.web.uploads import FOLDER, MOST_BYTES, MOST_FILES
from planwright.records.history.run_pages import RunFilter, runs_page
from planwright.security.jail import LARGEST
from tests.extras.web.conftest import BASE, RIGHT_TOKENS, Browser, MakeStage

File = tuple[str, bytes]


async def send(visit: Browser, *files: File, origin: str = BASE, **fields: Any) -> httpx.Response:
    """Send the form of a new request with files."""
    form = {"csrf": visit.csrf, "request": "Do it", **fields}
    parts = [("files", (name, content)) for name, content in files]
    return await visit.client.post("/new", data=form, files=parts, headers={"Origin": origin})


def uploaded(folder: Path) -> dict[str, bytes]:
    """Read what was put into the workspace, by its path."""
    files = (path for path in (folder / FOLDER).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def test_files_are_in_the_workspace_and_named_in_the_request(make_stage: MakeStage) -> None:
    stage = make_stage()
    answer = await send(await stage.sign_in(), ("new prices.csv", b"a;1"), ("Übersicht.pdf", b"%PDF\x00"))
    run = await stage.agent.stores.runs.read(answer.headers["location"].rsplit("/", 1)[1])
    assert run is not None
    (first, prices), (second, overview) = sorted(uploaded(stage.folder).items())
    assert (prices, overview) == (b"a;1", b"%PDF\x00")
    assert run.request == f"Do it\n\nFiles that came with this request: {first}, {second}"


async def test_a_form_in_which_nothing_was_chosen_is_a_request_alone(make_stage: MakeStage) -> None:
    stage = make_stage()
    answer = await send(await stage.sign_in(), ("", b""))
    run = await stage.agent.stores.runs.read(answer.headers["location"].rsplit("/", 1)[1])
    assert run is not None
    assert (run.request, uploaded(stage.folder)) == ("Do it", {})


async def test_two_requests_with_the_same_name_keep_both_files(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    for content in (b"one", b"two"):
        assert (await send(ada, ("a.txt", content))).status_code == 303
    assert sorted(uploaded(stage.folder).values()) == [b"one", b"two"]


HOSTILE = (
    "../planwright.toml",
    "..",
    ".env",
    "a/b.txt",
    "a\\b.txt",
    "/etc/passwd",
    "policy.toml",
    "safe\u202etxt.exe",
    "zero\u200bwidth.txt",
    "line\u2028break.txt",
    "n" * 300,
)


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_name_that_climbs_hides_or_forges_is_refused(make_stage: MakeStage, name: str) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    before = set(stage.folder.iterdir())
    answer = await send(ada, ("fine.txt", b"x"), (name, b"x"))
    assert answer.status_code == 409, answer.text
    assert set(stage.folder.iterdir()) == before
    assert (await stage.parts.read(runs_page, RunFilter("default"), 5, 0)).total == 0


@pytest.mark.parametrize(
    "files",
    [
        [("same.txt", b"x"), ("Same.txt", b"y")],
        [("large.txt", b"x" * (LARGEST + 1))],
        [(f"{number}.txt", b"x") for number in range(MOST_FILES + 1)],
        [(f"{number}.txt", b"x" * (MOST_BYTES // 5)) for number in range(6)],
    ],
    ids=["same name", "one too large", "too many", "too large together"],
)
async def test_too_much_is_refused_as_a_whole(make_stage: MakeStage, files: list[File]) -> None:
    stage = make_stage()
    answer = await send(await stage.sign_in(), *files)
    assert answer.status_code in (409, 413)
    assert uploaded(stage.folder) == {}


async def test_files_of_a_request_that_is_refused_are_taken_back(make_stage: MakeStage) -> None:
    stage = make_stage()
    answer = await send(await stage.sign_in(), ("a.txt", b"x"), agent="nobody")
    assert (answer.status_code, uploaded(stage.folder)) == (409, {})


async def test_a_link_in_place_of_the_folder_leads_nowhere(make_stage: MakeStage, tmp_path: Path) -> None:
    stage, outside = make_stage(), tmp_path / "outside"
    outside.mkdir()
    (stage.folder / FOLDER).symlink_to(outside)
    assert (await send(await stage.sign_in(), ("a.txt", b"x"))).status_code == 409
    assert list(outside.iterdir()) == []


async def test_somebody_who_may_not_ask_brings_no_file(make_stage: MakeStage) -> None:
    stage = make_stage()
    auditor = await stage.sign_in(RIGHT_TOKENS["audit"])
    assert (await send(auditor, ("a.txt", b"x"))).status_code == 403
    assert uploaded(stage.folder) == {}


@pytest.mark.parametrize("wrong", [{"csrf": "forged"}, {"origin": "https://evil.example"}])
async def test_a_forged_form_brings_no_file(make_stage: MakeStage, wrong: dict[str, str]) -> None:
    stage = make_stage()
    assert (await send(await stage.sign_in(), ("a.txt", b"x"), **wrong)).status_code == 403
    assert uploaded(stage.folder) == {}


async def test_a_body_that_is_no_form_is_refused(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in()
    headers = {"Origin": BASE, "Content-Type": "multipart/form-data; boundary=x"}
    answer = await ada.client.post("/new", content=b"no parts at all", headers=headers)
    assert answer.status_code in (403, 413)


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/workspace/checks"])
async def test_where_no_files_are_asked_for_none_are_read(make_stage: MakeStage, path: str) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    large = [("files", ("large.bin", b"x" * (MOST_BYTES + 1)))]
    form = {"csrf": ada.csrf, "token": "no token"}
    answer = await ada.client.post(path, data=form, files=large, headers={"Origin": BASE})
    assert answer.status_code in (401, 403)
    assert uploaded(stage.folder) == {}
