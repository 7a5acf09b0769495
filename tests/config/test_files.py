from pathlib import Path

import pytest

from codex_mcp.base.errors import BadSetting
from codex_mcp.config.files import IGNORED, layer_of
from codex_mcp.config.layers import RawTable, Sourced
from tests.support.settings import World, table


def test_a_wrong_value_in_a_file_names_the_file_and_the_line(world: World) -> None:
    home = table(world.home_file, "max_turns_waiting = -1")
    with pytest.raises(BadSetting) as caught:
        world.load()
    assert str(caught.value) == (
        f"cannot use max_turns_waiting = -1 from {home}:2: it must be a whole number from 0 to 10000"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x = 1\ny =\nz = 2", r"cannot read .*config\.toml: .*line 2.*; fix the file"),
        ("x = " + "[" * 5000, r"cannot read .*config\.toml: it is nested too deeply; fix the file"),
        ("plugins = 3", None),
        ("[plugins]\ncodex-mcp = 3", r"cannot use plugins\.codex-mcp from .*config\.toml:2: it must be a table"),
        ("[other]\nx = 1", None),
    ],
)
def test_a_file_that_is_broken_is_an_error_and_one_that_is_not_about_us_is_none(
    world: World, content: str, sentence: str | None
) -> None:
    world.home_file.write_text(content)
    if sentence is None:
        assert world.load().settings == world.defaults()
    else:
        with pytest.raises(BadSetting, match=sentence):
            world.load()


def test_a_file_that_cannot_be_read_is_an_error(world: World) -> None:
    world.home_file.mkdir()
    with pytest.raises(BadSetting, match=r"cannot read .*config\.toml: Is a directory"):
        world.load()


def test_a_name_that_we_do_not_know_is_a_warning(world: World) -> None:
    home = table(world.home_file, 'evnts = "none"')
    assert tuple(map(str, world.load().warnings)) == (
        f"{home}:2 sets evnts, which is not a setting of this version and is ignored; did you mean events?",
    )


def test_a_dashed_name_in_a_file_is_the_same_setting(world: World) -> None:
    table(world.home_file, 'max-message-bytes = "1MiB"')
    assert world.load().settings.core.max_message_bytes == 1024 * 1024


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert layer_of(str(tmp_path / "nosuch"), "home") is None


def test_a_file_that_is_not_utf8_is_an_error_with_its_line(world: World) -> None:
    world.home_file.write_bytes(b"x = 1\ny = '\xff'")
    with pytest.raises(BadSetting, match=r"cannot read .*config\.toml:2: it is not UTF-8"):
        world.load()


def test_the_settings_of_the_server_before_us_count_by_their_names_and_ours_win(world: World) -> None:
    world.home_file.write_text(
        """[plugins.codex-mcp]
model = "ours"

[plugins.atm-agent-mcp]
model = "theirs"
identity = "me"
request_timeout_secs = 300
max_concurrent_threads = 3
auto_mail = false
mail_poll_interval_ms = 5000
"""
    )
    loaded = world.load()
    assert loaded.warnings == ()
    assert {name: loaded.sources[name] for name in ("model", "default_identity", "turn_timeout", "auto_mail")} == {
        "model": Sourced("ours", f"{world.home_file}:2"),
        "default_identity": Sourced("me", f"{world.home_file}:6"),
        "turn_timeout": Sourced(300.0, f"{world.home_file}:7"),
        "auto_mail": Sourced(value=False, source=f"{world.home_file}:9"),
    }
    assert loaded.settings.team.max_concurrent_threads == 3


def test_one_wrong_value_does_not_silently_drop_its_whole_table(world: World) -> None:
    world.home_file.write_text('[plugins.atm-agent-mcp]\nmodel = "x"\nrequest_timeout_secs = "soon"\n')
    with pytest.raises(BadSetting, match=r"cannot use turn_timeout = 'soon' from .*config\.toml:3: it must be"):
        world.load()


def test_a_setting_by_its_own_name_wins_over_its_old_one(world: World) -> None:
    table(world.home_file, 'default_identity = "new"\nidentity = "old"')
    assert world.load().settings.team.default_identity == "new"


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_what_means_nothing_here_is_said(world: World, name: str) -> None:
    table(world.home_file, f"{name} = 1")
    (warning,) = world.load().warnings
    assert f"sets {name}, which has no effect here: {IGNORED[name]}" in str(warning)


def test_the_poll_interval_of_the_server_before_us_counts(world: World) -> None:
    world.home_file.write_text("[plugins.atm-agent-mcp]\nmail_poll_interval_ms = 250\n")
    assert world.load().settings.team.mail_poll_interval_ms == 250


def test_a_repository_without_a_core_table_leaves_the_team_as_it_was(world: World) -> None:
    world.home_file.write_text('[core]\ndefault_team = "backend"\nidentity = "human"\n')
    table(world.repo_file, 'events = "none"')
    loaded = world.load()
    assert loaded.sources["team"] == Sourced("backend", f"{world.home_file}:2")
    assert loaded.settings.team.default_identity == "codex"
    world.repo_file.write_text('[core]\ndefault_team = "frontend"\n[plugins.codex-mcp]\n')
    assert world.load().settings.team.team == "frontend"
    table(world.repo_file, 'team = "third"')
    assert world.load().settings.team.team == "third"
    assert world.load(ATM_TEAM="fourth").settings.team.team == "fourth"
    assert world.load("--team", "fifth", ATM_TEAM="fourth").settings.team.team == "fifth"


def test_roles_are_found_in_both_tables_and_ours_win(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        """[plugins.atm-agent-mcp.roles.reviewer]
model = "theirs"
[plugins.atm-agent-mcp.roles.other]
[plugins.codex-mcp.roles.reviewer]
model = "ours"
"""
    )
    found = layer_of(str(file), "home")
    assert found is not None
    assert found[0].roles == {
        "reviewer": RawTable({"model": "ours"}, f"{file}:4", {"model": f"{file}:5"}),
        "other": RawTable({}, f"{file}:3"),
    }
    assert found[1] == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[plugins.codex-mcp.roles.r]\nmodel = "m"\n\nsandbox = "none"\n', 4),
        ('[plugins.codex-mcp.roles]\nr.model = "m"\nr.sandbox = "none"\n', 3),
        ('[plugins.codex-mcp.roles]\n\nr = { model = "m", sandbox = "none" }\n', 3),
    ],
)
def test_what_is_wrong_in_a_role_is_said_with_the_line_of_its_key(world: World, text: str, line: int) -> None:
    world.home_file.parent.mkdir(parents=True, exist_ok=True)
    world.home_file.write_text(text)
    with pytest.raises(BadSetting, match=f"sandbox = 'none' of the role r in {world.home_file}:{line}: it must be"):
        world.load()


@pytest.mark.parametrize("lines", ["roles = 3", "[plugins.codex-mcp.roles]\nreviewer = 3"])
def test_a_role_that_is_no_table_is_an_error(world: World, lines: str) -> None:
    table(world.home_file, lines)
    with pytest.raises(BadSetting, match=r"cannot use plugins\.codex-mcp\.roles.* from .*: it must be a table"):
        world.load()


def test_the_limits_of_mail_are_read_by_their_old_names(world: World) -> None:
    world.home_file.write_text("[plugins.atm-agent-mcp]\nmax_mail_messages = 3\nmax_mail_message_length = 99\n")
    team = world.load().settings.team
    assert (team.max_messages, team.max_message_length) == (3, 99)
