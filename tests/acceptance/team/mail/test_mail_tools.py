"""The tools for team mail: for the client, which names one of its agents, and for every agent itself."""

import json
import signal

from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import inbox, inbox_path, put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, refusal, say, structured

__all__ = ["codex_flags", "team"]

QUIET = ("--auto-mail", "no")
"""Mail is delivered only when it is asked for."""

TOOLS = ["atm_send", "atm_read", "atm_broadcast", "atm_pending_count"]


def calls(tool: str, **arguments: object) -> str:
    """A prompt with which an agent calls a tool, and repeats what it was told."""
    quoted = json.dumps(arguments).replace("\\", "\\\\").replace('"', '\\"')
    return f'[[scene: call tool={tool} arguments="{quoted}"]]'


async def told(server: TeamServer, who: str, tool: str, **arguments: object) -> Json:
    """What an agent is told by a tool."""
    answer: Json = json.loads((await server.reply(who, calls(tool, **arguments)))["content"])
    return answer


@requirement("FR-4.1", "FR-8.7", "FR-15.1")
async def test_the_tools_are_listed(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        listed = (await server.result(server.request("tools/list")))["tools"]
        assert [tool["name"] for tool in listed if tool["name"].startswith("atm_")] == TOOLS
        assert all("identity" in tool["inputSchema"]["required"] for tool in listed if tool["name"] in TOOLS)


@requirement("FR-4.2")
async def test_a_sent_message_is_in_the_inbox_of_its_recipient(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        mail = {"identity": "arch", "to": "dev", "message": "The parser is broken.", "summary": "parser"}
        sent = structured(await server.run("atm_send", mail))
        (found,) = inbox(server, "dev")
        assert (found["from"], found["text"], found["summary"]) == ("arch", "The parser is broken.", "parser")
        assert (found["metadata"]["atm"]["messageId"], found["read"]) == (sent["message_id"], False)
        assert sent == {"identity": "arch", "to": "dev@default", "message_id": sent["message_id"]}
        put(server, "lead", team="other")
        await server.run("atm_send", {"identity": "arch", "to": "lead@other", "message": "Done."})
        (found,) = inbox(server, "lead", "other")
        assert (found["from"], found["metadata"]["atm"]["sourceTeam"]) == ("arch", "default")


async def test_a_recipient_that_is_not_known_is_refused_with_those_that_are(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        put(server, "lead")
        for to, words in (("nobody", "it has lead"), ("../up", "as the name of an agent"), ("a@b@c", "of a team")):
            assert words in refusal(await server.run("atm_send", {"identity": "arch", "to": to, "message": "x"}))
        (entry,) = [each for each in server.audit() if "nobody" in each.get("what", "")]
        assert (entry["event"], entry["outcome"], entry["identity"]) == ("atm_send", "refused", "arch")


@requirement("FR-4.3")
async def test_unread_messages_are_returned_with_their_sender_and_marked_unless_the_caller_wants_otherwise(
    team: Team,
) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        put(server, "arch", record("old", 1, read=True), record("first", 2), record("second", 3))
        peeked = structured(await server.run("atm_read", {"identity": "arch", "mark_read": False}))
        assert unread(server, "arch") == ["first", "second"]
        assert peeked["messages"][0] == {
            "from": "lead",
            "from_team": None,
            "message": "first",
            "timestamp": "2026-11-15T10:00:02.000Z",
            "message_id": "00000000-0000-4000-8000-000000000002",
        }
        read = structured(await server.run("atm_read", {"identity": "arch", "limit": 1}))
        assert ([each["message"] for each in read["messages"]], read["remaining"]) == (["first"], 1)
        assert unread(server, "arch") == ["second"]
        again = structured(await server.run("atm_read", {"identity": "arch", "message_id": _id(1)}))
        assert [each["message"] for each in again["messages"]] == ["old"]
        assert _id(9) in refusal(await server.run("atm_read", {"identity": "arch", "message_id": _id(9)}))


@requirement("FR-4.3")
async def test_a_reader_that_is_cancelled_leaves_the_messages_unread(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        put(server, "arch", record("first", 1))
        call = {"name": "atm_read", "arguments": {"identity": "arch"}}
        both = [
            {"jsonrpc": "2.0", "id": "unwanted", "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "unwanted"}},
        ]
        server.write(b"".join(json.dumps(each).encode() + b"\n" for each in both))  # one read of the server
        await server.until(lambda: "atm_read" in [each["event"] for each in server.audit()])
        counted = structured(await server.run("atm_pending_count", {"identity": "arch"}))
        assert (counted["pending"], unread(server, "arch")) == (1, ["first"])


@requirement("FR-4.4")
async def test_a_broadcast_reaches_everyone_else_and_says_what_became_of_each(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        for identity in ("arch", "dev", "qa"):
            await server.start(say("hello"), identity=identity)
        put(server, "lead")
        inbox_path(server, "qa").mkdir()  # cannot be written
        done = structured(await server.run("atm_broadcast", {"identity": "arch", "message": "Stop."}))
        outcome = {each["to"]: each["error"] for each in done["recipients"]}
        assert outcome.keys() == {"dev@default", "lead@default", "qa@default"}
        assert (outcome["dev@default"], outcome["lead@default"]) == (None, None)
        assert outcome["qa@default"]
        assert [[each["text"] for each in inbox(server, who)] for who in ("arch", "dev", "lead")] == [
            [],
            ["Stop."],
            ["Stop."],
        ]


@requirement("FR-10.2", "FR-8.7")
async def test_counting_leaves_messages_unread(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        assert (await server.status())["pending_mail"] == 0
        put(server, "arch", record("first", 1), record("second", 2))
        put(server, "dev", record("third", 3))
        put(server, "stranger", record("of no agent of ours", 4))
        counted = structured(await server.run("atm_pending_count", {"identity": "arch"}))
        assert counted == {"identity": "arch", "pending": 2}
        assert (await server.status())["pending_mail"] == 3
        assert unread(server, "arch") == ["first", "second"]


@requirement("FR-4.5")
async def test_the_client_must_say_as_whom_it_writes_and_reads(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        agent = await server.start(say("one"), identity="arch")
        for tool in TOOLS:
            given = {"atm_send": {"to": "arch", "message": "x"}, "atm_broadcast": {"message": "x"}}.get(tool, {})
            assert "missing field `identity`" in refusal(await server.run(tool, given))
            for stranger in ("", agent["codex_id"], "../arch"):
                assert "identity" in refusal(await server.run(tool, {**given, "identity": stranger}))
            assert [each["outcome"] for each in server.audit() if each["event"] == tool] == ["refused"] * 4
        assert inbox(server, "arch") == []


@requirement("FR-4.5", "FR-8.7")
async def test_the_lead_has_a_mailbox_before_any_agent_runs(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        put(server, "later", record("for an agent that is not started yet", 1))
        assert structured(await server.run("atm_pending_count", {"identity": "later"}))["pending"] == 1
        assert structured(await server.run("atm_pending_count", {"identity": "team-lead"}))["pending"] == 0
        await server.start(say("one"), identity="arch")
        await told(server, "arch", "atm_send", to="team-lead", message="It is done.")
        read = structured(await server.run("atm_read", {"identity": "team-lead"}))
        assert [(each["from"], each["message"]) for each in read["messages"]] == [("arch", "It is done.")]
        assert unread(server, "team-lead") == []
        sent = structured(await server.run("atm_send", {"identity": "team-lead", "to": "arch", "message": "Good."}))
        (found,) = inbox(server, "arch")
        assert (found["from"], found["metadata"]["atm"]["messageId"]) == ("team-lead", sent["message_id"])


@requirement("FR-4.3")
async def test_urgent_mail_is_listed_first_and_says_so(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        for text, urgent in (("later", False), ("now", True)):
            given = {"identity": "team-lead", "to": "arch", "message": text, "urgent": urgent}
            await server.run("atm_send", given)
        read = structured(await server.run("atm_read", {"identity": "arch"}))
        assert [(each["message"], each.get("urgent")) for each in read["messages"]] == [("now", True), ("later", None)]


@requirement("FR-8.7")
async def test_mail_of_a_closed_agent_is_still_its_principals(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="gone")
        await server.close_agent("gone")
        put(server, "gone", record("too late", 1))
        read = structured(await server.run("atm_read", {"identity": "gone"}))
        assert [each["message"] for each in read["messages"]] == ["too late"]


@requirement("NFR-3", "FR-4.6", "FR-9.1")
async def test_calls_are_audited_with_agent_recipient_and_message_and_secrets_are_masked(team: Team) -> None:
    secret = "sk-" + "proj-" + "x7Q" * 16
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        text = f"the key is {secret}, use it"
        await server.result(
            server.call("atm_send", {"identity": "arch", "to": "dev", "message": text}, request_id="send")
        )
        await server.run("atm_broadcast", {"identity": "arch", "message": text, "summary": "a key"})
        await server.run("atm_read", {"identity": "dev"})
        await server.run("atm_pending_count", {"identity": "dev"})
        assert (await told(server, "arch", "atm_send", to="dev", message=text))["to"] == "dev@default"
        found = [each for each in server.audit() if each["event"].startswith("atm_")]
        assert [(each["event"], each["identity"], each["outcome"]) for each in found] == [
            ("atm_send", "arch", "ok"),
            ("atm_broadcast", "arch", "ok"),
            ("atm_read", "dev", "ok"),
            ("atm_pending_count", "dev", "ok"),
            ("atm_send", "arch", "ok"),
        ]
        assert (found[0]["request_id"], found[0]["codex_id"]) == ("send", arch["codex_id"])
        assert found[0]["what"].startswith("to dev: the key is ")
        assert found[1]["what"] == "to all: a key"
        assert secret in inbox(server, "dev")[0]["text"]
    assert secret not in (server.state_dir / "audit.jsonl").read_text()
    assert secret not in server.log


@requirement("FR-2.4", "NFR-3", "FR-4.5")
async def test_an_agent_writes_and_reads_as_itself_and_cannot_choose_who_it_is(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, model):
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        offered = {tool["name"]: tool for tool in json.loads(model.requests[0].body)["tools"] if "name" in tool}
        assert set(TOOLS) <= offered.keys()
        assert not any("identity" in offered[tool]["parameters"]["properties"] for tool in TOOLS)
        sent = await told(server, "arch", "atm_send", to="dev", message="From me.")
        (found,) = inbox(server, "dev")
        assert (found["from"], found["metadata"]["atm"]["messageId"]) == ("arch", sent["message_id"])
        spoofed = await server.reply("arch", calls("atm_send", to="dev", message="x", identity="dev"))
        assert "unknown field `identity`" in spoofed["content"]
        assert await told(server, "dev", "atm_pending_count") == {"identity": "dev", "pending": 1}
        read = await told(server, "dev", "atm_read")
        assert [(each["from"], each["message"]) for each in read["messages"]] == [("arch", "From me.")]
        assert unread(server, "dev") == []
        done = await told(server, "dev", "atm_broadcast", message="To all.")
        assert [each["to"] for each in done["recipients"]] == ["arch@default"]
        assert (
            "the team has no nobody"
            in (await server.reply("dev", calls("atm_send", to="nobody", message="x")))["content"]
        )


async def test_an_agent_that_another_server_resumes_still_has_its_tools(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        server.signal(signal.SIGKILL)
        await server.exit_code()
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        assert await told(server, "arch", "atm_pending_count") == {"identity": "arch", "pending": 0}


async def test_without_a_team_folder_nothing_is_made_until_a_message_is_sent(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        await server.status()
        await server.run("atm_pending_count", {"identity": "arch"})
        assert structured(await server.run("atm_read", {"identity": "arch"}))["messages"] == []
        assert not (server.setup.home / ".claude").exists()
        assert not (server.state_dir / "mail.db").exists()
        await server.run("atm_send", {"identity": "arch", "to": "arch", "message": "to myself"})
        assert (server.state_dir / "mail.db").exists()


def _id(number: int) -> str:
    return str(record("", number)["msg_id"])
