"""What a call asks for, as the core is told."""

import os
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import LONGEST_IMAGE, ThreadSpec, TurnSpec
from codex_mcp.mcp.schema.arguments import CodexArguments
from codex_mcp.mcp.tools.specs import new_thread, new_turn
from tests.support.settings import make_settings


def settings(home: Path, **changed: object) -> Settings:
    return make_settings(codex_home=str(home), **changed)


def spec(home: Path, arguments: CodexArguments, **changed: object) -> ThreadSpec:
    return new_thread(arguments, settings(home, **changed)).spec


def test_what_a_call_leaves_out_is_left_to_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert spec(tmp_path, CodexArguments(prompt="hi")) == ThreadSpec(cwd=str(tmp_path))


def test_what_a_call_says_is_told(tmp_path: Path) -> None:
    arguments = CodexArguments(
        prompt="hi",
        model="gpt-5.5",
        cwd=str(tmp_path),
        approval_policy="never",
        sandbox="read-only",
        base_instructions="Be brief.",
        developer_instructions="Be kind.",
    )
    assert spec(tmp_path, arguments) == ThreadSpec(
        cwd=str(tmp_path),
        model="gpt-5.5",
        approval_policy="never",
        sandbox="read-only",
        base_instructions="Be brief.",
        developer_instructions="Be kind.",
    )


def test_settings_of_a_call_go_to_the_configuration(tmp_path: Path) -> None:
    arguments = CodexArguments(
        prompt="hi",
        cwd=str(tmp_path),
        config={"tools.web_search": True, "model_provider": None},
        compact_prompt="Shorter.",
        include_plan_tool=True,
    )
    config = spec(tmp_path, arguments).config
    assert config["tools.web_search"] is True
    assert config["model_provider"] == ""
    assert config["compact_prompt"] == "Shorter."


def test_a_profile_of_the_call_lies_below_its_own_settings_and_above_the_servers(tmp_path: Path) -> None:
    (tmp_path / "fast.config.toml").write_text('model_verbosity = "low"\nmodel_reasoning_effort = "low"\n')
    arguments = CodexArguments(
        prompt="hi", cwd=str(tmp_path), profile="fast", config={"model_reasoning_effort": "high"}
    )
    config = spec(tmp_path, arguments, overrides=("model_verbosity=high",)).config
    assert config["model_verbosity"] == "low"
    assert config["model_reasoning_effort"] == "high"


def test_the_servers_own_profile_lies_below_its_overrides(tmp_path: Path) -> None:
    (tmp_path / "fast.config.toml").write_text('model_verbosity = "low"\nmodel_reasoning_effort = "low"\n')
    arguments = CodexArguments(prompt="hi", cwd=str(tmp_path))
    config = spec(tmp_path, arguments, profile="fast", overrides=("model_verbosity=high",)).config
    assert config["model_verbosity"] == "high"
    assert config["model_reasoning_effort"] == "low"


def test_an_old_policy_comes_with_a_warning_where_it_is_an_approximation(tmp_path: Path) -> None:
    new = new_thread(CodexArguments(prompt="hi", cwd=str(tmp_path), approval_policy="on-failure"), settings(tmp_path))
    assert new.spec.approval_policy == "on-request"
    assert len(new.warnings) == 1


def test_a_relative_folder_is_the_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    assert spec(tmp_path, CodexArguments(prompt="hi", cwd="sub")).cwd == str(tmp_path / "sub")


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("a file")])
def test_a_folder_that_is_none_is_refused_with_a_sentence(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "gone")
    with pytest.raises(Refused, match=r"cwd `.*gone` is not a folder .*; make it first, or name another"):
        spec(tmp_path, CodexArguments(prompt="hi", cwd=str(tmp_path / "gone")))


def test_a_server_whose_own_folder_is_gone_needs_to_be_told_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for cwd in (None, "sub"):
        with pytest.raises(Refused, match=r"the server was started is gone; name a `cwd`"):
            spec(tmp_path, CodexArguments(prompt="hi", cwd=cwd))
    assert spec(tmp_path, CodexArguments(prompt="hi", cwd=str(tmp_path))).cwd == str(tmp_path)


def test_a_server_in_a_folder_that_codex_cannot_be_told_needs_to_be_told_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    monkeypatch.chdir(odd)
    with pytest.raises(Refused, match=r"the server's folder '.*\\udce9' is not in UTF-8; name another `cwd`"):
        spec(tmp_path, CodexArguments(prompt="hi"))
    assert spec(tmp_path, CodexArguments(prompt="hi", cwd=str(tmp_path))).cwd == str(tmp_path)


def test_a_profile_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        spec(tmp_path, CodexArguments(prompt="hi", cwd=str(tmp_path), profile="gone"))


@pytest.mark.parametrize(
    ("asked", "server", "events"),
    [(None, Events.NONE, Events.NONE), (Events.FULL, Events.STANDARD, Events.FULL), (None, Events.FULL, Events.FULL)],
)
def test_a_call_chooses_its_events_or_gets_the_servers(
    tmp_path: Path, asked: Events | None, server: Events, events: Events
) -> None:
    arguments = CodexArguments(prompt="hi", cwd=str(tmp_path), events=asked)
    assert spec(tmp_path, arguments, events=server).raw_events == (events is Events.FULL)


def test_a_turn_has_its_prompt_its_images_and_its_schema(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    arguments = CodexArguments(
        prompt="Look.",
        images=("a.png", str(tmp_path / "a.png"), "https://example.org/b.png", "data:image/png;base64,AA=="),
        output_schema={"type": "object"},
    )
    path = str(tmp_path / "a.png")
    assert new_turn(arguments, str(tmp_path)) == TurnSpec(
        prompt="Look.",
        images=(path, path, "https://example.org/b.png", "data:image/png;base64,AA=="),
        output_schema={"type": "object"},
    )


def test_an_image_of_any_length_is_not_passed_on(tmp_path: Path) -> None:
    with (tmp_path / "long.png").open("wb") as file:
        file.truncate(LONGEST_IMAGE + 1)
    os.mkfifo(tmp_path / "pipe.png")
    for name in ("long.png", "pipe.png"):
        with pytest.raises(Refused, match="cannot read the image"):
            new_turn(CodexArguments(prompt="Look.", images=(name,)), str(tmp_path))


@pytest.mark.parametrize("image", ["gone.png", "", "ftp://example.org/a.png", "."])
def test_an_image_that_is_no_file_is_refused_with_a_sentence(tmp_path: Path, image: str) -> None:
    with pytest.raises(Refused, match="cannot read the image"):
        new_turn(CodexArguments(prompt="Look.", images=(image,)), str(tmp_path))
