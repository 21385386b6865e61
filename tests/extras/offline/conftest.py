"""What the embedded planner is given: the built-in capabilities, and a shop's database."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.capabilities.registry import load_registry
from planwright.planning.catalogue import describe_capability

SHOP = {
    "shop.db": {
        "customers": ["id", "name", "country", "city", "email"],
        "orders": ["id", "customer_id", "product", "quantity", "total", "status", "ordered_on"],
    }
}


@pytest.fixture(scope="session")
def capabilities(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Describe the built-in capabilities as a planner's prompt does."""
    return [describe_capability(each) for each in load_registry(tmp_path_factory.mktemp("workspace"))]
