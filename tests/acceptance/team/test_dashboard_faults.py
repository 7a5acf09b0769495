"""The pages while servers are old, upgraded, suspended or without a disk; answers that come too late, or twice."""

import asyncio
import contextlib
import json
import resource
import signal
import sqlite3
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

from tests.acceptance.team.test_terminal_approvals import listed
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in
from tests.support.patience import PATIENCE
from tests.support.servers.control_socket import socket_of
from tests.support.servers.mcp_server import SOURCES, Json, Setup
from tests.support.state.quick_lease import quick_team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say, structured, team_server

ASKS: Json = {"sandbox": "read-only", "approval-policy": "on-request", "background": True}
ESCALATE = "[[scene: escalate]]"
ONE = "1 agent needs you."
NOBODY = "Nobody needs you."
UPGRADED = "import codex_mcp.wire.control as control\ncontrol.PROTOCOL += 1\n"
"""Run by a Python before anything else."""


@contextlib.asynccontextmanager
async def asking(folder: Path, *flags: str) -> AsyncIterator[tuple[TeamServer, Visitor, str]]:
    """A server whose agent asks, a person at its pages, and the page of the question."""
    async with (
        team_server(folder, *flags, script=TEAM_SCRIPT, elicitation=False) as (server, _model),
        own_pages(server.setup) as (_, link),
    ):
        await server.start(ESCALATE, identity="arch", **ASKS)
        mira = await signed_in(link)
        (item,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
        yield server, mira, item["href"]


async def sent(visitor: Visitor, href: str, hidden: dict[str, str], **fields: str) -> tuple[int, Json]:
    """The status of an answer to a question, and what is told of it."""
    path = href.replace("/needs-you/", "/questions/")
    done = await visitor.send(path, hidden | fields, accept="application/json")
    return done.status, json.loads(done.body)


async def row_of(visitor: Visitor, name: str) -> Json:
    """An agent in the fleet."""
    fleet = await visitor.told("/ui/fleet.json")
    (row,) = [row for section in fleet["sections"] for row in section["rows"] if row["name"] == name]
    found: Json = row
    return found


async def finished(server: TeamServer) -> str:
    (found,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
    return str(found["content"])


async def test_a_server_that_is_too_old_is_named_and_its_agents_are_read_from_the_records(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("All is said."), identity="arch")
        (await socket_of(server)).unlink()
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            (silent,) = (await mira.told("/ui/fleet.json"))["silent"]
            assert "cannot be controlled from here: it has no control socket" in silent["why"]
            row = await row_of(mira, "arch")
            assert row["is_live"] is False
            assert silent["why"] in unescape(await mira.page("/ui/health"))
            page = await mira.page(row["href"])
            assert "All is said." in page
            csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
            refused = await mira.send(f"{row['href']}/say", {"csrf": csrf, "text": "And?"})
            assert refused.status in (409, 503), refused
        assert (await server.reply("arch", say("It works all the same.")))["content"] == "It works all the same."


async def test_a_server_that_was_upgraded_is_named_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "upgraded").mkdir()
    (tmp_path / "upgraded/sitecustomize.py").write_text(UPGRADED)
    environment = {"PYTHONPATH": f"{tmp_path / 'upgraded'}:{SOURCES}"}
    async with team_server(tmp_path, script=TEAM_SCRIPT, environment=environment) as (server, _model):
        await server.start(say("All is said."), identity="arch")
        async with own_pages(Setup(tmp_path)) as (_, link):
            mira = await signed_in(link)
            (silent,) = (await mira.told("/ui/fleet.json"))["silent"]
            for words in ("protocol 2", "protocol 1", "upgrade"):
                assert words in silent["why"], silent
            assert (await row_of(mira, "arch"))["is_live"] is False


async def test_an_answer_counts_once_however_often_it_is_sent(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, mira, href):
        hidden = await mira.form(href)
        yes = {"decision": "approved", "key": "the same"}
        first, again = await sent(mira, href, hidden, **yes), await sent(mira, href, hidden, **yes)
        assert [(status, told["used"], told["at"]) for status, told in (first, again)] == 2 * [
            (200, True, first[1]["at"])
        ]
        late = await sent(mira, href, hidden, decision="denied", key="another")
        assert (late[0], late[1]["used"], late[1]["by"]) == (409, False, "mira")
        assert (await sent(mira, "/ui/needs-you/0/question-1", hidden, **yes))[0] == 404
        assert await finished(server) == "It ran."
        assert [entry["what"] for entry in server.audit() if entry["event"] == "approval"] == ["approved"]


async def test_an_answer_after_the_deadline_is_not_used_and_says_so(tmp_path: Path) -> None:
    async with (
        team_server(tmp_path, "--approval-timeout", "1", script=TEAM_SCRIPT, elicitation=False) as (server, _model),
        own_pages(server.setup) as (_, link),
    ):
        mira = await signed_in(link)
        await server.start(ESCALATE, identity="arch", **ASKS)
        async with asyncio.timeout(PATIENCE):
            while not (answered := (await mira.told("/ui/needs-you.json"))["answered"]):
                pass
        csrf = (await mira.page("/ui/fleet")).partition('name="csrf" value="')[2].partition('"')[0]
        hidden = {"csrf": csrf, "shown": "0" * 32, "key": "k"}
        status, told = await sent(mira, answered[0]["href"], hidden, decision="approved")
        assert (status, told["used"], told["state"]) == (410, False, "expired")
        assert await finished(server) == "It was refused."


async def test_a_server_without_a_valid_lease_decides_nothing_and_the_question_stays(tmp_path: Path) -> None:
    async with quick_team(tmp_path, ()) as (server, _model):
        call = server.call("codex", {"prompt": ESCALATE, "identity": "arch", **ASKS, "background": False})
        await server.question()
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            (asked,) = await listed(server)
            href = f"/ui/needs-you/{asked['id']}"
            hidden = await mira.form(href) | {"decision": "approved"}
            with contextlib.closing(sqlite3.connect(server.state_dir / "state.db", isolation_level=None)) as another:
                another.execute("BEGIN IMMEDIATE")  # so that the server cannot write
                await server.until(lambda: "was holding and is frozen" in server.log)
                status, told = await sent(mira, href, hidden)
                assert (status, told["used"]) == (422, False), told
                assert "does not hold its lease at the moment: nothing was decided" in told["sentence"]
                assert "data-answer" in await mira.page(href)
                another.execute("ROLLBACK")
            async with asyncio.timeout(PATIENCE):
                while (await sent(mira, href, hidden))[0] != 200:
                    pass
        assert structured(await server.result(call))["content"] == "It ran."


async def test_what_a_suspended_server_asked_has_ended_once_another_has_its_agents(tmp_path: Path) -> None:
    async with quick_team(tmp_path, ()) as (one, _), quick_team(tmp_path, ()) as (other, _model):
        await other.start(say("hello"), identity="dev")
        call = one.call("codex", {"prompt": ESCALATE, "identity": "arch", **ASKS, "background": False})
        await one.question()
        async with own_pages(one.setup) as (_, link):
            mira = await signed_in(link)
            (asked,) = await listed(one)
            href = f"/ui/needs-you/{asked['id']}"
            hidden = await mira.form(href) | {"decision": "approved"}
            one.signal(signal.SIGSTOP)
            try:
                await other.until(lambda: f"(process {one.process.pid} on" in other.log)
            finally:
                one.signal(signal.SIGCONT)
            await one.result(call)
            await mira.until("/ui/needs-you.json", NOBODY)
            status, told = await sent(mira, href, hidden)
            assert (status in (404, 409), told.get("used", False)) == (True, False), told
            async with asyncio.timeout(PATIENCE):
                while (await mira.told("/ui/fleet.json"))["silent"] or (await row_of(mira, "arch"))["group"] != "off":
                    pass


async def test_a_server_whose_disk_is_full_is_still_told_what_to_do(tmp_path: Path) -> None:
    """As the kernel shows it for files that may not grow. The pages themselves write no file."""
    async with asking(tmp_path) as (server, mira, href):
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, most))
        try:
            for page in ("fleet", "needs-you", "mail", "executors", "health", "audit"):
                await mira.page(f"/ui/{page}")
            status, told = await sent(mira, href, await mira.form(href), decision="approved")
            assert (status, told["used"]) in ((200, True), (422, False)), told
        finally:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        async with asyncio.timeout(PATIENCE):
            while not told["used"]:
                status, told = await sent(mira, href, await mira.form(href), decision="approved")
        assert await finished(server) == "It ran."
