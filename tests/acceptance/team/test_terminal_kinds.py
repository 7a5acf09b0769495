"""Questions of every kind, answered with `codex-mcp approvals`: the model's next request shows what was answered."""

import json
from pathlib import Path

import pytest
from msgspec import Struct

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.team.test_terminal_approvals import ASKS, approvals, listed
from tests.acceptance.test_approval_answers import INNER_SERVER
from tests.support.team.team_server import TeamServer, structured, team_server

SCRIPT = Path(__file__).parents[2] / "support/scripts/kinds.toml"
FEATURES = ("features.default_mode_request_user_input=true", "features.request_permissions_tool=true")
OVERRIDES = [*FEATURES, *INNER_SERVER]


class Case(Struct, frozen=True):
    """A scene, what it asks, the words that answer, and what the model is given with its next request."""

    scene: str
    answers: tuple[tuple[str, ...], ...]
    """Each a kind of question, and the words that answer it."""
    given: str
    said: tuple[str, ...] = ("approved",)
    """What the audit says of each."""


CASES = (
    Case("command", (("exec", "approved"),), "ran as it was"),
    Case("command", (("exec", "denied", "--reason", "not today"),), "Reason given: not today", ("denied",)),
    Case("typing", (("exec", "approved"), ("exec", "approved")), "got blue", ("approved", "approved")),
    Case("patch", (("patch", "approved_for_session"),), "A made.txt", ("approved_for_session",)),
    Case("permissions", (("permissions", "approved"),), '\\"enabled\\":true'),
    Case("choice", (("user_input", "--content", '{"colour": "blue"}'),), '\\"blue\\"'),
    Case("choice", (("user_input", "--content", '{"colour.other": "teal"}'),), "teal"),
    Case("tool", (("mcp", "approved"),), "echo: "),
    Case("form", (("mcp", "approved"), ("mcp", "--content", '{"city": "Bern"}')), "Bern", ("approved", "approved")),
)


def newest(model: ScriptedModel) -> str:
    """What the model was given last: the newest items of its newest request."""
    items = model.requests[-1].json["input"]
    assert isinstance(items, list)
    return json.dumps(items[-3:])


def decided(server: TeamServer) -> list[tuple[str, str, str]]:
    """The decisions in the audit."""
    entries = [entry for entry in server.audit() if entry["event"] == "approval"]
    return [(entry["what"], entry["by"], entry["via"]) for entry in entries]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.scene}-{case.answers[-1][-1]}")
async def test_an_answer_in_a_terminal_reaches_the_model(tmp_path: Path, case: Case) -> None:
    async with team_server(tmp_path, overrides=OVERRIDES, script=SCRIPT, elicitation=False) as (server, model):
        await server.start(f"[[scene: {case.scene}]]", identity="arch", **ASKS)
        for kind, *words in case.answers:
            (row,) = await listed(server)
            assert row["kind"] == kind
            code, _, error = await approvals(server, "answer", row["id"], *words)
            assert (code, error) == (0, "")
        (finished,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert finished["content"] == "Over."
        assert case.given in newest(model)
        assert decided(server) == [(what, "mira", "terminal") for what in case.said]


async def test_what_an_agent_asks_in_a_turn_that_mail_began_is_answered_in_a_terminal(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=SCRIPT) as (server, model):
        await server.start("hello", identity="arch", **ASKS)
        await server.start("hello", identity="dev")
        await server.run("atm_send", {"identity": "dev", "to": "arch", "message": "[[scene: command]]"})
        (row,) = await listed(server)
        assert (row["agent"], row["asked_of"]) == ("arch", [])
        assert (await approvals(server, "answer", row["id"], "approved"))[0] == 0
        await server.until(lambda: "ran as it was" in newest(model))
        assert decided(server) == [("approved", "mira", "terminal")]


async def test_what_a_named_session_asks_is_answered_in_a_terminal(tmp_path: Path) -> None:
    flags = ("--tools", "all")
    async with team_server(tmp_path, *flags, script=SCRIPT, elicitation=False) as (server, model):
        asked = structured(await server.run("codex", {"prompt": "[[scene: command]]", "sessionId": "s", **ASKS}))
        (row,) = await listed(server)
        assert ("agent" in row, row["thread"]) == (False, asked["threadId"])
        assert (await approvals(server, "answer", row["id"], "approved"))[0] == 0
        (finished,) = structured(await server.run("codex_wait", {"ids": [asked["threadId"]]}))["finished"]
        assert (finished["content"], "ran as it was" in newest(model)) == ("Over.", True)
        assert decided(server) == [("approved", "mira", "terminal")]
