"""The tools beside `codex`: what is listed, and what each of them does and refuses."""

import subprocess
from pathlib import Path

import jsonschema
import mcp_types
import msgspec
import pytest

from codex_mcp import __version__
from tests.support.servers.mcp_server import Json, McpServer, Setup, scripted_server
from tests.support.sessions.scene import asked, error, said, session_server, sessions, texts
from tests.support.team.team_server import team_server

LARGEST = 6000
"""Bytes. Clients put the list into the context of their model."""

ANNOTATIONS = {
    "codex": ("Codex", False, True, False, True),
    "review": ("Code Review", True, False, True, True),
    "ping": ("Ping Server", True, False, True, False),
    "help": ("Get Help", True, False, True, False),
    "listSessions": ("List Sessions", True, False, True, False),
    "websearch": ("Web Search", True, False, True, True),
}
"""Title, and whether it is read-only, destructive, idempotent and open to the world."""


async def listed(server: McpServer) -> dict[str, Json]:
    tools = (await server.result(server.request("tools/list")))["tools"]
    for tool in tools:
        mcp_types.Tool.model_validate(tool)
        for name in ("inputSchema", "outputSchema"):
            if name in tool:
                jsonschema.Draft202012Validator.check_schema(tool[name])
        assert isinstance(tool["inputSchema"]["required"], list)
    return {tool["name"]: tool for tool in tools}


async def test_the_default_list_is_short_and_has_what_sessions_need(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _):
        await server.initialize()
        answer = await server.answer(server.request("tools/list"))
        assert len(msgspec.json.encode(answer)) <= LARGEST
        tools = await listed(server)
        assert list(tools) == ["codex", "codex-reply", "codex_wait"]
        arguments = tools["codex"]["inputSchema"]["properties"]
        assert {"sessionId", "resetSession", "reasoningEffort"} <= arguments.keys()
        assert not {"workingDirectory", "fullAuto", "callbackUri"} & arguments.keys()


@pytest.mark.parametrize("surface", ["sessions", "all"])
async def test_the_tools_of_sessions_are_listed_on_request(tmp_path: Path, surface: str) -> None:
    async with scripted_server(tmp_path, "--tools", surface) as (server, _):
        about = await server.initialize()
        assert about["result"]["serverInfo"]["version"] == __version__
        tools = await listed(server)
        assert tools.keys() == {"codex-reply", "codex_wait", *ANNOTATIONS}
        for name, expected in ANNOTATIONS.items():
            told = tools[name]["annotations"]
            hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
            assert (told["title"], *(told[hint] for hint in hints)) == expected
        assert {name for name, tool in tools.items() if "outputSchema" not in tool} == {"ping", "help"}
        required = {name: tool["inputSchema"]["required"] for name, tool in tools.items()}
        assert required["codex"] == ["prompt"]
        assert required["websearch"] == ["query"]
        assert required["review"] == required["ping"] == required["help"] == required["listSessions"] == []
        assert {"workingDirectory", "fullAuto"} <= tools["codex"]["inputSchema"]["properties"].keys()


