"""Environments: what a table may say, and where commands run. tests/config/test_environments.py reads files."""

import pytest

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.environments import Environment, environment_from, is_elsewhere, unknown
from codex_mcp.base.settings.kinds import Place
from tests.support.settings import make_settings

HERE = Place("/home/me/.config/atm", "/home/me")
PIN = "sha256:" + "0a" * 32
RELAYED = "relay+https://relay.test/build-1"
BOX = Environment("box", "ws://127.0.0.1:4512")


def read(table: dict[str, object], name: str = "box") -> Environment:
    return environment_from(table, name, HERE, lambda key: f"config.toml ({key or 'table'})")


def test_a_table_is_read_with_the_kinds_of_its_keys() -> None:
    assert read({"url": "ws://127.0.0.1:4512"}) == BOX
    whole = read({"url": RELAYED, "token-file": "~/token", "pin": PIN, "cwd": "/srv"}, "build-1")
    assert whole == Environment("build-1", RELAYED, "/home/me/token", PIN, "/srv")
    assert (whole.is_relayed, BOX.is_relayed) == (True, False)


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        ({"url": "ws://h:1"}, "local", "must not be local, exec-server, none"),
        ({"url": "ws://h:1"}, "a b", "1 to 64 letters"),
        ({"url": "ws://h:1", "urk": "x"}, "box", "cannot use urk of the environment box in config.toml"),
        ({"url": "ws://h:1", "urk": "x"}, "box", "did you mean url?"),
        ({"url": "ws://h:1", "something": "x"}, "box", "no such key; an environment has url"),
        ({"url": "ws://h:1", "cwd": "srv"}, "box", "an absolute path: it is a folder of the other machine"),
        ({"url": "ws://h:1", "token-file": "a", "token_file": "b"}, "box", "occurs twice, once with - and once with _"),
        ({"cwd": "/srv"}, "box", "it has no url"),
        ({"url": "ws://h:1", "pin": PIN}, "box", "cannot use pin of the environment box in config.toml"),
    ],
)
def test_what_is_wrong_is_named(table: dict[str, object], name: str, said: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read(table, name)
    assert said in str(refused.value)


def test_an_unknown_environment_is_told_with_those_there_are() -> None:
    assert str(unknown("bix", {"box": BOX})) == (
        "there is no environment 'bix' on this server; did you mean box? known: local, box"
    )
    assert str(unknown("somewhere", {})) == "there is no environment 'somewhere' on this server; known: local"


def test_this_machine_is_not_elsewhere() -> None:
    assert [is_elsewhere(each) for each in (None, "local", "box", "exec-server")] == [False, False, True, True]


@pytest.mark.parametrize(
    ("exec_server", "names", "default"),
    [
        (None, [], None),
        ("box", [], "box"),
        ("ws://127.0.0.1:1", ["exec-server"], "exec-server"),
    ],
)
def test_the_exec_server_is_a_place_of_its_own_or_a_name(
    exec_server: str | None, names: list[str], default: str | None
) -> None:
    values = {} if exec_server is None else {"exec_server": exec_server}
    core = make_settings(**values).core
    assert (list(core.environments), core.default_environment) == (names, default)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, None),
        ({"codex_version": "newest"}, None),
        ({"codex_version": "/opt/codex"}, "/opt/codex"),
        ({"codex_bin": "/old/codex"}, "/old/codex"),
    ],
)
def test_a_program_for_codex_is_named_by_either_setting(values: dict[str, str], named: str | None) -> None:
    assert make_settings(**values).core.named_codex == named
