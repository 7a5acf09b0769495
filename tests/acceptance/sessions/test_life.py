"""Sessions outlive servers: restarts, kills, lost threads, damaged files, and other servers on the same CODEX_HOME."""

import contextlib
import signal
import sqlite3
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.sessions.store import DATABASE
from tests.support.core.told import last, newest_prompt
from tests.support.damage import DAMAGES, damage
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import TOUR, McpServer, Setup
from tests.support.sessions.scene import asked, error, said, session_server, sessions, texts
from tests.support.team.own_turns import OWN_TURNS, requests_of


def setup_for(folder: Path, model: ScriptedModel, *flags: str) -> Setup:
    return Setup(folder, model.codex_overrides(), ["--tools", "sessions", *flags])


async def test_a_session_is_there_after_a_restart_with_its_model_and_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)
        async with McpServer(setup) as server:
            await server.initialize()
            first = await said(server, "zebra", sessionId="s", cwd=str(folder), model="gpt-5.4", reasoningEffort="low")
        async with McpServer(setup) as server:
            await server.initialize()
            assert [each["turnCount"] for each in await sessions(server)] == [1]
            second = await said(server, "[[scene: run cmd=pwd]]", sessionId="s")
            assert second["session"] == {"id": "s", "resumed": "native", "turns": 2, "model": "gpt-5.4"}
            assert second["threadId"] == first["threadId"]
            assert f"{folder}\n" in second["content"]
            assert asked(model) == ("gpt-5.4", "low")
            assert "zebra" in texts(model)


async def test_a_session_whose_thread_is_gone_goes_on_with_its_last_two_turns(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)
        async with McpServer(setup) as server:
            await server.initialize()
            for number in range(10):  # long turns do not make a long prompt
                await said(server, f'[[scene: say text="words"]] {number} {"long " * 2000}', sessionId="s")
            before = await said(server, '[[scene: say text="def add(): pass"]]', sessionId="s")
        for rollout in setup.codex_home.rglob(f"rollout-*{before['threadId']}*"):
            rollout.unlink()
        async with McpServer(setup) as server:
            await server.initialize()
            result = await server.run("codex", {"prompt": "go on", "sessionId": "s"})
            answer = result["structuredContent"]
            assert answer["session"] == {"id": "s", "resumed": "fallback", "turns": 12, "model": "gpt-5.5"}
            assert answer["threadId"] != before["threadId"]
            prompt = model.requests[-1].json["input"][-1]["content"][0]["text"]  # type: ignore[index]
            assert prompt.startswith('Context: [[scene: say text="words"]] 9 long')
            assert "\nPrevious code context: def add(): pass...\n\nTask: go on" in prompt
            assert len(prompt) < 5000
            assert answer["warnings"] == [
                "the thread of session s is gone; a new one was started with 2 of its last turns as context"
            ]
            assert "the thread of session s is gone" in result["content"][0]["text"]
            # the new thread is the session's own from now on
            after = await said(server, "and on", sessionId="s")
            assert (after["session"]["resumed"], after["threadId"]) == ("native", answer["threadId"])


