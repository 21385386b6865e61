"""What LangChain knows of a model: its context, and what it can do.

Each of its packages brings the profiles of its models as data (`data/_profiles.py`, from models.dev); a chat
model shows its own as `model.profile`. They are read here without loading the package, which takes seconds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from planwright.domain.model_hint import ModelCapability

OPENAI = "langchain_openai"
NAMES: Mapping[str, ModelCapability] = MappingProxyType(
    {
        "tool_calling": "function_calling",
        "structured_output": "json_schema",
        "reasoning_output": "reasoning",
        "image_inputs": "vision",
    }
)
"""Capabilities by the names that profiles have for them."""


EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "langchain_anthropic": "anthropic",
        "langchain_google_genai": "google",
        "langchain_mistralai": "mistral",
        "langchain_ollama": "ollama",
    }
)
"""Extras of ours that bring a package."""


def is_installed(package: str) -> bool:
    """Say whether a package can be imported, without doing so."""
    return importlib.util.find_spec(package) is not None


def install_of(package: str) -> str:
    """Say how to install a package."""
    extra = EXTRAS.get(package)
    return f"pip install 'planwright[{extra}]'" if extra else f"install the package that brings {package}"


def known_of(package: str, model: str) -> dict[str, object]:
    """Say what is known of a model of a package, in the names of our settings; nothing where it is not."""
    profile = _profiles(package).get(model)
    if not profile:
        return {}
    known: dict[str, object] = {}
    if context := profile.get("max_input_tokens"):
        known["context"] = context
    if most := profile.get("max_output_tokens"):
        known["max_output"] = most
    can = [name for key, name in NAMES.items() if profile.get(key)]
    if package == OPENAI and "json_schema" in can:
        can.append("json_mode")
    known["capabilities"] = (*can, "streaming")
    return known


@cache
def _profiles(package: str) -> Mapping[str, Mapping[str, object]]:
    """Read the profiles that a package brings; none where it is not installed, or brings none."""
    package_spec = importlib.util.find_spec(package) if package else None
    for folder in (package_spec.submodule_search_locations or ()) if package_spec else ():
        path = Path(folder) / "data" / "_profiles.py"
        spec = importlib.util.spec_from_file_location(f"{package}_profiles", path) if path.is_file() else None
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return dict(getattr(module, "_PROFILES", {}))
    return {}
