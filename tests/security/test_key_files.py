"""Files that hold keys, dot paths and what settings name are not read unless somebody lists them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planwright.capabilities.builtin import files, sql
from planwright.capabilities.builtin.databases import find
from planwright.capabilities.builtin.mail import drafts
from planwright.capabilities.builtin.mail.messages import check_attachments
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected, PlanwrightError
from planwright.graph.call_context import workspace_jail
from planwright.records.stores import Stores
from planwright.security.key_files import ReadableFiles
from planwright.settings.settings import load
from tests.capabilities.conftest import stores  # noqa: F401 - a fixture

MARK = "hunter2-hunter2"
PEM = f"-----BEGIN PRIVATE KEY-----\n{'QUJD' * 16}\n-----END PRIVATE KEY-----\n{MARK}"
SETTINGS = """
[web]
certificate = "tls/chain.txt"
key = "tls/web-key.txt"
[audit]
anchor = "audit/anchor.txt"
[mail]
ca_file = "mail-ca.txt"
[storage]
path = "state"
"""
KEY_FILES = """
.env .env.local .env.production .envrc .netrc .pgpass .npmrc .pypirc .git-credentials .my.cnf .htpasswd
.ssh/id_rsa .ssh/id_ed25519 .ssh/config .aws/credentials .aws/config .docker/config.json .kube/config
.config/gh/hosts.yml .config/gcloud/application_default_credentials.json .azure/accessTokens.json
.gnupg/secring.gpg .planwright/planwright.db .git/config .terraformrc .vault-token state/planwright.txt
tls/web-key.txt tls/chain.txt tls/key.pem tls/server.key certs/client.p12 certs/Client.PFX
home/passwords.kdbx deploy/service-account.json deploy/kubeconfig deploy/kubeconfig.yaml home/id_rsa
home/_netrc infra/prod.tfvars infra/terraform.tfstate config/secrets.yaml config/credentials.json
backup/prod.env audit/anchor.txt mail-ca.txt credentials.csv notes/plain.txt
""".split()
Read = Callable[[str, CallContext], object]


def _found(path: str, call: CallContext) -> object:
    name = Path(path).name
    found = files.search.function("hunter2", call, path=str(Path(path).parent))
    return [line.text for line in found.matches if Path(line.path).name == name]


def _all(path: str, call: CallContext) -> object:
    return [
        one.text
        for one in files.read_all.function(call, path=str(Path(path).parent)).files
        if one.path == path
    ]


def _attached(path: str, call: CallContext) -> object:
    check_attachments({"attachments": [path]}, call)
    return call.workspace.read_bytes(path)


WAYS: dict[str, Read] = {
    "read": lambda path, call: files.read.function(path, call),
    "bare name": lambda path, call: files.read.function(Path(path).name, call),
    "read_all": _all,
    "search": _found,
    "attachment": _attached,
    "beginning": lambda path, call: call.workspace.beginning(path, 400),
    "digest": lambda path, call: call.workspace.digest(path, 400),
    "other case": lambda path, call: call.workspace.read(f"./{path}"),
}


@pytest.fixture
def call(tmp_path: Path, stores: Stores) -> Callable[[str], CallContext]:  # noqa: F811
    """Make a call in a workspace with such files, under more settings."""

    def make(more: str = "") -> CallContext:
        (tmp_path / "planwright.toml").write_text(SETTINGS + more, "utf-8")
        for path in KEY_FILES:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(PEM if path == "notes/plain.txt" else MARK, "utf-8")
        settings = load(tmp_path)
        return CallContext(settings, workspace_jail(settings), stores.memories)

    return make


def given_away(call: CallContext, ways: dict[str, Read] = WAYS) -> list[str]:
    """List the files of which some way gives their content away."""
    away = []
    for path in KEY_FILES:
        for way, read in ways.items():
            try:
                content = str(read(path, call))
            except CapabilityRejected:
                continue
            if "hunter2" in content or "BEGIN" in content:
                away.append(f"{path} by {way}")
    return away


def test_no_file_that_holds_a_key_is_read_by_any_capability(call: Callable[[str], CallContext]) -> None:
    away = given_away(call(""), {way: read for way, read in WAYS.items() if way != "beginning"})
    away += [line for line in given_away(call("")) if "plain.txt" not in line]
    assert not away, f"{len({line.split()[0] for line in away})} of {len(KEY_FILES)} files are read: {away}"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".env.local", "what begins with a dot"),
        ("tls/web-key.txt", r"the setting web\.key names it"),
        ("tls/server.key", "a file of that name holds a key"),
        ("notes/plain.txt", "a private key is in it"),
        ("TLS/Server.KEY.", "a file of that name holds a key"),
    ],
)
def test_the_error_says_why_and_which_setting(
    call: Callable[[str], CallContext], path: str, why: str
) -> None:
    world = call("")
    with pytest.raises(CapabilityForbidden, match=rf"is not read: .*{why}") as refused:
        files.read.function(path, world)
    assert refused.value.next_step == f'list it in planwright.toml: [files] readable = ["{path}"]'


def test_what_no_setting_opens_says_so(call: Callable[[str], CallContext]) -> None:
    with pytest.raises(CapabilityForbidden, match="holds its keys") as refused:
        files.read.function(".env", call('[files]\nreadable = [".env"]\n'))
    assert refused.value.next_step.startswith("no setting lets it be read")


@pytest.mark.parametrize("path", [path for path in KEY_FILES if path != "notes/plain.txt"])
def test_it_is_refused_before_a_person_is_asked(call: Callable[[str], CallContext], path: str) -> None:
    world = call("")
    with pytest.raises(CapabilityForbidden):
        files.read.check({"path": path}, world)
    with pytest.raises(CapabilityForbidden):
        drafts.draft.check({"to": ["a@a.example"], "text": "x", "attachments": [path]}, world)


def test_what_is_listed_is_read_and_listed_but_what_belongs_to_the_program_never(
    call: Callable[[str], CallContext],
) -> None:
    listed = json.dumps([*KEY_FILES, ".aws/**"])
    world = call(f"[files]\nreadable = {listed}\n")
    ours = {".env", ".planwright/planwright.db", ".git/config", "state/planwright.txt"}
    ways = {"read": WAYS["read"], "attachment": WAYS["attachment"], "search": WAYS["search"]}
    away = given_away(world, ways)
    assert {line.partition(" by ")[0] for line in away} == set(KEY_FILES) - ours
    assert ".aws/credentials" in files.list_files.function(world, path=".aws").files
    assert ".env.local" in files.list_files.function(world).files


def test_names_are_listed_and_what_is_not_read_is_said(call: Callable[[str], CallContext]) -> None:
    world = call("")
    assert {"tls/key.pem", "deploy/kubeconfig"} <= set(files.list_files.function(world).files)
    assert not any(name.startswith(".") for name in files.list_files.function(world).files)
    found = files.search.function("hunter2", world)
    assert (found.matches, found.count) == ([], 0)
    assert any("tls/key.pem is not read" in why for why in found.unreadable)


def test_a_table_of_keys_is_not_queried(call: Callable[[str], CallContext]) -> None:
    with pytest.raises(CapabilityForbidden, match="holds keys"):
        find("credentials.csv", call(""))
    assert find("credentials.csv", call('[files]\nreadable = ["*.csv"]\n')).name == "credentials.csv"


def test_a_table_with_a_private_key_in_it_is_not_queried(
    call: Callable[[str], CallContext], tmp_path: Path
) -> None:
    (tmp_path / "hosts.csv").write_text(f'host,key\none,"{PEM}"\n', "utf-8")
    statement = "SELECT * FROM hosts"
    with pytest.raises(CapabilityForbidden, match="a private key is in it"):
        sql.query.function(statement, "hosts.csv", call(""))
    for listed in ('[files]\nreadable = ["hosts.csv"]', '[sources.databases]\n"hosts.csv" = "hosts.csv"'):
        assert MARK in str(sql.query.function(statement, "hosts.csv", call(listed)))


@pytest.mark.parametrize(
    "path", ["notes/a.md", "id_rsa.pub", "src/keys.md", "notes/monkey.txt", "secrets/plan.md"]
)
def test_other_files_are_read_as_ever(path: str) -> None:
    assert ReadableFiles().why_not(Path(path).parts) == ""


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        (".github/**", ".github/workflows/ci.yml", True),
        (".github/**", ".github", True),
        (".github/**", ".githubs/ci.yml", False),
        (".github/*", ".github/workflows/ci.yml", False),
        ("**/*.pem", "a/b/c.pem", True),
        ("**/*.pem", "c.pem", True),
        ("*.pem", "a/c.pem", False),
        ("**", ".ssh/id_rsa", True),
        ("c?rt.pem", "cert.pem", True),
        ("C[1].pem", "c[1].pem", True),
        ("C[1].pem", "c1.pem", False),
    ],
)
def test_a_star_stays_within_its_folder_and_two_do_not(pattern: str, path: str, fits: bool) -> None:
    assert ReadableFiles([pattern]).lists(Path(path).parts) is fits


@pytest.mark.parametrize("pattern", ["/etc/*", "~/.ssh/*", "", "a\\b"])
def test_a_pattern_that_leads_outside_is_refused_with_the_settings(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "planwright.toml").write_text(f"[files]\nreadable = ['{pattern}']\n", "utf-8")
    with pytest.raises(PlanwrightError, match="no path below the workspace"):
        load(tmp_path)