async def test_a_session_whose_thread_is_archived_or_damaged_goes_on_in_a_new_one(tmp_path: Path) -> None:
    names = ("archived", "empty", "garbage", "half")
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)

        def rollout(thread_id: str) -> Path:
            (path,) = setup.codex_home.rglob(f"rollout-*{thread_id}*")
            return path

        async with McpServer(setup) as server:
            await server.initialize()
            before = {name: (await said(server, f"I am {name}", sessionId=name))["threadId"] for name in names}
            archived = {"conversationId": before["archived"], "rolloutPath": str(rollout(before["archived"]))}
            assert await server.result(server.request("archiveConversation", archived)) == {}
        rollout(before["empty"]).write_bytes(b"")
        rollout(before["garbage"]).write_bytes(b"\0garbage" * 100)
        first, _, _ = rollout(before["half"]).read_bytes().partition(b"\n")
        rollout(before["half"]).write_bytes(first[: len(first) // 2])
        async with McpServer(setup) as server:
            await server.initialize()
            for name in names:
                after = await said(server, "go on", sessionId=name)
                assert (after["session"]["resumed"], after["session"]["turns"]) == ("fallback", 2), name
                assert f"I am {name}" in texts(model)


async def test_a_session_whose_file_has_lost_turns_says_so_and_has_its_last_turns(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)
        names = {how: how.replace(" ", "-") for how in DAMAGES}
        before = {}
        async with McpServer(setup) as server:
            await server.initialize()
            for how, name in names.items():
                for number in range(4):
                    before[how] = (await said(server, f"zebra {number}", sessionId=name))["threadId"]
        for how, thread in before.items():
            damage(setup.codex_home, thread, how)
        async with McpServer(setup) as server:
            await server.initialize()
            for how, name in names.items():
                after = await said(server, "go on", sessionId=name)
                is_empty = how in ("half", "only the head", "spoiled lines")
                assert after["session"]["resumed"] == ("fallback" if is_empty else "native"), how
                assert (after["threadId"] == before[how]) == (not is_empty), how
                assert ("is gone" if is_empty else "missing or damaged") in after["warnings"][0], how
                assert "zebra 3" in texts(model), how
                again = await said(server, "and on", sessionId=name)
                assert again["session"] == {"id": name, "resumed": "native", "turns": 6, "model": "gpt-5.5"}
                assert "warnings" not in again, how
                assert newest_prompt(last(model)) == "and on", how


async def test_a_session_is_usable_after_the_server_was_killed_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)
        async with McpServer(setup) as server:
            await server.initialize()
            first = await said(server, "one", sessionId="s")
            server.call("codex", {"prompt": "[[scene: gate name=never]]", "sessionId": "s"})
            server.call("codex", {"prompt": "[[scene: gate name=never]]", "sessionId": "new"})
            await model.wait_for_gate("never", 2)
            server.signal(signal.SIGKILL)
            await server.exit_code()
        await all_ended(setup.home)
        async with McpServer(setup) as server:
            await server.initialize()
            assert sorted((each["id"], each["turnCount"]) for each in await sessions(server)) == [("new", 0), ("s", 1)]
            again = await said(server, "two", sessionId="s")
            assert (again["session"]["resumed"], again["session"]["turns"]) == ("native", 2)
            assert again["threadId"] == first["threadId"]
            assert (await said(server, "two", sessionId="new"))["session"]["turns"] == 1


async def test_two_servers_share_a_session_and_never_run_it_at_once(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = setup_for(tmp_path, model)
        async with McpServer(setup) as one, McpServer(setup) as another:
            await one.initialize()
            await another.initialize()
            running = one.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "s"})
            await model.wait_for_gate("one")
            text = await error(another, "codex", prompt="me too", sessionId="s", **{"wait-seconds": 0.3})
            assert text == "Session s is in use by another server. Call again when its turn there has ended."
            waiting = another.call("codex", {"prompt": "me too", "sessionId": "s"})
            await another.result(another.call("ping", {}))
            assert len(model.requests) == 1
            model.release("one")
            first = (await one.result(running))["structuredContent"]
            second = (await another.result(waiting))["structuredContent"]
            assert (second["session"]["resumed"], second["session"]["turns"]) == ("native", 2)
            assert second["threadId"] == first["threadId"]
            # and back, while the other one is idle
            third = await said(one, "again", sessionId="s")
            assert (third["session"]["turns"], third["threadId"]) == (3, first["threadId"])
            # both create the same session at once: it is one
            both = [server.call("codex", {"prompt": "hi", "sessionId": "fresh"}) for server in (one, another)]
            answers = [
                (await server.result(call))["structuredContent"]
                for server, call in zip((one, another), both, strict=True)
            ]
            assert len({answer["threadId"] for answer in answers}) == 1
            assert sorted(answer["session"]["turns"] for answer in answers) == [1, 2]


