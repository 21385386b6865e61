"""Where the page listens, who can reach it there, and whom it believes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
import uvicorn

from planwright.domain.errors import SetupError
from planwright.extras.web.serving import (
    behind_proxies,
    certificate_files,
    certified_host,
    check_doors,
    listen,
)
from planwright.settings.settings import Settings, load
from tests.extras.web.conftest import ADDRESS, BASE, HOST, TOKENS, MakeStage

HERE, OUTSIDE = "127.0.0.1", "203.0.113.7"
TOKEN = {"tokens": {"ada": {"sha256": "0" * 64}}}
NAMED = {**TOKEN, "hosts": ["agents.example.com"]}
FILES = {"certificate": "cert.pem", "key": "key.pem"}


def settings_with(folder: Path, **tables: Any) -> Settings:
    """Read settings with these tables."""
    return load(folder, **tables)


@pytest.mark.enable_socket
def test_it_listens_at_the_port_that_is_asked_for_or_at_one_that_is_free() -> None:
    with listen(HERE, None)[0] as first, listen(HERE, None)[0] as second:
        assert {first.getsockname()[0], second.getsockname()[0]} == {HERE}
        taken = first.getsockname()[1]
        assert second.getsockname()[1] != taken
        with pytest.raises(SetupError, match=f"port {taken} cannot be used"):
            listen(HERE, taken)


@pytest.mark.enable_socket
@pytest.mark.parametrize(("host", "other"), [(HERE, "::1"), ("::1", HERE)])
def test_nobody_else_answers_at_the_other_address_of_its_name(host: str, other: str) -> None:
    listener, holder = listen(host, None, by_name=True)
    family = socket.AF_INET6 if other == "::1" else socket.AF_INET
    with listener, holder, socket.socket(family) as neighbour:
        port = listener.getsockname()[1]
        with pytest.raises(ConnectionRefusedError):  # so that a browser goes on to the page
            socket.create_connection((other, port))
        neighbour.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            neighbour.bind((other, port))


@pytest.mark.enable_socket
def test_a_port_that_somebody_has_at_the_other_address_is_not_taken() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as neighbour:
        port = neighbour.getsockname()[1]
        with pytest.raises(SetupError, match=f"port {port} cannot be used") as refused:
            listen(HERE, port, by_name=True)
        assert refused.value.next_step == "choose another with --port"


@pytest.mark.parametrize(
    ("web", "server", "missing"),
    [
        ({"host": "0.0.0.0"}, {}, "nobody is known"),
        ({"host": "::"}, NAMED, "there is no TLS"),
        ({"host": OUTSIDE, **FILES}, TOKEN, "by no name"),
        ({"proxies": [HERE]}, {}, "nobody is known"),
        ({"host": "127.0.0.2"}, {}, "a browser does not find the page at 127.0.0.2"),
    ],
)
def test_from_elsewhere_it_takes_people_tls_and_a_name(
    tmp_path: Path, web: dict[str, Any], server: dict[str, Any], missing: str
) -> None:
    with pytest.raises(SetupError, match=missing):
        check_doors(settings_with(tmp_path, web=web, server=server))


@pytest.mark.parametrize(
    ("web", "server"),
    [
        ({}, {}),
        ({"host": "::1"}, {}),
        ({"host": "0.0.0.0", **FILES}, NAMED),
        ({"host": "0.0.0.0", "proxies": ["192.0.2.1"]}, NAMED),
    ],
)
def test_a_page_that_is_guarded_is_served(tmp_path: Path, web: dict[str, Any], server: Any) -> None:
    check_doors(settings_with(tmp_path, web=web, server=server))


@pytest.mark.parametrize(
    "web",
    [
        {"host": "localhost"},
        {"port": 0},
        {"certificate": "cert.pem"},
        {"key": "key.pem"},
        {"proxies": ["proxy.example.com"]},
    ],
)
def test_what_cannot_be_served_is_an_error_of_the_settings(tmp_path: Path, web: dict[str, Any]) -> None:
    with pytest.raises(SetupError):
        settings_with(tmp_path, web=web)


def test_a_certificate_names_the_host_of_this_machine(tmp_path: Path) -> None:
    assert certified_host(settings_with(tmp_path)) == ""
    assert certified_host(settings_with(tmp_path, web={"host": "::1", **FILES})) == "[::1]"
    assert certified_host(settings_with(tmp_path, web=FILES)) == HERE


def test_files_of_tls_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, web=FILES)
    with pytest.raises(SetupError, match="cannot be used"):
        certificate_files(settings)
    (tmp_path / "cert.pem").write_text("no certificate", "utf-8")
    (tmp_path / "key.pem").write_text("no key", "utf-8")
    with pytest.raises(SetupError, match="cannot be used"):
        certificate_files(settings)
    assert certificate_files(settings_with(tmp_path)) == (None, None)


@pytest.mark.enable_socket
async def test_over_tls_the_cookie_is_for_tls_alone(make_stage: MakeStage, tmp_path: Path) -> None:
    authority = trustme.CA()
    pair = authority.issue_cert(HERE)
    pair.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    pair.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate, key = certificate_files(settings_with(tmp_path, web=FILES))
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with listen(HERE, None)[0] as listener:
        config = uvicorn.Config(
            make_stage(more={"web": FILES}).app,
            log_config=None,
            lifespan="off",
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        base = f"https://{HERE}:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=base, verify=trust, trust_env=False) as client:
            token = {"token": TOKENS["ada"]}
            answer = await client.post("/sign-in", data=token, headers={"Origin": base})
            assert (await client.get("/approvals")).status_code == 200
        server.should_exit = True
        await serving
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-planwright-")
    assert {"Secure", "HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "max-age=" in answer.headers["strict-transport-security"]


async def test_behind_a_proxy_nobody_else_is_let_in(make_stage: MakeStage, tmp_path: Path) -> None:
    proxy = "192.0.2.1"
    stage = make_stage(more={"web": {"proxies": [proxy]}})
    app = behind_proxies(stage.app, stage.parts.settings.web)

    async def ask(sender: str, **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(sender, 1))
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers={"Host": HOST}) as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            token = {"token": TOKENS["ada"]}
            return await client.post("/sign-in", data=token, headers={"Origin": BASE, **named})

    forwarded = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "198.51.100.9"}
    assert (await ask("192.0.2.2", **forwarded)).status_code == 403
    assert (await ask(HERE, **forwarded)).status_code == 403
    assert (await ask(proxy)).status_code == 403  # without TLS, or it does not say
    assert (await ask(proxy, **{**forwarded, "X_Forwarded_Proto": "http"})).status_code == 403
    answer = await ask(proxy, **forwarded)
    assert (answer.status_code, "Secure" in answer.headers["set-cookie"]) == (303, True)
    (row,) = await stage.parts.sign_ins.newest("default", 5, 0)
    assert (row.address, row.person) == ("198.51.100.9", "ada")
