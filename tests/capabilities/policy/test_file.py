"""policy.toml: what is wrong with it is said at start, with file and line; its hash is that of its rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.check import check_policy, reached, unreachable
from planwright.capabilities.policy.file import DEFAULT, default_policy, load_policy, read_policy
from planwright.capabilities.registry import Registry, load_registry
from planwright.domain.errors import SetupError

LAST = '[[rule]]\ndecide = "ask"\n'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return load_registry(tmp_path_factory.mktemp("workspace"))


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        (1, "", "the last rule is no catch-all"),
        (1, "# nothing but a remark\n", "the last rule is no catch-all"),
        (1, '[[rule]]\nmatch.mode = "network"\ndecide = "deny"\n', "the last rule is no catch-all"),
        (1, '[[rule]]\nwhen = "true"\ndecide = "deny"\n', "the last rule is no catch-all"),
        (3, f'{LAST}[[rule]]\nmatch.tenant = "a"\ndecide = "ask"\n', "the last rule is no catch-all"),
        (2, f'[[rule]]\ndecide = "maybe"\n{LAST}', "`decide`: input should be 'allow', 'ask' or 'deny'"),
        (1, f'[[rule]]\nreason = "so"\n{LAST}', "`decide`: field required"),
        (3, f'[[rule]]\ndecide = "ask"\nmatchs = 1\n{LAST}', "a rule has no `matchs`"),
        (2, f'[[rule]]\nmatch = {{ capabilty = "x" }}\ndecide = "ask"\n{LAST}', "no `match.capabilty`"),
        (2, f'[[rule]]\nmatch.mode = "reading"\ndecide = "ask"\n{LAST}', "`match.mode`: input should be"),
        (3, f'[[rule]]\n[rule.match]\nrisk = "Grave"\n[[rule]]\n{LAST}', "`match.risk`: input should be"),
        (2, f'[[rule]]\nmatch.mode = []\ndecide = "ask"\n{LAST}', "value should have at least 1"),
        (2, f'[[rule]]\nmatch.capability = ""\ndecide = "ask"\n{LAST}', "at least 1 character"),
        (2, f'[[rule]]\nmatch = "files.*"\ndecide = "ask"\n{LAST}', "`match`: input should be"),
        (3, f'[[rule]]\ndecide = "deny"\nquorum = 2\n{LAST}', "nobody is asked where a rule says deny"),
        (3, f'[[rule]]\ndecide = "ask"\nquorum = 2\napprovers = "kim"\n{LAST}', "and 1 may"),
        (3, f'[[rule]]\ndecide = "ask"\nquorum = 0\n{LAST}', "`quorum`: input should be greater than or"),
        (3, f'[[rule]]\ndecide = "deny"\napprovers = "kim"\n{LAST}', "nobody is asked where a rule"),
        (3, f'[[rule]]\ndecide = "ask"\napprovers = [""]\n{LAST}', "at least 1 character"),
        (
            2,
            f'[[rule]]\nwhen = "args.to ="\ndecide = "ask"\n{LAST}',
            "that is not CEL: it breaks at character 9: '='",
        ),
        (2, f'[[rule]]\nwhen = "arg.to == 1"\ndecide = "ask"\n{LAST}', "`when`: there is no `arg`"),
        (2, f'[[rule]]\nwhen = "args.to.endswith(\'a\')"\ndecide = "ask"\n{LAST}', "no function `endswith`"),
        (2, f'[[rule]]\nwhen = ""\ndecide = "ask"\n{LAST}', "should have at least 1 character"),
        (2, f'[[rule]]\nwhen = "{"!" * 2001}true"\ndecide = "ask"\n{LAST}', "at most 2000 characters"),
        (2, f'[[rule]]\nwhen = "{"(" * 900}true"\ndecide = "ask"\n{LAST}', "that is not CEL"),
        (3, f'[[rule]]\ndecide = "ask"\nwhen = """\n[[rule]]\n"""\n{LAST}', "`when`: there is no `rule`"),
        (2, '[[rule]]\ndecide = ask\n', "that is no TOML"),
        (1, '[[rule]\ndecide = "ask"\n', "that is no TOML"),
        (0, '[rule]\ndecide = "ask"\n', "a policy holds [[rule]] and [gates.…]"),
        (0, f'version = 1\n{LAST}', "a policy holds [[rule]] and [gates.…], not `version`"),
        (0, 'rule = ["ask"]\n', "input should be"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_be_followed_is_refused_with_file_and_line(
    tmp_path: Path, line: int, wrong: str, said: str
) -> None:
    path = written(tmp_path, wrong)
    with pytest.raises(SetupError) as refused:
        load_policy(tmp_path)
    assert refused.value.cause.startswith(f"{path}:{line}: " if line else f"{path}:"), refused.value
    assert said.lower() in refused.value.cause.lower()
    assert refused.value.next_step


@pytest.mark.parametrize(
    ("capability", "said", "hint"),
    [
        ("files.wriet", "there is no capability 'files.wriet'", "files.write"),
        ("zzq.*", "there is no capability 'zzq.*'", "planwright capabilities"),
        ("respond", "respond is no matter of policy", "always has"),
        ("shop.buy", "there is no capability 'shop.buy'", ""),
    ],
)
def test_a_rule_about_what_there_is_not_is_refused(
    tmp_path: Path, registry: Registry, capability: str, said: str, hint: str
) -> None:
    text = f'[[rule]]\nmatch.mode = "network"\ndecide = "deny"\n[[rule]]\nmatch.capability = "{capability}"\n'
    path = written(tmp_path, f'{text}decide = "deny"\n{LAST}')
    with pytest.raises(SetupError) as refused:
        check_policy(load_policy(tmp_path), registry)
    assert refused.value.cause == f"{path}:4: {said}"
    assert hint in refused.value.next_step


def test_a_rule_about_a_capability_that_a_setting_leaves_out_is_no_mistake(
    tmp_path: Path, registry: Registry
) -> None:
    written(tmp_path, f'[[rule]]\nmatch.capability = "shop.*"\ndecide = "deny"\n{LAST}')

    @capability("shop.buy")
    def buy() -> str:
        """Buy it."""
        return ""

    check_policy(load_policy(tmp_path), Registry([*registry, buy], ["shop.*"]))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="cannot be read as text"):
        load_policy(tmp_path)
    (tmp_path / "policy.toml").unlink()
    (tmp_path / "policy.toml").mkdir()
    with pytest.raises(SetupError, match="cannot be read as text"):
        load_policy(tmp_path)


def test_a_workspace_without_one_has_the_policy_that_is_shipped(tmp_path: Path, registry: Registry) -> None:
    policy = load_policy(tmp_path)
    assert policy is default_policy()
    assert policy.path == DEFAULT
    check_policy(policy, registry)
    assert unreachable(policy, registry) == {}


RULES = """
[[rule]]
match = { capability = "mail.*", tenant = "acme" }
when = 'args.to == "a"'
decide = "deny"
reason = "no"
[[rule]]
decide = "ask"
"""


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("", ""), True),
        (("[[rule]]", "# a remark\n\n[[rule]]"), True),
        (('capability = "mail.*", tenant = "acme"', 'tenant = ["acme"], capability = ["mail.*"]'), True),
        (('"mail.*"', '"mail.s*"'), False),
        (('"acme"', '"acma"'), False),
        (('== "a"', '!= "a"'), False),
        (('"deny"', '"ask"'), False),
        (('"no"', '"never"'), False),
        (('decide = "ask"', 'decide = "deny"'), False),
        (('reason = "no"', 'reason = "no"\n[[rule]]\ndecide = "allow"'), False),
    ],
    ids=str,
)  # fmt: skip
def test_the_version_is_that_of_what_the_rules_say(change: tuple[str, str], same: bool) -> None:
    here = Path("policy.toml")
    before, after = read_policy(RULES, here), read_policy(RULES.replace(*change), here)
    assert (before.hash == after.hash) is same


def test_rules_that_decide_nothing_are_found(registry: Registry) -> None:
    text = """
