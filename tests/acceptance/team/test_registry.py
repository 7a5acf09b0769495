"""registry.json: every agent with all that is known of it, written when it changes, read by the next server."""

import json
import os
import signal
import stat

from tests.support.processes import all_ended
from tests.support.requirements import requirement
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import TeamServer, say

REQUIRED = {
    "codex_id",
    "thread_id",
    "identity",
    "team",
    "repo_root",
    "repo_name",
    "branch",
    "cwd",
    "started_at",
    "last_active",
    "status",
    "tag",
}


async def entry(server: TeamServer, codex_id: str, **expected: object) -> Json:
    """Its entry, once it says this."""
    found: Json = {}

    def is_so() -> bool:
        found.update(server.registry().get(codex_id, {}))
        return bool(found) and {key: found[key] for key in expected} == expected

    await server.until(is_so)
    return found


@requirement("FR-5.1", "FR-5.2", "FR-5.4")
async def test_an_agent_is_written_with_all_that_is_known_of_it(team: Team) -> None:
    async with team("--team", "red", script=TEAM_SCRIPT) as (server, _model):
        (server.setup.work / ".git/objects").mkdir(parents=True)
        (server.setup.work / ".git/HEAD").write_text("ref: refs/heads/main\n")
        arch = await server.start(say("one"), identity="arch", tag="first")
        written = await entry(server, arch["codex_id"], thread_state="idle")
        assert written.keys() >= REQUIRED
        assert (written["thread_id"], written["identity"], written["team"]) == (arch["threadId"], "arch", "red")
        assert written["repo_root"] == written["cwd"] == str(server.setup.work)
        assert (written["repo_name"], written["branch"], written["tag"]) == ("work", "main", "first")
        assert (written["turns"], written["tokens"] > 0, written["last_error"]) == (1, True, None)
        assert written["owner"]["pid"] == server.process.pid
        assert written["backend"] == "{backend} {version}".format(**(await server.status())["core"])
        assert stat.S_IMODE((server.state_dir / "registry.json").stat().st_mode) == 0o600


@requirement("FR-5.1", "FR-5.5")
async def test_it_is_written_at_every_change(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        call = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        (codex_id,) = await server.threads()
        started = await entry(server, codex_id, status="active", thread_state="busy", turns=1)
        model.release("gate")
        await server.result(call)
        answered = await entry(server, codex_id, thread_state="idle", turns=1)
        await server.run("codex-reply", {"prompt": "[[scene: fail]]", "identity": "arch"})
        failed = await entry(server, codex_id, thread_state="idle", turns=2)
        assert failed["last_error"]
        await server.close_agent("arch")
        closed = server.registry()[codex_id]
        assert (closed["status"], closed["thread_state"], closed["owner"]) == ("closed", "closed", None)
        times = [each["last_active"] for each in (started, answered, failed, closed)]
        assert times == sorted(times)


@requirement("FR-5.3", "NFR-2")
async def test_whoever_reads_it_while_it_changes_sees_a_whole_file_and_never_an_older_one(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        calls = [server.call("codex-reply", {"prompt": say("yes"), "identity": "arch"}) for _ in range(10)]
        calls += [server.call("codex", {"prompt": say("yes"), "background": True}) for _ in range(5)]
        revisions = [0]
        while not all(any(message.get("id") == call for message in server.messages) for call in calls):
            revisions.append(json.loads((server.state_dir / "registry.json").read_text())["revision"])
            await server.answer(server.request("ping"))
        assert revisions == sorted(revisions)
        assert list(server.state_dir.glob("registry.json?*")) == []


@requirement("FR-5.1", "FR-3.1")
async def test_three_agents_are_three_entries_and_the_next_server_lists_them(team: Team) -> None:
    names = ("arch", "dev", "test")
    async with team(script=TEAM_SCRIPT) as (server, _model):
        started = {name: await server.start(say(name), identity=name) for name in names}
        bindings = {name: agent["codex_id"] for name, agent in started.items()}
        assert (await server.status())["identities"] == bindings
        assert {each["identity"]: key for key, each in server.registry().items()} == bindings
    async with team(script=TEAM_SCRIPT) as (server, _model):
        listed = await server.threads()
        assert {each["identity"]: key for key, each in listed.items()} == bindings
        assert {(each["status"], each["state"]) for each in listed.values()} == {("closed", "closed")}
        again = await server.start(say("back"), codex_id=bindings["dev"])
        assert (again["identity"], again["threadId"]) == ("dev", started["dev"]["threadId"])


@requirement("FR-3.2")
async def test_agents_of_a_server_that_was_killed_are_stale_and_their_names_free(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        started = [await server.start(say(name), identity=name) for name in ("arch", "dev")]
        os.kill(server.process.pid, signal.SIGKILL)
        await server.exit_code()
        await all_ended(server.setup.home)
        shown = json.loads(command(server.setup.home, "threads", "--json").stdout)["threads"]
        assert {each["status"] for each in shown} == {"stale"}
    async with team(script=TEAM_SCRIPT) as (server, model):
        assert {each["status"] for each in (await server.threads()).values()} == {"stale"}
        assert {each["status"] for each in server.registry().values()} == {"stale"}
        new = await server.start(say("new"), identity="arch")
        assert new["codex_id"] != started[0]["codex_id"]
        # By its name, without a word about resuming: it is stale, not closed.
        assert (await server.reply("dev", say("back")))["codex_id"] == started[1]["codex_id"]
        assert say("dev") in heard(model)


@requirement("FR-5.3")
async def test_a_pipe_in_place_of_the_registry_is_set_aside_and_no_call_waits_for_it(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
    (server.state_dir / "registry.json").unlink()
    os.mkfifo(server.state_dir / "registry.json")
    assert "error" not in command(server.setup.home, "threads", "--json").stdout
    async with team(script=TEAM_SCRIPT) as (server, _model):
        os.mkfifo(server.state_dir / "pipe")
        assert (await server.start(say("two"), codex_id=arch["codex_id"]))["content"] == "two"
        (server.state_dir / "pipe").rename(server.state_dir / "registry.json")  # while the server runs
        await server.close_agent("arch")
        assert server.registry()[arch["codex_id"]]["status"] == "closed"


@requirement("FR-5.3", "NFR-4")
async def test_a_registry_of_version_1_is_shown_and_its_agents_can_be_resumed(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("the blue door"), identity="arch")
    written = server.registry()[arch["codex_id"]]
    for file in server.state_dir.glob("state.db*"):
        file.unlink()
    old_id = "codex:2f6e8a52-6d34-4c4d-9c57-0f5d3c1a7b11"
    session = {
        "agent_id": old_id,
        "agent_source": "prompt",
        **{key: written[key] for key in ("identity", "team", "thread_id", "cwd", "started_at", "last_active")},
        "repo_root": None,
        "repo_name": None,
        "branch": None,
        "tag": None,
        "status": "active",
        "thread_state": "idle",
    }
    (server.state_dir / "registry.json").write_text(json.dumps({"version": 1, "sessions": [session]}))
    shown = json.loads(command(server.setup.home, "threads", "--json").stdout)["threads"]
    assert [(each["codex_id"], each["status"]) for each in shown] == [(old_id, "stale")]
    async with team(script=TEAM_SCRIPT) as (server, model):
        assert [(key, each["status"]) for key, each in (await server.threads()).items()] == [(old_id, "stale")]
        back = await server.start(say("go on"), agent_id=old_id)
        assert (back["codex_id"], back["identity"], back["threadId"]) == (old_id, "arch", arch["threadId"])
        assert "the blue door" in heard(model)
        assert server.registry().keys() == {old_id}