async def test_a_damaged_store_is_renamed_and_the_next_session_is_new(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        await said(server, "one", sessionId="s")
    path = server.setup.codex_home / DATABASE
    path.write_bytes(b"damaged " * 1000)
    async with session_server(tmp_path) as (server, _):
        again = await said(server, "two", sessionId="s")
        assert (again["session"]["resumed"], again["session"]["turns"]) == ("new", 1)
        assert "warnings" not in again
        assert "is damaged" in server.log
    assert list(path.parent.glob("sessions.db.broken-*"))


async def test_a_turn_succeeds_although_its_session_cannot_be_saved(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        call = server.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "s"})
        await model.wait_for_gate("one")
        with contextlib.closing(sqlite3.connect(server.setup.codex_home / DATABASE)) as database:
            database.execute("DROP TABLE sessions")
        model.release("one")
        result = await server.result(call)
        assert "isError" not in result
        assert result["structuredContent"]["content"] == "The gate is open."
        (warning,) = result["structuredContent"]["warnings"]
        assert "session s could not be saved" in warning
        assert warning in result["content"][1]["text"]
        # and if that is so from the beginning
        (warning,) = (await said(server, "two", sessionId="t"))["warnings"]
        assert "could not be saved" in warning


async def test_without_a_place_for_the_store_sessions_last_as_long_as_the_server(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    (setup.codex_home / "codex-mcp").write_text("in the way")
    async with session_server(tmp_path) as (server, _):
        first = await said(server, "one", sessionId="s")
        assert "only until the server ends" in first["warnings"][0]
        assert (await said(server, "two", sessionId="s"))["session"]["turns"] == 2


async def test_the_least_recently_used_session_is_forgotten_but_none_that_runs(tmp_path: Path) -> None:
    async with session_server(tmp_path, "--max-named-sessions", "2") as (server, model):
        running = server.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "running"})
        await model.wait_for_gate("one")
        for name in ("a", "b", "a", "c"):
            await said(server, "hi", sessionId=name)
        assert [each["id"] for each in await sessions(server)] == ["c", "running"]
        model.release("one")
        await server.result(running)
        assert (await said(server, "hi", sessionId="a"))["session"]["resumed"] == "new"
        assert (await said(server, "hi", sessionId="running"))["session"]["turns"] == 2


async def test_an_unused_session_expires(tmp_path: Path) -> None:
    async with session_server(tmp_path, "--named-session-ttl", "3600") as (server, _):
        await said(server, "hi", sessionId="old")
        await said(server, "hi", sessionId="young")
        with contextlib.closing(sqlite3.connect(server.setup.codex_home / DATABASE)) as database:
            body = database.execute("SELECT body FROM sessions WHERE id = 'old'").fetchone()[0]
            aged = body.replace(b'"used":', b'"used":0,"was":')
            database.execute("UPDATE sessions SET used = 0, body = ? WHERE id = 'old'", (aged,))
            database.commit()
        assert [each["id"] for each in await sessions(server)] == ["young"]
        assert (await said(server, "hi", sessionId="old"))["session"]["resumed"] == "new"


async def test_a_reset_does_not_wait_for_a_goal_that_goes_on_and_stops_it(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(OWN_TURNS)) as model, McpServer(setup_for(tmp_path, model)) as server:
        await server.initialize()
        first = await said(server, "hello", sessionId="s", goal="all green")
        await model.wait_for_gate("goal")
        again = await said(server, "hello", sessionId="s", resetSession=True)
        assert again["session"]["resumed"] == "reset"
        before = requests_of(model, first["threadId"])
        model.release("goal")
        await said(server, "hello", sessionId="s")
        assert requests_of(model, first["threadId"]) == before
