"""What a call says goes over the agent file, over the role, over the settings."""

import base64
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.kinds import ApprovalPolicy, Sandbox
from codex_mcp.mcp.schema.team_arguments import checked_start, way_of
from codex_mcp.mcp.schema.team_catalogue import CODEX
from codex_mcp.mcp.tools.team_orders import ordered
from codex_mcp.team.profile.roles import Role
from codex_mcp.team.starting import AgentOrder
from tests.support.settings import make_settings
from tests.support.team.team_server import say, team_server

ROLES = {
    "reviewer": Role(
        model="role-model",
        reasoning_effort="high",
        sandbox=Sandbox.READ_ONLY,
        approval_policy=ApprovalPolicy.NEVER,
        instructions="Look, do not touch.",
        identity="reviewer",
    )
}


def order(folder: Path, given: dict[str, object], **settings: Any) -> AgentOrder:
    arguments = checked_start(CODEX.read({"cwd": str(folder), **given}))
    return ordered(arguments, way_of(arguments), "local", make_settings(codex_home=str(folder), **settings), ROLES)


def test_without_a_role_the_settings_decide(tmp_path: Path) -> None:
    made = order(tmp_path, {"prompt": "p"}, model="m", sandbox=Sandbox.WORKSPACE_WRITE, reasoning_effort="low")
    spec = made.spec
    assert (spec.model, spec.sandbox, spec.config["model_reasoning_effort"]) == ("m", "workspace-write", "low")
    assert (made.prompt, made.default_identity, made.role, made.source) == ("p", "codex", None, None)


def test_a_role_goes_over_the_settings_and_the_call_over_the_role(tmp_path: Path) -> None:
    given: dict[str, object] = {"prompt": "p", "role": "reviewer", "developer-instructions": "Mine first."}
    spec = order(tmp_path, given, model="m").spec
    assert (spec.model, spec.sandbox, spec.approval_policy) == ("role-model", "read-only", "never")
    assert spec.developer_instructions == "Mine first.\n\nLook, do not touch."
    stronger = order(tmp_path, {**given, "model": "call-model", "sandbox": "workspace-write"}).spec
    assert (stronger.model, stronger.sandbox) == ("call-model", "workspace-write")
    assert order(tmp_path, {"prompt": "p"}, role="reviewer").default_identity == "reviewer"


def test_an_unknown_role_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"no role 'nobody' \(known: reviewer\)"):
        order(tmp_path, {"prompt": "p", "role": "nobody"})


def test_an_agent_file_is_the_prompt_and_knows_what_it_may_do(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nname: a\nmodel: some-model\ntools: Read, Grep\n---\nDo it.\n")
    made = order(tmp_path, {"agent_file": "a.md"})
    assert (made.prompt.strip(), made.spec.model, made.spec.sandbox) == ("Do it.", "some-model", "read-only")
    assert made.source == "a.md"
    with pytest.raises(Refused, match="gone"):
        order(tmp_path, {"agent_file": "gone.md"})


def test_files_of_instructions_are_read_for_every_start(tmp_path: Path) -> None:
    extra, base = tmp_path / "extra.md", tmp_path / "base.md"
    extra.write_text("House rules.")
    base.write_text("You are a bear.")
    settings = {"extra_instructions_file": str(extra), "base_prompt_file": str(base)}
    spec = order(tmp_path, {"prompt": "p"}, **settings).spec
    assert (spec.developer_instructions, spec.base_instructions) == ("House rules.", "You are a bear.")
    extra.unlink()
    with pytest.raises(Refused, match="cannot read the instructions"):
        order(tmp_path, {"prompt": "p"}, **settings)


def test_who_is_told_no_folder_works_at_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    arguments = checked_start(CODEX.read({"prompt": "p"}))
    made = ordered(arguments, way_of(arguments), "local", make_settings(codex_home=str(tmp_path)), ROLES)
    assert made.spec.cwd == str(tmp_path)


@pytest.mark.parametrize("given", [{"prompt": "p"}, {"agent_file": "a.md"}])
def test_who_is_told_no_folder_hears_that_the_servers_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, object]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    arguments = checked_start(CODEX.read(given))
    with pytest.raises(Refused, match="the server was started is gone"):
        ordered(arguments, way_of(arguments), "local", make_settings(codex_home=str(tmp_path)), ROLES)


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_an_image_is_looked_for_in_the_folder_of_the_agent_also_in_a_reply(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "pixel.png").write_bytes(PIXEL)
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("one"), cwd=str(folder), images=["pixel.png"])
        await server.reply(arch["codex_id"], say("two"), images=["pixel.png"])
        assert [request.body.count(b"input_image") for request in model.requests] == [1, 2]


async def test_warnings_about_the_call_come_before_the_events_of_its_turn(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        (server.setup.work / "agent.md").write_text(f"---\nmodel: opus\n---\n{say('hi')}")
        call = server.call("codex", {"agent_file": "agent.md"})
        await server.result(call)
        kinds = [each["params"]["msg"]["type"] for each in server.messages if each.get("method") == "codex/event"]
        assert kinds.index("warning") < kinds.index("task_started")
