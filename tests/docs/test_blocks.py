"""Every block of settings, rules, servers and code of all pages is read as in a workspace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.builtin.chain import create_chain
from planwright.capabilities.policy.decisions import read_decisions
from planwright.capabilities.policy.file import load_policy
from planwright.capabilities.policy.gates import NamedGate
from planwright.capabilities.trust.mcp_entries import read_entries
from planwright.models.replies.plan_reading import read_plan
from planwright.settings.settings import load
from tests.cli.desk import Desk
from tests.docs.pages import PAGES, ROOT, Block, blocks

LAST_RULE = '\n[[rule]]\ndecide = "ask"\n'
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def place(block: Block) -> str:
    """Name a block in the list of tests."""
    return block.place


def is_policy(block: Block) -> bool:
    """Say whether a block of TOML belongs into policy.toml."""
    return "[[rule]]" in block.text or "[gates." in block.text


def is_decision(block: Block) -> bool:
    """Say whether a block of TOML is a file of the decision catalog."""
    return block.text.startswith("# decisions/")


@pytest.mark.parametrize(
    "block", [b for b in blocks("toml") if not (is_policy(b) or is_decision(b))], ids=place
)
def test_settings_are_read(block: Block, tmp_path: Path) -> None:
    (tmp_path / "planwright.toml").write_text(block.text, "utf-8")
    sections = re.findall(r"^\[(\w+)", block.text, re.MULTILINE)
    assert set(sections) <= load(tmp_path).model_fields_set


@pytest.mark.parametrize("block", [block for block in blocks("toml") if is_decision(block)], ids=place)
def test_a_decision_of_the_pages_is_read(block: Block, tmp_path: Path) -> None:
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "page.toml").write_text(block.text, "utf-8")
    gate = NamedGate(reason="money leaves the shop")
    assert read_decisions(tmp_path, {"GATE_FINANCE_APPROVAL": gate})


@pytest.mark.parametrize("block", [block for block in blocks("toml") if is_policy(block)], ids=place)
def test_rules_are_read(block: Block, tmp_path: Path) -> None:
    last = block.text.rpartition("[[rule]]")[2]
    whole = block.text if "match" not in last and "[gates." not in last else block.text + LAST_RULE
    (tmp_path / "policy.toml").write_text(whole, "utf-8")
    policy = load_policy(tmp_path)
    assert len(policy.rules) == whole.count("[[rule]]")
    assert set(policy.gates) == set(re.findall(r"^\[gates\.(\w+)\]", block.text, re.MULTILINE))


@pytest.mark.parametrize("block", blocks("json"), ids=place)
def test_plans_servers_and_chains_are_read(block: Block, tmp_path: Path) -> None:
    content = json.loads(block.text)
    if "goal" in content:
        assert len(read_plan(content).plan.steps) == len(content["steps"])
    elif "mcpServers" in content:
        (tmp_path / ".mcp.json").write_text(block.text, "utf-8")
        assert [server.name for server in read_entries(tmp_path)] == [*content["mcpServers"]]
    else:
        assert check_arguments(create_chain, content)["name"] == content["name"]


def test_the_modules_of_all_pages_are_loaded_together(tmp_path: Path) -> None:
    modules = [block for block in blocks("python") if "@capability" in block.text]
    names = [name for block in modules for name in re.findall(r'@capability\(\s*"([\w.]+)"', block.text)]
    texts = {block.text: f"module_{number}" for number, block in enumerate(modules)}
    for text, name in texts.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    (tmp_path / "planwright.toml").write_text(f"[capabilities]\nmodules = {[*texts.values()]}\n", "utf-8")
    listed = Desk(tmp_path).run("capabilities", "--json")
    assert set(names) <= {entry["name"] for entry in listed.json}, listed.stderr


def test_every_block_of_python_is_tried() -> None:
    tried = [block for block in blocks("python") if "@capability" in block.text or "open_agent" in block.text]
    assert tried == blocks("python")


def test_every_block_has_a_language_that_is_tried() -> None:
    drawn = {"mermaid"}  # the graph, in tests/docs/test_pictures.py
    assert {block.language for block in blocks()} == {"sh", "python", "toml", "json"} | drawn


def test_every_link_leads_to_a_file() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text("utf-8").count("\n") <= 180