async def test_ping_help_and_an_empty_list(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        assert await server.run("ping", {}) == {"content": [{"type": "text", "text": "pong"}]}
        assert (await server.run("ping", {"message": "hello"}))["content"][0]["text"] == "hello"
        text = (await server.run("help", {}))["content"][0]["text"]
        assert text.startswith(f"codex-mcp {__version__}")
        assert all(name in text for name in (*ANNOTATIONS, "sessionId", "numResults"))
        nothing = await server.run("listSessions", {})
        assert nothing["content"][0]["text"] == "No active sessions"
        assert nothing["structuredContent"] == {"sessions": []}
        assert "unknown field `x`" in await error(server, "ping", x=1)
        assert "invalid type" in await error(server, "ping", message=1)
        assert "Unknown tool 'nope'" in await error(server, "nope")
        assert not model.requests


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def test_a_review_looks_at_what_it_is_told_to(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / "file").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    commit = git(folder, "rev-parse", "HEAD")
    targets: list[tuple[Json, str]] = [
        ({}, "staged, unstaged, and untracked"),
        ({"uncommitted": True}, "staged, unstaged, and untracked"),
        ({"base": "main"}, "main"),
        ({"commit": commit, "title": "first"}, commit[:7]),
        ({"prompt": "Look at the zebra"}, "Look at the zebra"),
    ]
    async with session_server(tmp_path) as (server, model):
        for arguments, told in targets:
            result = await server.run("review", {**arguments, "workingDirectory": str(folder), "model": "gpt-5.4"})
            answer = result["structuredContent"]
            assert (answer["status"], "isError" in result) == ("completed", False)
            assert told in texts(model)
            assert str(folder) in texts(model)
            assert asked(model)[0] == "gpt-5.4"
            assert answer["content"] != ""
            how = f"threadId: {answer['threadId']} (codex-reply continues the thread)"
            assert result["content"][0]["text"] == f"{answer['content']}\n\n{how}"
        # a review is a thread that can be continued, and no session
        await server.run("codex-reply", {"threadId": answer["threadId"], "prompt": "why?"})
        assert await sessions(server) == []


async def test_a_review_against_a_branch_outside_of_a_repository_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    async with session_server(tmp_path) as (server, model):
        text = await error(server, "review", base="main", workingDirectory=str(plain))
        assert text.startswith(f'"{plain}" is not a git repository')
        assert not model.requests


async def test_a_review_of_two_things_is_refused_and_starts_nothing(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        text = await error(server, "review", prompt="x", uncommitted=True)
        assert "`prompt` and `uncommitted` exclude each other" in text
        assert "exclude each other" in await error(server, "review", base="main", commit="abc")
        assert "needs `commit`" in await error(server, "review", title="x")
        assert "not a folder" in await error(server, "review", workingDirectory="/no/such")
        assert not model.requests


async def test_a_search_is_a_turn_with_web_search(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, model):
        result = await server.run("websearch", {"query": "zebras"})
        assert result["structuredContent"]["status"] == "completed"
        assert "Search for: zebras. Provide 10 key findings.'" in texts(model)
        (search,) = [tool for tool in model.requests[-1].json["tools"] if tool["type"] == "web_search"]  # type: ignore[attr-defined]
        assert search["external_web_access"] is True
        await server.run("websearch", {"query": "zebras", "numResults": 3, "searchDepth": "full"})
        assert "Provide 3 key findings. Include detailed analysis and context.'" in texts(model)
        for bad in ({"query": ""}, {"query": "x", "numResults": 0}, {"query": "x", "numResults": 51}):
            await error(server, "websearch", **bad)
        await error(server, "websearch", query="x", numResults=1.5)
        await error(server, "websearch", query="x", searchDepth="deep")
        await error(server, "websearch")
        assert len(model.requests) == 2


async def test_every_failure_of_the_model_is_an_error_that_names_the_thread(tmp_path: Path) -> None:
    failures = [f"[[scene: fail status={status}]]" for status in (400, 401, 404, 429, 503)]
    failures += ["[[scene: error code=context_length_exceeded]]", "[[scene: disconnect]]"]
    async with session_server(tmp_path) as (server, _):
        for failure in failures:
            assert "threadId: " in await error(server, "codex", prompt=failure, sessionId="s")
            assert "threadId: " in await error(server, "websearch", query=failure)
        assert [each["turnCount"] for each in await sessions(server)] == [0]


async def test_without_a_codex_the_first_answer_says_so(tmp_path: Path) -> None:
    setup = Setup(tmp_path, flags=["--tools", "sessions", "--codex-bin", "/no/such/codex"])
    async with McpServer(setup) as server:
        told = await server.answer(server.request("tools/list"))
        assert "/no/such/codex" in told["error"]["message"]
        assert await server.exit_code() == 2


async def test_a_call_without_an_account_says_so(tmp_path: Path) -> None:
    async with McpServer(Setup(tmp_path, flags=["--tools", "sessions"])) as server:
        await server.initialize()
        assert "codex-mcp login" in await error(server, "codex", prompt="hi", sessionId="s")


async def test_with_a_team_a_call_names_an_agent_or_a_session(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--tools", "all") as (server, _):
        await server.initialize()
        tools = await listed(server)
        assert tools.keys() >= {"codex_close", "listSessions", "review"}
        assert "sessionId" in tools["codex"]["inputSchema"]["properties"]
        answer = await said(server, "hi", sessionId="s")
        assert answer["session"]["turns"] == 1
        assert "codex_id" not in answer
        assert "excludes" in await error(server, "codex", prompt="hi", sessionId="s", identity="arch")
        agent = await said(server, "hi", identity="arch", reasoningEffort="low", workingDirectory=".")
        assert "session" not in agent
        assert agent["identity"] == "arch"
    async with team_server(tmp_path) as (server, _):
        await server.initialize()
        assert "listSessions" not in await listed(server)
        assert "--tools all" in await error(server, "codex", prompt="hi", sessionId="s")


async def test_with_a_team_the_list_can_be_short(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--tools", "codex") as (server, _):
        await server.initialize()
        assert list(await listed(server)) == ["codex", "codex-reply", "codex_wait"]
        assert "Unknown tool" in await error(server, "codex_close", codex_id="x")
