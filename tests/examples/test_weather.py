"""The weather example: the plan of its README, over a weather service on this machine."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.examples.conftest import Example, ServedModel
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket
CELSIUS = {"37.77": 14.5, "48.86": 9.25, "-1.29": 24.0}


class OpenMeteo(BaseHTTPRequestHandler):
    """Answers as the service does."""

    def do_GET(self) -> None:
        """Send the temperature that belongs to a latitude."""
        (latitude,) = parse_qs(urlsplit(self.path).query)["latitude"]
        now = {"time": "2026-11-23T08:00", "temperature_2m": CELSIUS[latitude], "wind_speed_10m": 11.0}
        content = json.dumps({"current": now}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr clean."""


@contextmanager
def weather_service() -> Iterator[str]:
    """Serve the weather. Returns the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OpenMeteo) as service:
        threading.Thread(target=service.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{service.server_port}"
        service.shutdown()


def test_the_plan_of_the_readme_compares_two_places(
    example: Callable[[str], Example], model: Callable[..., ServedModel]
) -> None:
    weather = example("weather")
    (plan,) = re.findall(r"```json\n(.*?)```", (weather.folder / "README.md").read_text("utf-8"), re.DOTALL)
    served = model(says(plan), says("It is warmer in San Francisco."))
    with weather_service() as address:
        env = {**served.env, "WEATHER_URL": address}
        done = weather.desk.run("run", "Is it warmer in San Francisco or in Paris?", env=env)
    assert done.code == 0, done.printed
    assert done.stdout.strip() == "It is warmer in San Francisco."
    planning, answering = served.server.requests
    assert "Publish each under a context key" in str(planning.body["messages"])
    assert all(text in str(answering.body["messages"]) for text in ("14.5", "9.25"))


def test_one_call_needs_no_model(example: Callable[[str], Example]) -> None:
    with weather_service() as address:
        done = example("weather").desk.run(
            "call", "current_weather", "--place=Nairobi", "--json", env={"WEATHER_URL": address}
        )
    assert done.code == 0, done.printed
    assert "24.0" in done.stdout


def test_an_unknown_place_is_refused_before_the_call(example: Callable[[str], Example]) -> None:
    done = example("weather").desk.run("call", "current_weather", "--place=Atlantis")
    assert done.code == 2, done.printed
    assert "current_weather: place: " in done.stderr


def test_a_person_is_asked_about_a_host_that_is_not_listed(example: Callable[[str], Example]) -> None:
    weather = example("weather")
    settings = (weather.folder / "planwright.toml").read_text("utf-8")
    weather.desk.settings(settings.replace('"api.open-meteo.com", ', ""))
    done = weather.desk.run("call", "current_weather", "--place=Nairobi")
    assert done.code == 3, done.printed
    assert "current_weather · network · no risk · gate included" in done.stderr
