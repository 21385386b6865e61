"""What users import stays where it is, and importing it stays cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import planwright.graph
from planwright import capabilities
from planwright.capabilities.contract import Guide
from planwright.domain import errors
from tests.patience import PATIENCE_S


def printed_by(program: str) -> str:
    """Run a program in a new interpreter, and return what it prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


def test_the_public_names_of_graph_load_on_first_use() -> None:
    assert planwright.graph.__all__ == ["RunContext", "Settings", "build_graph", "open_agent"]
    for name in planwright.graph.__all__:
        assert callable(getattr(planwright.graph, name))


def test_the_errors_and_the_guide_of_a_capability_are_the_classes_that_the_gateway_knows() -> None:
    for name in capabilities.__all__:
        assert callable(getattr(capabilities, name))
    assert capabilities.Guide is Guide
    assert capabilities.CapabilityUnavailable is errors.CapabilityUnavailable
    assert capabilities.CapabilityRejected is errors.CapabilityRejected


def test_a_module_of_capabilities_needs_one_import() -> None:
    program = (
        "from planwright.capabilities import CallContext, Compensation, capability as now\n"
        "from planwright.capabilities.call_context import CallContext as context\n"
        "from planwright.capabilities import capability as later\n"
        "assert (context, Compensation.__name__) == (CallContext, 'Compensation')\n"
        "for declare in (now, later):\n"
        "    @declare('door.open', mode='read_only')\n"
        "    def look(name: str) -> str:\n"
        "        'Look at a door.'\n"
        "        return name\n"
        "    print(look.name, look.mode)\n"
    )
    assert printed_by(program).splitlines() == ["door.open read_only"] * 2


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = planwright.graph.nope


MODULES = [
    f"planwright.cli.{name}"
    for name in (
        *("main", "actions.cancelling", "views.run_views", "views.policy_views", "views.usage_views"),
        "views.rendering",
    )
]


@pytest.mark.parametrize("module", MODULES)
def test_looking_at_runs_loads_neither_langgraph_nor_langchain(module: str) -> None:
    program = (
        f"import sys, {module}; print([m for m in sys.modules if m.startswith(('langgraph', 'langchain'))])"
    )
    assert printed_by(program).strip() == "[]"


def test_the_routes_of_the_page_load_no_langgraph_before_a_decision() -> None:
    program = (
        "import importlib, pkgutil, sys; from planwright.extras.web import routes\n"
        "names = [f'{routes.__name__}.{module.name}' for module in pkgutil.iter_modules(routes.__path__)]\n"
        "assert len(names) > 10 and [*map(importlib.import_module, names)]\n"
        "print([m for m in sys.modules if m.startswith(('langgraph', 'langchain'))])"
    )
    assert printed_by(program).strip() == "[]"


@pytest.mark.long
def test_an_agent_loads_no_library_that_its_workspace_does_not_use(tmp_path: Path) -> None:
    unused = ("mcp", "mcp_types", "httpcore", "yaml", "email_validator")
    program = (
        "import sys; from planwright.graph import open_agent; from planwright.cli import main\n"
        "from planwright.extras.mcp import mcp_views; from planwright.cli.session import drive\n"
        f"open_agent('.').close(); print([m for m in sys.modules if m.split('.')[0] in {unused}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout.strip() == "[]"
