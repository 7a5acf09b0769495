"""Questions of every kind, answered from the page: the model's next request shows what was answered."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

from tests.acceptance.team.test_terminal_approvals import ASKS
from tests.acceptance.team.test_terminal_kinds import OVERRIDES, SCRIPT, decided, newest
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import structured, team_server


class Case(Struct, frozen=True):
    """A scene, the forms that are sent for its questions, and what the model is given with its next request."""

    scene: str
    forms: tuple[dict[str, str], ...]
    given: str
    words: str
    """What the page shows of the first question."""
    said: tuple[str, ...] = ("approved",)
    """What the audit says of each."""


YES = {"decision": "approved"}
CASES = (
    Case("command", (YES,), "ran as it was", "echo ran as it was"),
    Case("command", ({"decision": "denied", "reason": "not today"},), "Reason given: not today", "run", ("denied",)),
    Case("typing", (YES, YES), "got blue", "read -r word", ("approved", "approved")),
    Case("patch", ({"decision": "approved_for_session"},), "A made.txt", "made.txt", ("approved_for_session",)),
    Case("permissions", (YES,), '\\"enabled\\":true', "network access"),
    Case("choice", ({"answer.colour": "1"},), '\\"blue\\"', "Which colour?"),
    Case("choice", ({"answer.colour.other": "teal"},), "teal", "Something else"),
    Case("tool", (YES,), "echo: ", "inner"),
    Case("form", (YES, {"answer.city": "Bern"}), "Bern", "inner", ("approved", "approved")),
)


async def asked(visitor: Visitor, before: str = "") -> Json:
    """The open question that comes after this one."""
    async with asyncio.timeout(PATIENCE):
        while not (items := (await visitor.told("/ui/needs-you.json"))["items"]) or items[0]["key"] == before:
            pass
    item: Json = items[0]
    return item


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.scene}-{'-'.join(case.forms[-1].values())}")
async def test_an_answer_on_the_page_reaches_the_model(tmp_path: Path, case: Case) -> None:
    async with team_server(tmp_path, overrides=OVERRIDES, script=SCRIPT, elicitation=False) as (server, model):
        await server.start(f"[[scene: {case.scene}]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item: Json = {"key": ""}
            for number, form in enumerate(case.forms):
                item = await asked(mira, item["key"])
                assert number or case.words in await mira.page(item["href"])
                done = await mira.answer(item["href"], **form)
                assert done.status == 303, done.body
            (finished,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
            assert finished["content"] == "Over."
            assert case.given in newest(model)
            assert decided(server) == [(what, "mira", "page") for what in case.said]


async def test_what_a_named_session_asks_is_answered_from_the_page(tmp_path: Path) -> None:
    flags = ("--tools", "all")
    async with team_server(tmp_path, *flags, script=SCRIPT, elicitation=False) as (server, model):
        started = structured(await server.run("codex", {"prompt": "[[scene: command]]", "sessionId": "s", **ASKS}))
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = await asked(mira)
            assert (item["name"], item["text"]) == (f"thread {started['threadId']}", "echo ran as it was")
            assert "Also running" in await mira.page("/ui/fleet")
            assert (await mira.answer(item["href"], decision="approved")).status == 303
            await server.run("codex_wait", {"ids": [started["threadId"]]})
            assert "ran as it was" in newest(model)
