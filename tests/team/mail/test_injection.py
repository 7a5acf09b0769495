"""When mail begins a turn, and what becomes of it if it cannot."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.ledger import Ledger
from codex_mcp.mail.delivery.transitions import MailStep
from codex_mcp.mail.message import Outgoing
from codex_mcp.team.mail.team_mail import address_for
from codex_mcp.team.roster import Member
from tests.support.mail.folders import until
from tests.support.patience import PATIENCE
from tests.support.team.local_team import LocalTeam, local_team
from tests.support.team.scenes import heard

LEAD = Address("lead", "default")


async def write_to(team: LocalTeam, member: Member, text: str) -> None:
    """Send it a message from outside."""
    store = await team.team.mail.open_store()
    await store.send(LEAD, address_for(member.mailbox), Outgoing(text=text), allow_unknown=True)


async def is_read(team: LocalTeam, member: Member) -> None:
    """Wait until it has no unread mail."""
    async with asyncio.timeout(PATIENCE):
        while await team.team.mail.pending(member.mailbox):
            pass


async def test_an_agent_gets_its_mail_after_its_first_turn_and_then_when_it_comes(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch = await team.start("arch")
        await write_to(team, arch, "while you were away")
        await team.ask(arch, "hello")
        await is_read(team, arch)
        await write_to(team, arch, "while you are here")
        await is_read(team, arch)
        assert arch.thread is not None
        await arch.thread.until_idle()
        assert "while you are here" in heard(team.model)
        assert arch.agent.turns == 3


async def test_mail_of_a_paused_agent_stays_unread_and_does_not_count_as_delivered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with local_team(tmp_path, turns_per_hour=1) as team:
        arch = await team.start("arch")
        await write_to(team, arch, "no hurry")
        await team.ask(arch, "hello")
        await until(lambda: "mail of agent arch is not delivered now: Agent arch is paused" in caplog.text)
        assert await team.team.mail.pending(arch.mailbox) == 1
        (message,) = (await team.team.mail.unread(arch.mailbox, 1)).messages
        ledger = Ledger((await team.team.mail.open_store()).database)
        assert await ledger.record(address_for(arch.mailbox), [message.id], MailStep.WITHDRAW) == {message.id: None}


@pytest.mark.parametrize("to", ["arch", "everyone"])
async def test_the_first_mail_of_a_team_is_delivered_without_waiting_for_a_look(tmp_path: Path, to: str) -> None:
    """The team has no folder before, so there was nothing to watch."""
    async with local_team(tmp_path, mail_poll_interval_ms=3_600_000) as team:
        arch, mail = await team.start("arch"), team.team.mail
        await team.ask(arch, "hello")
        lead = await mail.mailbox("team-lead", "local", is_sender=True)
        first = Outgoing(text="the first mail")
        await (mail.broadcast(lead, first) if to == "everyone" else mail.send(lead, to, first))
        await is_read(team, arch)


async def test_an_agent_gets_an_inbox_once_its_team_has_a_folder_and_others_leave_it_as_it_is(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch, dev = await team.start("arch"), await team.start("dev", auto_mail=False)
        layout = team.team.mail.files.layout
        os.makedirs(os.path.dirname(layout.inboxes("default")))
        await team.ask(arch, "hello")
        await team.ask(dev, "hello")
        await until(lambda: os.path.exists(layout.inbox(address_for(arch.mailbox))))
        assert await team.team.mail.pending(arch.mailbox) == 0
        await write_to(team, arch, "a message")
        await team.team.mail.files.make_inbox(address_for(arch.mailbox))
        assert len((await team.team.mail.files.read(address_for(arch.mailbox))).messages) == 1
        assert [name for name in os.listdir(layout.inboxes("default")) if name.endswith(".json")] == ["arch.json"]


async def test_without_a_folder_or_without_an_agent_that_wants_mail_nothing_is_opened(tmp_path: Path) -> None:
    async with local_team(tmp_path, auto_mail=False) as team:
        os.makedirs(tmp_path / "teams/default/inboxes")
        arch = await team.start("arch")
        (tmp_path / "teams/default/inboxes/arch.json").write_text(json.dumps([{"from": "lead", "text": "x"}]))
        await team.ask(arch, "hello")
        assert await team.team.mail.pending(arch.mailbox) == 1
    assert not (tmp_path / "state/mail.db").exists()
