"""Calls of `codex` with a session, as a client sees them: what the wrapper of the seed does, with its faults mended.

The groups are those of that wrapper's own tests. Where one of them looks at the command line of a child process, these
look at the effect: the request that the model receives, the folder, or that no thread was started.
"""

# Groups of the wrapper's 76 behaviours (number), and the tests here and beside this file that cover each:
#   session (6)           created_on_first_use; test_life: forgotten, expires (there is no tool that deletes)
#   context-building (5)  created_on_first_use, fails; test_life: thread_is_gone
#   default-model (8)     model_and_effort, default_model; test_tools: review
#   model-selection (9)   model_and_effort, every_effort, not_allowed, created_on_first_use
#   resume (9)            created_on_first_use, default_model, folder (callbackUri); test_life: restart, gone
#   edge-cases (7)        model_and_effort, without_words, not_allowed, full id charset: created_on_first_use
#   error-scenarios (11)  not_allowed, 100_000; test_tools: every_failure, without_a_codex, account, two_things;
#                         test_life: damaged, killed
#   index (14)            test_tools: the lists, ping_help, search; test_document
#   working-directory (6) folder, not_allowed; test_tools: review
#   mcp-stdio (1)         all of them: a real process on stdin and stdout; ids come from Codex, not from printed text

from pathlib import Path

from tests.support.servers.mcp_server import McpServer, Setup, scripted_server
from tests.support.sessions.scene import asked, error, said, session_server, sessions, texts

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


