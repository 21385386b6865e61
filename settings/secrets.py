"""Which values are secret besides those that the settings know as such."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SecretSettings(BaseModel):
    """Variables of the environment whose values are never shown, stored or sent to a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    env: tuple[str, ...] = ()
    """Names of variables of the environment whose values are hidden."""
