"""Prompts over stdio: the user's and the project's files as a client sees them, and what it is told of changes."""

from pathlib import Path

import mcp_types
import pytest

from tests.support.servers.mcp_server import Json, McpServer, scripted_server


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.md"
    file.write_text(text)
    return file


async def shake_hands(server: McpServer, **capabilities: object) -> None:
    info = {"name": "tests", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
    await server.result(server.request("initialize", params))


async def names(server: McpServer) -> list[str]:
    found = await server.result(server.request("prompts/list", {}))
    return [prompt.name for prompt in mcp_types.ListPromptsResult.model_validate(found).prompts]


async def text_of(server: McpServer, name: str, arguments: Json | None = None) -> str:
    found = await server.result(server.request("prompts/get", {"name": name, "arguments": arguments or {}}))
    text: str = found["messages"][0]["content"]["text"]
    return text


async def error(server: McpServer, method: str, params: Json) -> tuple[int, str]:
    found = (await server.answer(server.request(method, params)))["error"]
    return found["code"], found["message"]


async def test_the_files_of_the_user_and_of_the_project_are_prompts(tmp_path: Path) -> None:
    users, project = tmp_path / "home/.codex/prompts", tmp_path / "work/.codex/prompts"
    head = "---\ndescription: Look at a file\nargument-hint: FILE=<path> [focus]\n---\n"
    write(users, "review", f"{head}Review $FILE for $1. It costs $$5.\n")
    write(project, "review", "The repository's own.")
    write(project, "release", "Release it.")
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server)
        listed = (await server.result(server.request("prompts/list", {})))["prompts"]
        assert listed == [
            {"name": "release", "description": "Release it. (from this project)"},
            {
                "name": "review",
                "description": "Look at a file",
                "arguments": [
                    {"name": "1", "description": "FILE=<path> [focus]", "required": False},
                    {"name": "FILE", "description": "FILE=<path> [focus]", "required": True},
                ],
            },
        ]
        assert await text_of(server, "review", {"FILE": "a.py", "1": "speed"}) == "Review a.py for speed. It costs $5."
        assert await text_of(server, "release") == "Release it."
        assert await error(server, "prompts/get", {"name": "review"}) == (
            -32602,
            "Invalid params: the prompt review needs the argument FILE",
        )
        code, message = await error(server, "prompts/get", {"name": "gone"})
        assert code == -32602
        assert "unknown prompt: gone" in message


async def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    wanted = [f"prompt-{number:03}" for number in range(120)]
    for name in wanted:
        write(tmp_path / "home/.codex/prompts", name, name)
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server)
        found: list[str] = []
        params: Json = {}
        while True:
            page = await server.result(server.request("prompts/list", params))
            found += [prompt["name"] for prompt in page["prompts"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert found == wanted
        code, message = await error(server, "prompts/list", {"cursor": "nonsense"})
        assert code == -32602
        assert "begin without a cursor" in message


async def test_a_client_that_listed_its_prompts_is_told_of_every_change(tmp_path: Path) -> None:
    users = tmp_path / "home/.codex/prompts"
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server)
        assert await names(server) == []

        async def told(times: int) -> None:
            changed = {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed", "params": {}}
            await server.wait_for(lambda _message: server.messages.count(changed) >= times)

        file = write(users, "first", "One.")
        await told(1)
        assert await names(server) == ["first"]
        file.write_text("Another text.")
        await told(2)
        assert await text_of(server, "first") == "Another text."
        file.unlink()
        await told(3)
        assert await names(server) == []


async def test_the_only_root_of_a_client_is_its_project(tmp_path: Path) -> None:
    for project in ("one", "other"):
        write(tmp_path / project / ".codex/prompts", project, f"Of {project}.")
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server, roots={"listChanged": True})

        async def listed_with(number: int, *roots: str) -> list[str]:
            request = server.request("prompts/list", {})
            asked = await server.wait_for(
                lambda message: message.get("method") == "roots/list" and message["id"] == number
            )
            server.reply(asked["id"], {"roots": [{"uri": uri} for uri in roots]})
            found = await server.result(request)
            return [prompt["name"] for prompt in found["prompts"]]

        assert await listed_with(0, (tmp_path / "one").as_uri()) == ["one"]
        assert await names(server) == ["one"], "it is not asked again"
        server.notify("notifications/roots/list_changed")
        await server.wait_for(lambda message: message.get("method") == "notifications/prompts/list_changed")
        assert await listed_with(1, (tmp_path / "other").as_uri()) == ["other"]
        server.notify("notifications/roots/list_changed")
        assert await listed_with(2, (tmp_path / "one").as_uri(), (tmp_path / "other").as_uri()) == []
        server.notify("notifications/roots/list_changed")
        assert await listed_with(3, "file:///nowhere/at/all") == []
        await server.until(lambda: "file:///nowhere/at/all is not a folder of this machine" in server.log)


@pytest.mark.parametrize("answer", ["an error", "nonsense"])
async def test_a_client_that_does_not_tell_its_roots_works_in_the_servers_folder(tmp_path: Path, answer: str) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server, roots={})
        call = server.call("codex", {"prompt": "[[scene: run cmd=pwd]]"})
        asked = await server.wait_for(lambda message: message.get("method") == "roots/list")
        if answer == "nonsense":
            server.reply(asked["id"], {"roots": 7})
        else:
            server.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "no"}})
        assert str(tmp_path / "work") in (await server.result(call))["structuredContent"]["content"]


async def test_an_agent_works_in_the_only_root_unless_the_call_names_a_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server, roots={})
        call = server.call("codex", {"prompt": "[[scene: run cmd=pwd]]"})
        asked = await server.wait_for(lambda message: message.get("method") == "roots/list")
        server.reply(asked["id"], {"roots": [{"uri": project.as_uri()}]})
        assert str(project) in (await server.result(call))["structuredContent"]["content"]
        named = await server.run("codex", {"prompt": "[[scene: run cmd=pwd]]", "cwd": str(tmp_path / "work")})
        assert str(tmp_path / "work") in named["structuredContent"]["content"]


async def test_a_thread_that_an_argument_names_is_sent_with_the_prompt(tmp_path: Path) -> None:
    write(tmp_path / "home/.codex/prompts", "continue", "Go on with $THREAD.")
    async with scripted_server(tmp_path) as (server, _model):
        await shake_hands(server)
        result = await server.run("codex", {"prompt": "[[scene: hello]]"})
        uri = f"codex://threads/{result['structuredContent']['threadId']}"
        get = {"name": "continue", "arguments": {"THREAD": uri}}
        found = await server.result(server.request("prompts/get", get))
        mcp_types.GetPromptResult.model_validate(found)
        resource, text = (message["content"] for message in found["messages"])
        assert resource["resource"]["uri"] == uri
        assert "[[scene: hello]]" in resource["resource"]["text"]
        assert text == {"type": "text", "text": f"Go on with {uri}."}
        assert await text_of(server, "continue", {"THREAD": f"{uri}0"}) == f"Go on with {uri}0."