async def test_a_reply_says_that_it_continues_the_thread(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        first = await said(server, "zebra", sessionId="s")
        assert first["session"]["resumed"] == "new"
        reply = await server.run("codex-reply", {"threadId": first["threadId"], "prompt": "two"})
        assert reply["structuredContent"]["session"]["resumed"] == "native"


async def test_a_session_is_created_on_first_use_grows_and_is_reset(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        assert await sessions(server) == []
        # nothing is created without an id
        plain = await said(server, "no name")
        assert "session" not in plain
        assert await sessions(server) == []
        # created with no turns before; a turn is added; the id, the model and the conversation are reported
        first = await said(server, "zebra", sessionId="auth-review")
        assert first["session"] == {"id": "auth-review", "resumed": "new", "turns": 1, "model": "gpt-5.5"}
        assert first["content"] == "Hello! You said: zebra"
        (listed,) = await sessions(server)
        assert (listed["id"], listed["turnCount"], listed["conversationId"]) == ("auth-review", 1, first["threadId"])
        assert (listed["model"], listed["createdAt"] <= listed["lastUsedAt"]) == ("gpt-5.5", True)
        # resumed natively: the same thread, with its history, and the prompt as it is
        second = await said(server, "two", sessionId="auth-review")
        assert second["session"]["resumed"] == "native"
        assert (second["session"]["turns"], second["threadId"]) == (2, first["threadId"])
        assert "zebra" in texts(model)
        assert "Task:" not in texts(model)
        # another id is another session, and the list has the most recently used first
        other = await said(server, "three", sessionId="under_score-9")
        assert other["threadId"] != first["threadId"]
        assert [each["id"] for each in await sessions(server)] == ["under_score-9", "auth-review"]
        # reset: a new thread and a new conversation id, without the old history and turns
        again = await said(server, "four", sessionId="auth-review", resetSession=True)
        assert again["session"] == {"id": "auth-review", "resumed": "reset", "turns": 1, "model": "gpt-5.5"}
        assert again["threadId"] != first["threadId"]
        assert "zebra" not in texts(model)
        assert [(each["id"], each["turnCount"]) for each in await sessions(server)] == [
            ("auth-review", 1),
            ("under_score-9", 1),
        ]


async def test_a_reset_without_a_session_only_warns(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        answer = await said(server, "hi", resetSession=True)
        assert answer["warnings"] == ["resetSession has no effect without sessionId"]
        assert await sessions(server) == []


async def test_the_model_and_the_effort_of_a_call_reach_the_model_and_stay(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        # the default model, without and with a session
        await said(server, "hi")
        assert asked(model)[0] == "gpt-5.5"
        await said(server, "hi", sessionId="s")
        assert asked(model)[0] == "gpt-5.5"
        # an explicit one for a new thread, and for a session that is resumed, from then on
        await said(server, "hi", model="gpt-5.4", reasoningEffort="high")
        assert asked(model) == ("gpt-5.4", "high")
        changed = await said(server, "hi", sessionId="s", model="gpt-5.4", reasoningEffort="low")
        assert changed["session"]["resumed"] == "native"
        assert changed["session"]["model"] == "gpt-5.4"
        assert asked(model) == ("gpt-5.4", "low")
        await said(server, "hi", sessionId="s")
        assert asked(model) == ("gpt-5.4", "low")
        assert (await sessions(server))[0]["model"] == "gpt-5.4"
        # a model that fails is not kept
        await error(server, "codex", prompt="[[scene: fail status=404]]", sessionId="s", model="no-such-model")
        assert asked(model)[0] == "no-such-model"
        await said(server, "hi", sessionId="s")
        assert asked(model) == ("gpt-5.4", "low")
        # of turns that queue, the later ones have it too
        first = server.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "s", "model": "gpt-5.5"})
        second = server.call("codex", {"prompt": "hi", "sessionId": "s"})
        await model.wait_for_gate("one")
        model.release("one")
        for call in (first, second):
            await server.result(call)
        assert asked(model) == ("gpt-5.5", "low")


async def test_every_effort_is_passed_on(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        for effort in EFFORTS:
            await said(server, "hi", sessionId=f"new-{effort}", reasoningEffort=effort)
            assert asked(model)[1] == effort
            await said(server, "hi", sessionId="one", reasoningEffort=effort)
            assert asked(model)[1] == effort


async def test_what_is_not_allowed_is_refused_and_starts_nothing(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        for session_id in ("", "a b", "ä", "a" * 257, "a/b"):
            assert "Session ID" in await error(server, "codex", prompt="hi", sessionId=session_id)
        assert "unknown variant `ultra`" in await error(server, "codex", prompt="hi", reasoningEffort="ultra")
        assert "missing field `prompt`" in await error(server, "codex", sessionId="s")
        assert "differ" in await error(server, "codex", prompt="hi", cwd="/", workingDirectory="/tmp")
        assert "not a folder" in await error(server, "codex", prompt="hi", sessionId="s", workingDirectory="/no/such")
        assert await sessions(server) == []
        assert not model.requests
        assert not list((server.setup.codex_home).rglob("rollout-*"))


async def test_an_id_may_be_long_and_an_empty_prompt_is_a_prompt(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        assert (await said(server, "", sessionId="a" * 256))["session"]["id"] == "a" * 256


async def test_a_prompt_that_looks_like_a_command_is_a_prompt(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        for prompt in ("--help", "resume", "-c model=x"):
            assert (await said(server, prompt, sessionId="s"))["content"] == f"Hello! You said: {prompt}"


async def test_a_prompt_of_100_000_characters_arrives(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        await said(server, "long " * 20_000, sessionId="s")
        assert len(texts(model)) > 100_000


async def test_an_answer_without_words_has_a_text(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        result = await server.run("codex", {"prompt": '[[scene: say text=""]]', "sessionId": "s"})
        assert result["content"][0] == {"type": "text", "text": "No output from Codex"}
        assert result["structuredContent"]["session"]["turns"] == 1


async def test_a_turn_that_fails_is_an_error_and_no_turn_and_the_session_goes_on(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        first = await said(server, "one", sessionId="s")
        text = await error(server, "codex", prompt="[[scene: fail]]", sessionId="s")
        assert first["threadId"] in text
        assert [each["turnCount"] for each in await sessions(server)] == [1]
        # also as the first of a session
        await error(server, "codex", prompt="[[scene: fail]]", sessionId="new")
        assert [(each["id"], each["turnCount"]) for each in await sessions(server)] == [("new", 0), ("s", 1)]
        assert (await said(server, "two", sessionId="s"))["session"]["turns"] == 2
        assert (await said(server, "two", sessionId="new"))["session"]["turns"] == 1


async def test_the_folder_and_the_other_settings_are_those_of_the_first_call(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        folder = tmp_path / "project"
        folder.mkdir()
        prompt = '[[scene: run cmd="pwd; echo $CODEX_MCP_CALLBACK_URI"]]'
        first = await said(server, prompt, sessionId="s", workingDirectory=str(folder), callbackUri="http://host/x")
        assert f"{folder}\nhttp://host/x\n" in first["content"]
        same = await said(server, prompt, sessionId="s", workingDirectory=str(folder), callbackUri="http://host/x")
        assert "warnings" not in same
        other = await said(server, prompt, sessionId="s", workingDirectory=str(tmp_path), sandbox="read-only")
        assert f"{folder}\n" in other["content"]
        assert other["warnings"] == [
            "session s keeps the settings that it was started with; resetSession is needed to change cwd, sandbox"
        ]
        reset = await said(server, prompt, sessionId="s", workingDirectory=str(tmp_path), resetSession=True)
        assert f"{tmp_path}\n" in reset["content"]
        plain = await said(server, prompt, workingDirectory=str(folder))
        assert f"{folder}\n" in plain["content"]


async def test_full_auto_may_write_in_its_folder_and_says_what_it_means(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        result = await server.run("codex", {"prompt": '[[scene: run cmd="echo x > made"]]', "fullAuto": True})
        note = "fullAuto means sandbox workspace-write and approval-policy on-request; name these two instead"
        assert result["structuredContent"]["warnings"] == [note]
        assert result["content"][0]["text"].startswith(f"Warning: {note}")
        configured = next(event for event in server.events() if event["type"] == "session_configured")
        assert configured["approval_policy"] == "on-request"
        assert (server.setup.work / "made").read_text() == "x\n"


async def test_the_default_model_comes_from_the_environment_and_an_argument_wins(tmp_path: Path) -> None:
    environment = {"CODEX_DEFAULT_MODEL": "gpt-5.4", "CODEX_MCP_CALLBACK_URI": "http://host/env"}
    async with scripted_server(tmp_path, environment=environment) as (server, model):
        await server.initialize()
        first = await said(server, '[[scene: run cmd="echo $CODEX_MCP_CALLBACK_URI"]]', sessionId="s")
        assert first["session"]["model"] == "gpt-5.4"
        assert asked(model)[0] == "gpt-5.4"
        assert "http://host/env\n" in first["content"]
        await said(server, "hi", model="gpt-5.5")
        assert asked(model)[0] == "gpt-5.5"
        assert "has no effect" not in server.stderr


async def test_two_calls_on_one_session_queue_in_one_thread(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        first = server.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "s"})
        second = server.call("codex", {"prompt": "two", "sessionId": "s"})
        third = server.call("codex", {"prompt": "three", "sessionId": "s", "resetSession": True})
        await model.wait_for_gate("one")
        assert len(model.requests) == 1
        model.release("one")
        one, two, three = [(await server.result(each))["structuredContent"] for each in (first, second, third)]
        assert one["threadId"] == two["threadId"] != three["threadId"]
        assert [each["session"]["resumed"] for each in (one, two, three)] == ["new", "native", "reset"]
        assert (two["session"]["turns"], three["session"]["turns"]) == (2, 1)


async def test_a_call_returns_as_running_and_the_turn_is_counted_when_it_ends(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        running = await said(server, "[[scene: gate name=one]]", sessionId="s", background=True)
        assert running["status"] == "running"
        assert running["session"]["turns"] == 0
        model.release("one")
        waited = await server.run("codex_wait", {"threadIds": [running["threadId"]]})
        assert waited["structuredContent"]["finished"][0]["session"]["turns"] == 1
        assert (await said(server, "two", sessionId="s"))["session"]["turns"] == 2


async def test_a_cancelled_call_ends_its_turn_and_saves_none(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        cancelled = server.call("codex", {"prompt": "[[scene: gate name=one]]", "sessionId": "s"})
        await model.wait_for_gate("one")
        server.cancel(cancelled)
        next_one = await said(server, "two", sessionId="s")
        assert next_one["session"] == {"id": "s", "resumed": "native", "turns": 1, "model": "gpt-5.5"}


async def test_progress_is_sent_for_every_token_and_grows(tmp_path: Path) -> None:
    async with session_server(tmp_path, "--progress-interval", "0.05") as (server, model):
        for token in (0, "", 7):
            gate = f"gate-{token}"
            arguments = {"prompt": f"[[scene: gate name={gate}]]", "sessionId": "s"}
            call = server.call("codex", arguments, meta={"progressToken": token})
            await model.wait_for_gate(gate)
            for _ in range(2):
                last = progress(server, token)
                await server.until(lambda token=token, last=last: len(progress(server, token)) > len(last))  # type: ignore[misc]
            model.release(gate)
            await server.result(call)
            assert progress(server, token) == sorted(set(progress(server, token)))


def progress(server: McpServer, token: object) -> list[float]:
    told = [note["params"] for note in server.messages if note.get("method") == "notifications/progress"]
    return [each["progress"] for each in told if each["progressToken"] == token]


async def test_without_the_tools_of_sessions_a_session_can_still_be_used(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _):
        await server.initialize()
        assert (await said(server, "hi", sessionId="s", fullAuto=True))["session"]["turns"] == 1
        assert "Unknown tool 'listSessions'" in await error(server, "listSessions")


async def test_mcp_server_has_no_team_tools(tmp_path: Path) -> None:
    setup = Setup(tmp_path, flags=["--tools", "team"])
    async with McpServer(setup) as server:
        assert await server.exit_code() == 2
        assert "codex-mcp serve" in server.stderr
