"""Names of attributes as OpenTelemetry has them, and no spans where no program asks for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.semconv.attributes import error_attributes

from planwright.telemetry import attributes
from tests.patience import PATIENCE_S

RUNS = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from planwright.graph import open_agent

def loaded(thread):
    config = {"configurable": {"thread_id": thread}}
    assert agent.invoke({"messages": [("user", "What time is it?")]}, config)["status"] == "completed"
    return "planwright.telemetry.otel_spans" in sys.modules

with open_agent(sys.argv[1]) as agent:
    before = loaded("a")
    trace.set_tracer_provider(TracerProvider())
    print(json.dumps([before, loaded("b")]))
"""


def test_the_names_are_those_of_the_conventions() -> None:
    ours = {value for name, value in vars(attributes).items() if str(value).startswith("gen_ai.")}
    theirs = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}
    assert len(ours) > 8
    assert ours - theirs == set()
    assert attributes.ERROR_TYPE == error_attributes.ERROR_TYPE
    operations = {value.value for value in conventions.GenAiOperationNameValues}
    assert {attributes.INVOKE_AGENT, attributes.EXECUTE_TOOL, attributes.CHAT} <= operations


def test_spans_are_loaded_once_a_program_has_set_a_tracer_provider(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", RUNS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert json.loads(ended.stdout) == [False, True]
