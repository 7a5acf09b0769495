"""Under Claude Code: agents are members of its session's team, get its mail, answer it, and do not get its tokens."""

import json
import signal
from pathlib import Path

from codex_mcp.base.processes.marks import environment
from tests.support.processes import processes_at
from tests.support.requirements import requirement
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import inbox, put, record
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.session_team import SESSION_TEAM, TOKEN, VARIABLES, SessionFolder, session_socket
from tests.support.team.team_server import TeamServer, refusal, say

__all__ = ["codex_flags", "team"]


FREE = {"sandbox": "danger-full-access", "approval-policy": "never"}


def folder_of(server: TeamServer) -> SessionFolder:
    return SessionFolder(server.setup.home / ".claude/teams")


@requirement("FR-7.3")
async def test_agents_are_members_until_they_are_closed_or_the_server_ends(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, _model):
        folder = folder_of(server)
        folder.make()
        before = folder.config.read_bytes()
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        await server.start(say("three"), identity="deaf", auto_mail=False)
        await server.until(lambda: folder.members() == ["team-lead", "alice", "arch", "dev"])
        await server.close_agent("arch")
        await server.until(lambda: folder.members() == ["team-lead", "alice", "dev"])
    assert folder.config.read_bytes() == before


async def test_the_team_may_appear_later_and_its_lead_is_answered(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, model):
        await server.start(say("one"), identity="dev")
        folder = folder_of(server)
        folder.make()
        await server.until(lambda: "dev" in folder.members())
        put(server, "dev", record("[[scene: answer]]", sender="team-lead"), team=SESSION_TEAM)
        await server.until(lambda: inbox(server, "team-lead", SESSION_TEAM) != [])
        (answer,) = inbox(server, "team-lead", SESSION_TEAM)
        assert (answer["from"], answer["text"]) == ("dev", "The parser is fine.")
        assert answer["metadata"]["atm"]["sourceTeam"] == SESSION_TEAM
        assert "[[scene: answer]]" in heard(model)
        await server.until(lambda: inbox(server, "dev", SESSION_TEAM)[0]["read"])
        assert not (folder.path.parent / "default").exists()


async def test_mail_among_agents_stays_in_their_own_team_and_a_broadcast_reaches_both_teams_once(team: Team) -> None:
    async with team("--auto-mail", "no", script=TEAM_SCRIPT, environment=VARIABLES) as (server, _model):
        folder = folder_of(server)
        folder.make()
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        await server.run("atm_send", {"identity": "arch", "to": "dev", "message": "for you"})
        await server.run("atm_broadcast", {"identity": "arch", "message": "for all"})
        assert [each["text"] for each in inbox(server, "dev")] == ["for you", "for all"]
        for name in ("team-lead", "alice"):
            assert [each["text"] for each in inbox(server, name, SESSION_TEAM)] == ["for all"]
        unknown = refusal(await server.run("atm_send", {"identity": "arch", "to": "stranger", "message": "x"}))
        assert "stranger" in unknown


async def test_mail_of_both_inboxes_is_counted_read_and_marked(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, model):
        folder = folder_of(server)
        folder.make()
        await server.start(gate(), identity="dev", background=True)
        await model.wait_for_gate("gate")
        await server.until(lambda: "dev" in folder.members())
        put(server, "dev", record("in our team", 1))
        put(server, "dev", record("of the session", 2), team=SESSION_TEAM)
        assert (await server.status())["pending_mail"] == 2
        read = await server.run("atm_read", {"identity": "dev"})
        assert {each["message"] for each in read["structuredContent"]["messages"]} == {"in our team", "of the session"}
        assert (await server.status())["pending_mail"] == 0
        model.release("gate")


async def test_a_teammate_of_claude_code_with_the_same_name_keeps_its_mail(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, model):
        folder = folder_of(server)
        folder.make()
        put(server, "alice", record("for the teammate"), team=SESSION_TEAM)
        await server.start(say("one"), identity="alice")
        await server.start(say("two"), identity="dev")
        await server.until(lambda: "dev" in folder.members())
        assert folder.members().count("alice") == 1
        before = len(model.requests)
        put(server, "dev", record("wake up"), team=SESSION_TEAM)
        await server.until(lambda: len(model.requests) > before)
        assert "wake up" in heard(model)
        assert not inbox(server, "alice", SESSION_TEAM)[0]["read"]
        assert "agent alice is not registered in team" in server.log


async def test_the_next_server_removes_what_a_killed_one_has_left(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, _model):
        folder = folder_of(server)
        folder.make()
        before = folder.config.read_bytes()
        await server.start(say("one"), identity="dev")
        await server.until(lambda: "dev" in folder.members())
        folder.add({"name": "human", "backendType": "external"})
        server.signal(signal.SIGKILL)
        await server.process.wait()
    assert folder.members() == ["team-lead", "alice", "dev", "human"]
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, _model):
        await server.start(say("two"), identity="arch")
        await server.until(lambda: folder.members() == ["team-lead", "alice", "human", "arch"])
    assert folder.members() == ["team-lead", "alice", "human"]
    assert json.loads(before)["members"] == json.loads(folder.config.read_bytes())["members"][:2]


async def test_a_lead_that_does_not_read_is_told_over_the_socket_and_the_token_is_in_no_log(
    team: Team, tmp_path: Path
) -> None:
    async with session_socket(tmp_path / "s") as socket:
        told = VARIABLES | {"CLAUDE_CODE_MESSAGING_SOCKET": str(socket.path)}
        async with team(script=TEAM_SCRIPT, environment=told) as (server, _model):
            folder = folder_of(server)
            folder.make()
            await server.start(say("one"), identity="dev")
            await server.until(lambda: "dev" in folder.members())
            sent = {"identity": "dev", "to": "team-lead", "message": "The parser\nis fine.", "summary": "a\nline"}
            message_id = (await server.run("atm_send", sent))["structuredContent"]["message_id"]
            await socket.until(lambda: bool(socket.said))
            ((auth, user),) = socket.said
            assert auth == {"type": "auth", "token": TOKEN}
            text = user["message"]["content"]
            assert text.startswith(f'Mail from dev: "a line" (message {message_id}).')
            assert str(folder.path / "inboxes/team-lead.json") in text
            assert inbox(server, "team-lead", SESSION_TEAM)[0]["text"] == "The parser\nis fine."
        assert TOKEN not in server.log
        assert TOKEN not in server.stderr


async def test_no_token_of_claude_code_reaches_an_agent_or_any_other_process(team: Team) -> None:
    async with team(script=TEAM_SCRIPT, environment=VARIABLES) as (server, _model):
        printed = await server.start('[[scene: run cmd="env"]]', identity="dev")
        assert f"HOME={server.setup.home}" in printed["content"]
        assert "CLAUDE_CODE_" not in printed["content"]
        assert TOKEN not in printed["content"]
        await server.start("[[scene: busy]]", identity="arch", background=True, **FREE)
        await server.until(lambda: (server.setup.work / "started").exists())
        children = [each for each in processes_at(server.setup.home) if each.pid != server.process.pid]
        assert {"app-server", "sleep 98765"} <= {
            word for each in children for word in ("app-server", "sleep 98765") if word in " ".join(each.argv)
        }
        for child in children:
            assert TOKEN.encode() not in environment(child.pid), child
            assert b"CLAUDE_CODE_" not in environment(child.pid), child
