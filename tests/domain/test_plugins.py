"""What other packages add, and a core without any, each in its own process: entry points are read once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
BRINGS = """
import typer

app = typer.Typer(help="What a package brings.")


@app.callback()
def nothing() -> None:
    pass


def greet(name: str) -> None:
    \"\"\"Greet somebody.\"\"\"
    print(f"good morning, {name}")


class NoServers:
    pass
"""
POINTS = """
[planwright.commands]
greetings = greeting:app
greet = greeting:greet
run = greeting:greet
broken = greeting:nowhere
gone = nowhere:app
[planwright.stores]
postgresql = greeting:NoServers
"""
# The tests run on an editable installation, which finds packages beside sys.path: here it finds none.
ALONE = """
import sys
sys.path[:] = [{folder!r}, *(place for place in sys.path if "__editable__" not in place)]
sys.meta_path[:] = [each for each in sys.meta_path if "__editable__" not in getattr(each, "__module__", "")]
"""
CORE = """
import importlib.util, itertools
import planwright
assert [*planwright.__path__] == [{package!r}], planwright.__path__
assert importlib.util.find_spec("planwright.extras") is None
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from planwright.graph import open_agent
said = GenericFakeChatModel(messages=itertools.repeat(AIMessage("Good morning.")))
with open_agent({workspace!r}, model=said) as agent:
    out = agent.invoke({{"messages": [("user", "Good morning")]}}, {{"configurable": {{"thread_id": "1"}}}})
    assert (out["status"], out["messages"][-1].text) == ("completed", "Good morning."), out
    called = agent.invoke(None, agent.call("datetime.now"))
    assert called["status"] == "completed", called
with open_agent({workspace!r}) as agent:
    out = agent.invoke({{"messages": [("user", "Good morning")]}}, {{"configurable": {{"thread_id": "2"}}}})
    print(out["status"], out["messages"][-1].text)
"""


def _python(program: str, tmp_path: Path) -> str:
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Write a package with entry points, as an installer leaves it."""
    site = tmp_path / "site"
    metadata = site / "greeting-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "greeting.py").write_text(BRINGS, "utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(POINTS, "utf-8")
    return site


def _main(site: Path, *words: str) -> str:
    return f"import sys; sys.path.append({str(site)!r}); sys.argv[1:] = {[*words]}; " + (
        "from planwright.cli.main import main; main()"
    )


def test_a_package_brings_commands(package: Path, tmp_path: Path) -> None:
    listed = _python(_main(package, "--help"), tmp_path)
    assert listed.rstrip().splitlines()[-2:] == [
        "  greet         Greet somebody.",
        "  greetings     What a package brings.",
    ]
    assert _python(_main(package, "greet", "Ann"), tmp_path) == "good morning, Ann\n"


def test_no_package_takes_the_place_of_a_command_or_stops_one(package: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", _main(package, "run", "--help")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0
    assert "Plan a request, ask for approval" in done.stdout
    said = sorted(done.stderr.splitlines())
    assert [line.partition(" of planwright.commands cannot be imported")[0] for line in said] == [
        "'broken'",
        "'gone'",
    ]
    assert all(line.endswith("mend that package, or remove it") for line in said)


def test_no_package_takes_the_place_of_what_is_ours(package: Path, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.append({str(package)!r})\n"
        "from planwright.domain.plugins import plugins; print(plugins('stores')['postgresql'].value)"
    )
    assert _python(program, tmp_path) == "planwright.extras.postgres.server:server_of\n"


@pytest.mark.parametrize(("hook", "name"), [("models", "nothing"), ("tool_servers", "grpc")])
def test_what_nothing_brings_is_named_with_what_there_is(hook: str, name: str, tmp_path: Path) -> None:
    program = (
        "from planwright.domain.errors import SetupError; from planwright.domain.plugins import plugin\n"
        f"try: plugin({hook!r}, {name!r})\nexcept SetupError as error: print(error.cause)"
    )
    known = {"models": "embedded", "tool_servers": "mcp"}[hook]
    said = _python(program, tmp_path)
    assert said == f"nothing that is installed brings '{name}' for planwright.{hook} (there is: {known})\n"


@pytest.mark.long
def test_the_core_runs_where_the_extras_are_deleted(tmp_path: Path) -> None:
    folder, workspace = tmp_path / "core", tmp_path / "workspace"
    for room in (ROOT / ".typing" / "planwright").iterdir():
        if room.name != "extras" and room.is_dir():
            shutil.copytree(room.resolve(), folder / "planwright" / room.name)
    where = {"folder": str(folder), "package": str(folder / "planwright"), "workspace": str(workspace)}
    said = _python((ALONE + CORE).format(**where), tmp_path)
    assert said.startswith("failed ")
    assert "nothing that is installed brings 'embedded' for planwright.models (there is: none)" in said
