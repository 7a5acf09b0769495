"""The MCP Inspector's command line, as somebody uses it to look at a server for the first time."""

from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.judges import Ended, judge, node, run
from tests.support.servers.mcp_server import TOUR, Setup

TOOL_ERROR = 5
"""How the Inspector ends when the tool answered with isError."""


async def inspect(folder: Path, *words: str) -> Ended:
    """Run it on our server, which is in its configuration file."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides())
        setup.make()
        command, *args = setup.argv()
        server = {"command": command, "args": args, "env": setup.env(), "cwd": str(setup.work)}
        config = folder / "servers.json"
        config.write_bytes(msgspec.json.encode({"mcpServers": {"codex": server}}))
        argv = [node(), judge("mcp-inspector"), "--cli", "--config", str(config), "--server", "codex", *words]
        return await run(argv, setup, {"MCP_INSPECTOR_SECRET_STORE": "memory"})


async def test_it_lists_our_tools_and_finds_no_fault_with_their_schemas(tmp_path: Path) -> None:
    listed = await inspect(tmp_path, "--method", "tools/list", "--strict")

    tools = msgspec.json.decode(listed.stdout)["tools"]
    assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
    assert "schema" not in listed.stderr
    assert listed.code == 0


async def test_it_calls_a_tool_and_shows_the_answer(tmp_path: Path) -> None:
    words = ["--method", "tools/call", "--tool-name", "codex", "--tool-arg", 'prompt=[[scene: say text="one"]]']
    called = await inspect(tmp_path, *words)

    result = msgspec.json.decode(called.stdout)
    thread = result["structuredContent"]["threadId"]
    told = f"one\n\nthreadId: {thread} (codex-reply continues the thread)"
    assert result["content"] == [{"type": "text", "text": told}]
    assert result["structuredContent"]["content"] == "one"
    assert called.code == 0


async def test_it_shows_a_failure_as_one(tmp_path: Path) -> None:
    called = await inspect(tmp_path, "--method", "tools/call", "--tool-name", "codex-reply", "--tool-arg", "prompt=x")

    result = msgspec.json.decode(called.stdout)
    assert result["isError"]
    assert "threadId" in result["content"][0]["text"]
    assert called.code == TOOL_ERROR


async def test_it_lists_and_shows_our_prompts_and_resources(tmp_path: Path) -> None:
    prompts = tmp_path / "home/.codex/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("Review $FILE.")

    listed = await inspect(tmp_path, "--method", "prompts/list")
    got = await inspect(tmp_path, "--method", "prompts/get", "--prompt-name", "review", "--prompt-args", "FILE=a.py")
    templates = await inspect(tmp_path, "--method", "resources/templates/list")

    assert [prompt["name"] for prompt in msgspec.json.decode(listed.stdout)["prompts"]] == ["review"]
    assert msgspec.json.decode(got.stdout)["messages"][0]["content"]["text"] == "Review a.py."
    assert len(msgspec.json.decode(templates.stdout)["resourceTemplates"]) == 4
