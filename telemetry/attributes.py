"""Names of operations and attributes of spans: OpenTelemetry's for GenAI where it has one, else ours.

Its names are not stable yet. Those of `opentelemetry-semantic-conventions` 0.66b2 are compared in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

Attributes = Mapping[str, str | int | float | bool]

OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
PROVIDER_NAME = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
INVOKE_AGENT, EXECUTE_TOOL, CHAT = "invoke_agent", "execute_tool", "chat"
ERROR_TYPE = "error.type"

OURS = "planwright."
KIND = "planwright.kind"
RUN_ID = "planwright.run_id"
TENANT = "planwright.tenant"
STATUS = "planwright.status"
STEP_ID = "planwright.step_id"
UID = "planwright.uid"
CAPABILITY = "planwright.capability"
ROLE = "planwright.role"
GATE_ID = "planwright.gate_id"
GATE_KIND = "planwright.gate_kind"
DECISION = "planwright.decision"
