"""A server is killed (SIGKILL) at every step of a delivery; the next one goes on, with the real core."""

import asyncio
import contextlib
import sqlite3
import sys
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.database import NAME
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.mail.dying import EXCHANGE
from tests.support.mail.folders import until
from tests.support.mail.scenes import let_locks_age
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import SOURCES, Setup
from tests.support.team.dying_server import DEADLY, STEPS
from tests.support.team.mailboxes import envelopes, inbox, put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say

EXPECTED = {
    "INSERT OR REPLACE INTO": 3,  # offered, started, read
    "COMMIT": 3,
    "to core: turn/start": 1,
    "from core: turn/started": 1,
    "from core: turn/completed": 1,
    "mkdir": 1,
    "write": 1,
    "fsync": 2,
    "unlink": 1,
    EXCHANGE: 1,
    "rmdir": 1,
}
"""What a delivery takes at least."""


class DyingSetup(Setup):
    """A server that dies at the step that a file tells it."""

    def argv(self) -> list[str]:
        overrides = [word for override in self.overrides for word in ("-c", override)]
        return [sys.executable, "-m", "tests.support.team.dying_server", self.command, *overrides, *self.flags]


def letter(number: int) -> str:
    return f"letter {number}"


def setup_for(folder: Path, model: ScriptedModel) -> DyingSetup:
    environment = {DEADLY: str(folder / "deadly"), STEPS: str(folder / "steps")}
    environment["PYTHONPATH"] = f"{SOURCES}:{SOURCES.parent}"
    return DyingSetup(folder, [*model.codex_overrides()], (), environment, "serve")


def is_read(server: TeamServer, ids: set[str]) -> bool:
    """Whether this mail is read, in the inbox and in the ledger."""
    if not ids or unread(server, "dev") != []:
        return not ids
    with contextlib.closing(sqlite3.connect(server.state_dir / NAME)) as ledger:
        return ids <= {row[0] for row in ledger.execute("SELECT id FROM delivery WHERE stage = 'read'")}


async def until_settled(server: TeamServer) -> None:
    """Until all that is unread now is read, and the agent is idle."""
    ids = {each["msg_id"] for each in inbox(server, "dev") if not each["read"]}
    async with asyncio.timeout(PATIENCE):
        await until(lambda: is_read(server, ids))
        while {each["state"] for each in (await server.threads()).values()} != {"idle"}:
            pass


async def has_died(server: TeamServer, step: int) -> bool:
    """Give dev a message, and let the server die at this step; False if it came to the end of the delivery before."""
    deadly = server.setup.folder / "deadly"
    deadly.write_text(str(step))
    put(server, "dev", record(letter(step), step))
    tasks = TaskSet()
    settled = tasks.spawn(until_settled(server), name="settled")
    died = tasks.spawn(server.process.wait(), name="died")
    await asyncio.wait({settled, died}, return_when=asyncio.FIRST_COMPLETED)
    has_settled = settled.done() and settled.exception() is None
    await tasks.aclose()
    if not has_settled:
        await server.exit_code()
    deadly.unlink()
    return not has_settled


def let_an_hour_pass(server: TeamServer) -> None:
    """For loop protection, which counts what all these servers have delivered."""
    # A server that died early has not made the table.
    opened = contextlib.closing(sqlite3.connect(server.state_dir / NAME, isolation_level=None))
    with opened as mail, contextlib.suppress(sqlite3.OperationalError):
        mail.execute("DELETE FROM traffic")


@pytest.mark.timeout(600)  # it starts 35 servers
@requirement("FR-8.13")
async def test_no_mail_is_lost_and_each_redelivery_says_so_wherever_the_server_dies(tmp_path: Path) -> None:
    step, goes_on = 0, True
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        while goes_on:
            step += 1
            async with TeamServer(setup_for(tmp_path, model)) as server:
                await server.initialize()
                if step == 1:
                    put(server, "lead")
                    await server.start(say("one"), identity="dev")
                else:
                    await server.reply("dev", say("back"))
                await until_settled(server)
                goes_on = await has_died(server, step)
            let_locks_age(tmp_path)
            let_an_hour_pass(server)
        assert unread(server, "dev") == []
    deliveries = envelopes(model)
    again = 0
    for text in map(letter, range(1, step + 1)):
        flags = [each["redelivered"] for mail in deliveries for each in mail if each["text"] == text]
        assert 1 <= len(flags) <= 2, f"{text} came {len(flags)} times"
        assert all(flags[1:]), f"{text} came again, and did not say so"
        again += len(flags) - 1
    assert again, "no crash came between a delivery and its record"
    assert len(flags) == 1
    steps = (tmp_path / "steps").read_text().splitlines()
    *_, last = steps_of_runs(steps, step)
    assert {name: last.count(name) for name in EXPECTED if last.count(name) < EXPECTED[name]} == {}


def steps_of_runs(steps: list[str], runs: int) -> list[list[str]]:
    """The steps of each run: the first had one, the second two, and so on; the last one had the rest."""
    return [steps[number * (number - 1) // 2 :][: number if number < runs else None] for number in range(1, runs + 1)]
