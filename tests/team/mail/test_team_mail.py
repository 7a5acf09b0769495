"""Mail in the name of an agent, on files, without a server around it."""

import asyncio
import os
from pathlib import Path

import pytest

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.mail.store_types import Outgoing, UnknownRecipient
from codex_mcp.team.mail.team_mail import address_for
from tests.support.team.local_team import local_team


async def test_agents_write_to_each_other_before_they_have_an_inbox(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch, dev = await team.start("arch"), await team.start("dev")
        mail = team.team.mail
        had_folder = mail.has_folder
        assert await mail.pending(dev) == 0
        await asyncio.gather(*(mail.send(arch, "dev", Outgoing(text=f"number {n}")) for n in range(3)))
        assert (had_folder, mail.has_folder) == (False, True)
        reading = await mail.unread(dev, 2)
        assert (len(reading.messages), reading.remaining, await mail.pending(dev)) == (2, 1, 3)
        await mail.mark(dev, reading)
        assert await mail.pending(dev) == 1
        assert {each.sender for each in reading.messages} == {"arch"}


async def test_a_stranger_and_an_agent_of_another_principal_without_an_inbox_are_not_known(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch = await team.start("arch")
        await team.start("other", principal="other")
        for to in ("stranger", "other", "arch@elsewhere"):
            with pytest.raises(UnknownRecipient):
                await team.team.mail.send(arch, to, Outgoing(text="x"))
        with pytest.raises(Refused, match="half of a surrogate pair"):
            await team.team.mail.send(arch, "arch", Outgoing(text="\ud800"))
        assert await team.team.mail.broadcast(arch, Outgoing(text="x")) == []


async def test_status_says_when_the_mail_cannot_be_counted(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch = await team.start("arch")
        os.makedirs(team.team.mail.files.layout.inbox(address_for(arch)))
        with pytest.raises(Explained):
            await team.team.mail.pending(arch)
        assert (await team.team.status("local"))["pending_mail"] is None