[[rule]]
match.capability = "files.*"
decide = "allow"
[[rule]]
match.capability = "files.write"
decide = "ask"
[[rule]]
match = { capability = "mail.*", mode = "destructive" }
decide = "ask"
[[rule]]
match.capability = ["tickets.*", "files.read"]
decide = "ask"
[[rule]]
match.capability = "tickets.create"
when = 'args.title == ""'
decide = "deny"
[[rule]]
match.capability = "channel.*"
decide = "deny"
[[rule]]
match.capability = "channel.post"
decide = "allow"
[[rule]]
match.capability = "channel.post"
when = 'args.text == ""'
decide = "deny"
[[rule]]
decide = "ask"
"""
    policy = read_policy(text, Path("policy.toml"))
    assert unreachable(policy, registry) == {
        "policy.toml:5": "policy.toml:2 decides before it",
        "policy.toml:8": "there is no such capability now",
        "policy.toml:21": "policy.toml:18 decides before it",
        "policy.toml:24": "policy.toml:18 decides before it",
    }
    assert reached(policy.rules[3], registry) == (
        "files.read",
        "tickets.close",
        "tickets.create",
        "tickets.list",
    )


def test_rules_about_some_tenants_hide_no_others(registry: Registry) -> None:
    text = """
[[rule]]
match = { capability = "files.*", tenant = "acme" }
decide = "allow"
[[rule]]
match.capability = "files.*"
decide = "deny"
[[rule]]
match = { capability = "files.*", tenant = "guest" }
decide = "ask"
[[rule]]
decide = "ask"
"""
    policy = read_policy(text, Path("policy.toml"))
    assert unreachable(policy, registry) == {
        "policy.toml:2": "policy.toml:5 decides before it",
        "policy.toml:8": "policy.toml:5 decides before it",
    }
