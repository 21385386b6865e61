"""A capability of one's own: what the planner reads about it, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities import CallContext, CapabilityUnavailable, Guide, capability

SERVICE = os.environ.get("WEATHER_URL", "https://api.open-meteo.com")
Place = Literal["San Francisco", "Paris", "Nairobi"]
COORDINATES: dict[Place, tuple[float, float]] = {
    "San Francisco": (37.77, -122.42),
    "Paris": (48.86, 2.35),
    "Nairobi": (-1.29, 36.82),
}


class Weather(BaseModel):
    """The weather now. The planner may refer to each field: `{{steps.sf.output.celsius}}`."""

    place: str
    celsius: float
    wind_km_h: float
    measured_at: str


def hosts(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    """Say where a call goes, so that the policy and `egress.allow` can decide."""
    return [urlsplit(SERVICE).netloc]


@capability(
    "current_weather",
    mode="network",
    risk="None",  # it only reads
    effect="pure",
    hosts=hosts,
    trusted_result=True,  # numbers of a service that you trust, not text of strangers
    tags=("weather", "temperature", "wind"),
    guide=Guide(
        instructions="Reads the weather of one place now. For several places plan one step each: they run"
        " at once. Publish each under a context key such as `paris_weather`. It knows no forecast.",
        examples=("What is the weather in San Francisco?", "Is it warmer in Paris or in Nairobi?"),
        priority=20,
    ),
)
async def current_weather(
    place: Annotated[Place, Field(description="the city")], call: CallContext
) -> Weather:
    """Tell the current weather of a city."""
    latitude, longitude = COORDINATES[place]
    current = "temperature_2m,wind_speed_10m"
    query: dict[str, str | float] = {"latitude": latitude, "longitude": longitude, "current": current}
    try:
        async with call.http() as client:
            reply = await client.get(f"{SERVICE}/v1/forecast", params=query)
        now = reply.raise_for_status().json()["current"]
    except httpx.HTTPError as error:
        raise CapabilityUnavailable(f"no weather for now: {error}") from error
    return Weather(
        place=place,
        celsius=now["temperature_2m"],
        wind_km_h=now["wind_speed_10m"],
        measured_at=now["time"],
    )
