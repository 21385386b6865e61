"""What a setting lets happen: which of them run, send or open something, and which do none of that.

A folder that somebody else wrote brings a `planwright.toml` along. Each setting stands here once; one that
does not is taken for one that opens something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planwright.settings.settings import Settings

Consequence = Literal["runs", "sends", "opens"]
ANY = "*"
"""Stands for the name of a table that its writer chose, as that of a provider."""

RUNS = """
audit.command capabilities.modules providers.*.chat_class schedules.*.agent schedules.*.cron
schedules.*.planning schedules.*.request schedules.*.tenant schedules.*.timezone
""".split()
SENDS = """
channels.*.url mail.host mail.password mail.password_env mail.port mail.security mail.sender mail.user
notify.apprise notify.mail notify.next.apprise notify.next.mail notify.next.webhook notify.page
notify.tenants.*.apprise notify.tenants.*.mail notify.tenants.*.next.apprise notify.tenants.*.next.mail
notify.tenants.*.next.webhook notify.tenants.*.webhook notify.webhook schedules.*.answer_to.apprise
schedules.*.answer_to.mail schedules.*.answer_to.webhook
providers.*.api_key providers.*.api_key_env providers.*.api_keys providers.*.base_url
providers.*.options providers.*.proxy sign_in.client_id sign_in.client_secret_env sign_in.issuer
storage.url tracing.langsmith
""".split()
OPENS = """
agents.*.instructions agents.*.limits.cost agents.*.limits.effects agents.*.limits.effects_per_minute
agents.*.limits.model_calls agents.*.limits.tokens agents.*.limits.tool_calls
agents.*.limits.wall_clock_s
approval.plan approval.plan_risk approval.risk approval.tool_risk audit.anchor budgets.run.cost
budgets.run.effects budgets.run.effects_per_minute budgets.run.model_calls budgets.run.tokens
budgets.run.tool_calls
budgets.run.wall_clock_s critic.strictness egress.allow egress.idempotent files.allow files.types
files.readable mail.ca_file mcp.*.mode mcp.*.tools.*.effect mcp.*.tools.*.mode mcp.*.tools.*.risk
memory.proposals notify.links notify.next.links notify.tenants.*.links
notify.tenants.*.next.links people.*.identity people.*.name people.*.rights people.*.tenant
providers.*.models.*.prices.input_per_million providers.*.models.*.prices.output_per_million
providers.*.prices.input_per_million providers.*.prices.output_per_million server.hosts server.origins
server.tokens.*.person server.tokens.*.rights server.tokens.*.sha256 server.tokens.*.tenant
server.tokens.*.token_env sign_in.claim sources.calendar sources.databases sources.mail sources.tickets
storage.path web.certificate web.host web.key web.proxies
""".split()
NOTHING = """
agents.*.answer_schema agents.*.description agents.*.max_tool_iterations agents.*.model agents.*.modes
agents.*.planning agents.*.tools alternative.enabled alternative.max_tokens alternative.temperature
approval.depth approval.order approval.plan_timeout_s
approval.tool_timeout_s breaker.failures breaker.open_s capabilities.prohibit
context.compact_at context.compact_oldest context.compact_timeout_s context.truncate_to
critic.run_retries critic.step_retries egress.content_types egress.max_bytes egress.timeout_s
execution.max_parallel_steps execution.max_tool_iterations execution.max_tool_iterations_hard_limit
execution.on_failed_dependency execution.order execution.retry_base_ms execution.run_retries
execution.step_retries execution.step_timeout_s failover.base_ms failover.cap_s failover.jitter
failover.key_cooldown_s failover.retries logging.format logging.level loop_guard.ping_pong
loop_guard.poll loop_guard.repeat loop_guard.window mail.timeout_s mcp.*.allow mcp.*.call_timeout_s
mcp.*.deny mcp.*.enabled mcp.*.required mcp.*.start_timeout_s memory.max_tokens memory.most
memory.timeout_s notify.climb_s notify.closing_s notify.events planner.attempts planner.backoff
planner.repairs planner.timeout_s planning.max_depth
planning.max_steps planning.mode planning.reclassify_budget planning.replan_budget planning.threshold
providers.*.api providers.*.capabilities providers.*.context providers.*.daily_tokens
providers.*.idle_timeout_s providers.*.max_concurrent providers.*.max_output providers.*.model
providers.*.models.*.capabilities providers.*.models.*.context providers.*.models.*.max_output
providers.*.models.*.thinking providers.*.models.*.thinking_tokens providers.*.monthly_cost
providers.*.priority providers.*.reply_timeout_s providers.*.thinking providers.*.thinking_tokens
queue.capacity queue.look_s queue.max_concurrent queue.max_execution_time_s roles.agent roles.critic
roles.fast roles.planner roles.respond schedules.*.ttl_s secrets.env sessions.gate_ttl_s
sessions.heartbeat_s sessions.lease_s sessions.most_breaks sessions.on_change sessions.on_crash
sessions.on_silence sessions.ttl_s storage.busy_timeout_s storage.keep_checkpoints storage.keep_days
storage.tenants.*.keep_checkpoints storage.tenants.*.keep_days threads.new_input tools.filter
tools.result_limit tools.token_budget tools.top_k web.port
""".split()

_CONSEQUENCES: Mapping[str, Consequence | None] = {
    **dict.fromkeys(RUNS, "runs"),
    **dict.fromkeys(SENDS, "sends"),
    **dict.fromkeys(OPENS, "opens"),
    **dict.fromkeys(NOTHING),
}


@dataclass(frozen=True)
class WrittenSetting:
    """One setting as it stands in a file, and what it lets happen."""

    name: str
    """Its dotted name, as the file spells it."""
    kind: str
    """The same with the names that its writer chose as `*`, as the classes spell it."""
    value: object
    """What stands there, with variables by their names."""
    does: Consequence
    """What it lets happen."""
    is_secret: bool
    """Whether what stands there is never shown."""


def setting_kinds(section: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """List all settings by their dotted names, with `*` for names that a writer chooses."""
    for name, field in section.model_fields.items():
        if section is Settings and name == "workspace":
            continue
        below, chosen = _below(field)
        kind = f"{prefix}{name}{'.*' if chosen else ''}"
        if below is None:
            yield kind, field
        else:
            yield from setting_kinds(below, f"{kind}.")


def consequences(content: Mapping[str, object]) -> Iterator[WrittenSetting]:
    """List the settings of a file that run, send or open something."""
    for name, kind, field, value in _written(Settings, content, "", ""):
        does = _CONSEQUENCES.get(kind, "opens")
        if does is not None:
            secret = field is None or "SecretStr" in repr(field.annotation)
            yield WrittenSetting(name, kind, value, does, secret)


def _written(
    section: type[BaseModel], content: Mapping[str, object], name: str, kind: str
) -> Iterator[tuple[str, str, FieldInfo | None, object]]:
    named = {key: key for key in section.model_fields}
    named |= {field.alias: key for key, field in section.model_fields.items() if field.alias}
    for written, value in content.items():
        key = named.get(written)
        field = section.model_fields[key] if key else None
        below, chosen = _below(field) if field else (None, False)
        here, its_kind = f"{name}{written}", f"{kind}{key or written}"
        if below is None or not isinstance(value, Mapping):
            yield here, its_kind, field, value
        elif not chosen:
            yield from _written(below, value, f"{here}.", f"{its_kind}.")
        else:
            for each, table in value.items():
                inner = table if isinstance(table, Mapping) else {}
                yield from _written(below, inner, f"{here}.{each}.", f"{its_kind}.{ANY}.")


def _below(field: FieldInfo) -> tuple[type[BaseModel] | None, bool]:
    """Find the section that a setting holds, and whether in a table by names that its writer chooses."""
    annotation: object = field.annotation
    if get_origin(annotation) in (Union, UnionType):
        annotation = next((each for each in get_args(annotation) if each is not type(None)), None)
    chosen = get_origin(annotation) is dict
    held: object = get_args(annotation)[1] if chosen else annotation
    return (held, chosen) if isinstance(held, type) and issubclass(held, BaseModel) else (None, False)
