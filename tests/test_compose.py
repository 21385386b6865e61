"""compose.yaml starts what it says: a server, and two workers that find it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from planwright.cli.main import app
from planwright.extras.postgres.address import read_address

ROOT = Path(__file__).parents[1]


@pytest.fixture
def services() -> dict[str, Any]:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    services: dict[str, Any] = yaml.load(text, yaml.SafeLoader)["services"]  # type: ignore[no-untyped-call]
    return services


def test_two_workers_begin_when_the_server_answers(services: dict[str, Any]) -> None:
    worker = services["worker"]
    assert worker["deploy"]["replicas"] == 2
    assert worker["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert worker["command"] == ["worker"]
    assert "worker" in {getattr(command.callback, "__name__", "") for command in app.registered_commands}


def test_the_workers_find_the_server_by_its_name_and_database(services: dict[str, Any]) -> None:
    address = read_address(services["worker"]["environment"]["PLANWRIGHT_STORAGE__URL"])
    made = services["postgres"]["environment"]
    assert address.label == f"postgresql://postgres:5432/{made['POSTGRES_DB']}"
    assert f"user={made['POSTGRES_USER']}" in address.conninfo
    assert services["worker"]["environment"]["PGPASSWORD"] == made["POSTGRES_PASSWORD"]


def test_nothing_starts_without_a_password(services: dict[str, Any]) -> None:
    password = services["postgres"]["environment"]["POSTGRES_PASSWORD"]
    assert re.fullmatch(r"\$\{\w+:\?.+\}", password)
