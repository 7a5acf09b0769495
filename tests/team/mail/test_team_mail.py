"""Mail in the name of an agent, on files, without a server around it."""

import asyncio
import math
import os
from pathlib import Path

import pytest

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.store_types import UnknownRecipient
from codex_mcp.team.agent import Mailbox
from codex_mcp.team.mail.team_mail import address_for
from codex_mcp.team.records.pruning import prune_agent
from codex_mcp.team.refusals import TeamRefused
from tests.support.state.memory import World
from tests.support.team.local_team import local_team


async def test_agents_write_to_each_other_before_they_have_an_inbox(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch, dev = await team.start("arch"), await team.start("dev")
        mail = team.team.mail
        had_folder = mail.has_folder
        assert await mail.pending(dev.mailbox) == 0
        await asyncio.gather(*(mail.send(arch.mailbox, "dev", Outgoing(text=f"number {n}")) for n in range(3)))
        assert (had_folder, mail.has_folder) == (False, True)
        reading = await mail.unread(dev.mailbox, 2)
        assert (len(reading.messages), reading.remaining, await mail.pending(dev.mailbox)) == (2, 1, 3)
        await mail.mark(dev.mailbox, reading)
        assert await mail.pending(dev.mailbox) == 1
        assert {each.sender for each in reading.messages} == {"arch"}


async def test_a_stranger_and_an_agent_of_another_principal_without_an_inbox_are_not_known(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch = await team.start("arch")
        await team.start("other", principal="other")
        for to in ("stranger", "other", "arch@elsewhere"):
            with pytest.raises(UnknownRecipient):
                await team.team.mail.send(arch.mailbox, to, Outgoing(text="x"))
        with pytest.raises(Refused, match="half of a surrogate pair"):
            await team.team.mail.send(arch.mailbox, "arch", Outgoing(text="\ud800"))
        assert await team.team.mail.broadcast(arch.mailbox, Outgoing(text="x")) == []


async def test_names_and_mail_belong_to_a_principal_beyond_the_close(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world) as team:
        mail, _, dev = team.team.mail, await team.start("arch"), await team.start("dev")
        await mail.send(dev.mailbox, "arch", Outgoing(text="secret"))
        await team.team.closing.close("arch", "local")
        for is_sender in (False, True):
            with pytest.raises(TeamRefused, match="not a name of yours"):
                await mail.mailbox("arch", "other", is_sender=is_sender)
        with pytest.raises(TeamRefused, match="another user"):
            await team.start("arch", principal="other")
        assert (await mail.unread(await mail.mailbox("arch", "local", is_sender=False), 9)).messages[0].text == "secret"
    async with local_team(tmp_path, world) as team:
        with pytest.raises(TeamRefused, match="not a name of yours"):
            await team.team.mail.mailbox("arch", "other", is_sender=False)


async def test_a_default_name_of_another_principal_is_not_taken_when_its_agent_is_closed(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        await team.start()
        await team.team.closing.close("codex", "local")
        assert (await team.start(principal="other")).agent.identity == "codex-2"
        assert (await team.start()).agent.identity == "codex"


async def test_the_next_owner_of_a_released_name_does_not_see_the_mail_of_the_first(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        mail, arch, dev = team.team.mail, await team.start("arch"), await team.start("dev")
        await mail.send(dev.mailbox, "arch", Outgoing(text="secret"))
        await team.team.closing.close("arch", "local")
        assert await prune_agent(team.team.session.store, arch.agent, math.inf)
        taken = await team.start("arch", principal="other")
        assert await mail.pending(taken.mailbox) == 0
        await mail.send(dev.mailbox, "arch", Outgoing(text="new"))
        assert [each.text for each in (await mail.unread(taken.mailbox, 9)).messages] == ["new"]


async def test_a_mailbox_that_is_only_looked_for_makes_no_name_ones_own(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        mail = team.team.mail
        box = await mail.mailbox("arhc", "local", is_sender=False)
        assert (await mail.pending(box), await mail.mailbox("arhc", "other", is_sender=True)) == (
            0,
            Mailbox(identity="arhc", team="default", principal="other"),
        )


async def test_only_the_local_user_is_the_lead_that_a_configuration_names(tmp_path: Path) -> None:
    folder = tmp_path / "teams" / "default"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"leadAgentId": "boss@default", "members": [{"name": "boss"}]}')
    async with local_team(tmp_path) as team:
        with pytest.raises(TeamRefused, match="not a name of yours"):
            await team.team.mail.mailbox("boss", "other", is_sender=True)
        with pytest.raises(TeamRefused, match="another user"):
            await team.start("boss", principal="other")
        assert (await team.team.mail.mailbox("boss", "local", is_sender=True)).identity == "boss"
        assert (await team.start("boss")).agent.identity == "boss"


async def test_no_token_gives_the_name_of_the_person_at_this_machine(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        mail, store = team.team.mail, await team.team.mail.open_store()
        await team.start("arch")
        await store.send(
            Address("arch", "default"), Address("human", "default"), Outgoing(text="x"), allow_unknown=True
        )
        for is_sender in (False, True):
            with pytest.raises(TeamRefused, match="not a name of yours"):
                await mail.mailbox("human", "other", is_sender=is_sender)
        with pytest.raises(TeamRefused, match="another user"):
            await team.start("human", principal="other")
        assert await mail.pending(await mail.mailbox("human", "local", is_sender=False)) == 1


async def test_a_lead_with_a_name_of_its_own_gets_answers_once_it_has_written(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        mail, arch = team.team.mail, (await team.start("arch", principal="other")).mailbox
        await mail.mailbox("lead-b", "other", is_sender=False)
        with pytest.raises(UnknownRecipient, match="has no lead-b"):
            await mail.send(arch, "lead-b", Outgoing(text="Done."))
        lead = await mail.mailbox("lead-b", "other", is_sender=True)
        await mail.send(lead, "arch", Outgoing(text="Tell me."))
        await mail.send(arch, "lead-b", Outgoing(text="Done."))
        assert [each.text for each in (await mail.unread(lead, 9)).messages] == ["Done."]


async def test_an_unknown_recipient_is_refused_with_the_agents_that_have_no_inbox(tmp_path: Path) -> None:
    async with local_team(tmp_path, auto_mail=False) as team:
        arch, _ = await team.start("arch"), await team.start("dev")
        with pytest.raises(UnknownRecipient, match=r"the team has no dve; it has arch, dev, team-lead$"):
            await team.team.mail.send(arch.mailbox, "dve", Outgoing(text="x"))


async def test_status_says_when_the_mail_cannot_be_counted(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        arch = await team.start("arch")
        os.makedirs(team.team.mail.files.layout.inbox(address_for(arch.mailbox)))
        with pytest.raises(Explained):
            await team.team.mail.pending(arch.mailbox)
        assert (await team.team.status("local"))["pending_mail"] is None
