"""Where the value of each setting comes from: the environment, the file, or nobody."""

from __future__ import annotations

import tomllib

from pydantic_settings import EnvSettingsSource

from planwright.settings.file_errors import leaves
from planwright.settings.settings import FILE_NAME, Settings, child_environment

DEFAULT = "default"


def origins(settings: Settings) -> dict[str, str]:
    """Name the origin of every setting that is not at its default, by its dotted name.

    It is the name of a variable, or of the file; the environment counts more.
    """
    path = settings.workspace / FILE_NAME
    content = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    named = dict.fromkeys((name for name, _ in leaves(content)), FILE_NAME)
    for name, _ in leaves(EnvSettingsSource(Settings)()):
        named[name] = _variable(name)
    return named


def _variable(name: str) -> str:
    """Name the variable that sets a setting: its own, or that of a table around it, which is JSON."""
    prefix, delimiter = Settings.model_config["env_prefix"], Settings.model_config["env_nested_delimiter"]
    parts = name.split(".")
    there = {variable.upper() for variable in child_environment({})}
    tables = [parts[:count] for count in range(len(parts), 0, -1)]
    spelled = [f"{prefix}{(delimiter or '').join(table)}".upper() for table in tables]
    return next((variable for variable in spelled if variable in there), spelled[0])
