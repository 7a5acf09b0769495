"""A client that used `codex mcp-server` gets what it expects, from the real Codex."""

from pathlib import Path

from tests.support.servers.mcp_server import scripted_server


async def test_a_new_thread_answers_and_a_reply_continues_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()

        first = await server.run("codex", {"prompt": '[[scene: say text="one"]]'})
        thread = first["structuredContent"]["threadId"]
        second = await server.run("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="two"]]'})

        assert first["content"] == [{"type": "text", "text": "one"}]
        assert first["structuredContent"]["content"] == "one"
        assert second["structuredContent"] | {"durationSeconds": 0, "usage": {}} == {
            "threadId": thread,
            "content": "two",
            "status": "completed",
            "filesChanged": [],
            "durationSeconds": 0,
            "usage": {},
        }
        assert '"one"' in model.requests[-1].body.decode().replace("\\", "")


async def test_stdin_closed_ends_the_server_with_code_0(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": "hello"})

        server.close_stdin()

        assert await server.exit_code() == 0
