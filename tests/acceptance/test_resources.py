"""Resources, completion and log messages over stdio, on the real Codex, in both eras."""

import subprocess
from pathlib import Path
from typing import Any

import mcp_types
import msgspec

from codex_mcp.wire.mcp import CAPABILITIES_KEY, LOG_LEVEL_KEY, SUBSCRIPTION_KEY, VERSION_KEY
from tests.support.servers.mcp_server import Json, McpServer, scripted_server

UPDATED = "notifications/resources/updated"
MESSAGE = "notifications/message"
STATELESS: Json = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
NOWHERE = "01a1e831-dce0-70c0-9750-9b26e0022257"


async def run(server: McpServer, scene: str, **arguments: object) -> str:
    """Run a scene in a new thread; return the thread's id."""
    result = await server.run("codex", {"prompt": f"[[scene: {scene}]]", "sandbox": "workspace-write", **arguments})
    thread_id: str = result["structuredContent"]["threadId"]
    return thread_id


async def read(server: McpServer, uri: str, meta: Json | None = None) -> Json:
    params = {"uri": uri} if meta is None else {"uri": uri, "_meta": meta}
    found = await server.result(server.request("resources/read", params))
    content: Json = found["contents"][0]
    return content


async def error(server: McpServer, method: str, params: Json) -> Json:
    found: Json = (await server.answer(server.request(method, params)))["error"]
    return found


def apply(folder: Path, diff: str) -> None:
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=folder, check=True)


def notifications(server: McpServer, method: str) -> list[Json]:
    return [message["params"] for message in server.messages if message.get("method") == method]


async def test_a_thread_can_be_read_as_a_transcript_a_diff_and_a_rollout(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        thread = await run(server, "patch")
        listed = await server.result(server.request("resources/list"))
        mcp_types.ListResourcesResult.model_validate(listed)
        uri = f"codex://threads/{thread}"
        assert [each["uri"] for each in listed["resources"]] == [uri, f"{uri}/answer", f"{uri}/diff", f"{uri}/rollout"]

        transcript = await read(server, uri)
        assert transcript["mimeType"] == "text/markdown"
        assert f"# Thread {thread}\n\nFolder: `{tmp_path / 'work'}`\n\n## Turn 1\n\n**User:**" in transcript["text"]
        assert "[[scene: patch]]" in transcript["text"]
        assert "**Codex:**\n\nThe file is written." in transcript["text"]

        assert (await read(server, f"{uri}/answer"))["text"] == "The file is written."
        assert (await read(server, f"{uri}/answer?from=12"))["text"] == "written."

        written = (tmp_path / "work/hello.txt").read_text()
        (tmp_path / "work/hello.txt").unlink()
        diff = await read(server, f"{uri}/diff")
        apply(tmp_path / "work", diff["text"])
        assert (tmp_path / "work/hello.txt").read_text() == written

        rollout = await read(server, f"{uri}/rollout")
        lines = [msgspec.json.decode(line) for line in rollout["text"].splitlines()]
        assert lines[0]["payload"]["id"] == thread


async def test_a_long_thread_is_read_in_pieces_and_says_what_is_left_out(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--max-message-bytes", "65536") as (server, _model):
        await server.initialize()
        long = f'say text="{"long " * 3000}"'
        thread = await run(server, long)
        for _ in range(4):
            await server.run("codex-reply", {"threadId": thread, "prompt": f"[[scene: {long}]]"})
        uri: str | None = f"codex://threads/{thread}/rollout"
        text = ""
        while uri is not None:
            found = (await server.result(server.request("resources/read", {"uri": uri})))["contents"]
            text += found[0]["text"]
            uri = found[1]["uri"] if len(found) > 1 else None
        (rollout,) = (tmp_path / "home/.codex/sessions").rglob("*.jsonl")
        assert text == rollout.read_text()
        assert len(text) > 2 * 65536

        transcript = (await read(server, f"codex://threads/{thread}"))["text"]
        assert f"Earlier turns are left out. codex://threads/{thread}/rollout has all of them." in transcript
        assert 0 < transcript.count("**User:**") < 5


async def test_the_templates_are_those_of_threads(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        found = await server.result(server.request("resources/templates/list"))
        mcp_types.ListResourceTemplatesResult.model_validate(found)
        assert [each["uriTemplate"] for each in found["resourceTemplates"]] == [
            "codex://threads/{id}",
            "codex://threads/{id}/answer",
            "codex://threads/{id}/diff",
            "codex://threads/{id}/rollout",
        ]


async def test_an_unknown_resource_is_named_in_the_error_of_each_era(tmp_path: Path) -> None:
    unknown = f"codex://threads/{NOWHERE}", "codex://threads/x", "codex://threads/../x", "file:///etc/passwd", ""
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        for uri in unknown:
            expected = {"message": f"Resource not found: {uri}", "data": {"uri": uri}}
            assert await error(server, "resources/read", {"uri": uri}) == {"code": -32002, **expected}
            assert await error(server, "resources/subscribe", {"uri": uri}) == {"code": -32002, **expected}
            stateless = await error(server, "resources/read", {"uri": uri, "_meta": STATELESS})
            assert stateless == {"code": -32602, **expected}


async def test_a_subscriber_is_told_while_a_turn_runs_and_once_more_at_its_end(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        thread = await run(server, "hello")
        uri = f"codex://threads/{thread}"
        assert await server.result(server.request("resources/subscribe", {"uri": uri})) == {}
        reply = server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate name=held]]"})
        await model.wait_for_gate("held")
        await server.wait_for(lambda message: message.get("method") == UPDATED)
        assert "*The turn is running.*" in (await read(server, uri))["text"]
        so_far = len(notifications(server, UPDATED))
        model.release("held")
        await server.result(reply)
        await server.wait_for(lambda _message: len(notifications(server, UPDATED)) > so_far)
        assert "*The turn is running.*" not in (await read(server, uri))["text"]
        assert await server.result(server.request("resources/unsubscribe", {"uri": uri})) == {}
        told = len(notifications(server, UPDATED))
        await server.run("codex-reply", {"threadId": thread, "prompt": "[[scene: hello]]"})
        await server.result(server.request("resources/subscribe", {"uri": f"{uri}/diff"}))
        await server.run("codex-reply", {"threadId": thread, "prompt": "[[scene: patch]]"})
        await server.wait_for(lambda _message: {"uri": f"{uri}/diff"} in notifications(server, UPDATED))
        assert notifications(server, UPDATED)[told:].count({"uri": uri}) == 0


async def test_whoever_has_listed_threads_is_told_of_a_new_one(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await run(server, "hello")
        assert notifications(server, "notifications/resources/list_changed") == [], "it has not asked"
        await server.result(server.request("resources/list"))
        thread = await run(server, "hello")
        await server.wait_for(lambda message: message.get("method") == "notifications/resources/list_changed")
        listed = await server.result(server.request("resources/list"))
        assert f"codex://threads/{thread}" in [each["uri"] for each in listed["resources"]]


async def test_a_client_without_a_handshake_listens(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        meta = {"_meta": STATELESS}
        call = server.call("codex", {"prompt": "[[scene: hello]]"}, meta=STATELESS)
        thread = (await server.result(call))["structuredContent"]["threadId"]
        uri = f"codex://threads/{thread}"
        wanted = {
            "promptsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": [uri, f"codex://threads/{NOWHERE}"],
        }
        listening = server.request("subscriptions/listen", {"notifications": wanted, **meta})
        method = "notifications/subscriptions/acknowledged"
        acknowledged = await server.wait_for(lambda message: message.get("method") == method)
        assert acknowledged["params"]["notifications"] == {**wanted, "resourceSubscriptions": [uri]}
        await server.result(
            server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: hello]]"}, meta=STATELESS)
        )
        tag = {"_meta": {SUBSCRIPTION_KEY: listening}}
        await server.wait_for(lambda _message: {"uri": uri, **tag} in notifications(server, UPDATED))
        await server.result(server.call("codex", {"prompt": "[[scene: hello]]"}, meta=STATELESS))
        await server.wait_for(lambda _message: tag in notifications(server, "notifications/resources/list_changed"))
        prompts = tmp_path / "home/.codex/prompts"
        prompts.mkdir()
        (prompts / "new.md").write_text("New.")
        await server.wait_for(lambda _message: tag in notifications(server, "notifications/prompts/list_changed"))
        read_again = await server.result(server.request("resources/read", {"uri": uri, **meta}))
        assert read_again["ttlMs"] == 0
        server.cancel(listening)
        await server.result(listening)


async def completed(server: McpServer, ref: Json, argument: str, typed: str) -> Any:
    params = {"ref": ref, "argument": {"name": argument, "value": typed}}
    found = await server.result(server.request("completion/complete", params))
    mcp_types.CompleteResult.model_validate(found)
    return found["completion"]["values"]


async def test_completion_offers_threads_models_profiles_and_prompts(tmp_path: Path) -> None:
    home = tmp_path / "home/.codex"
    (home / "prompts").mkdir(parents=True)
    (home / "prompts/ask.md").write_text("Ask $MODEL with $PROFILE about $THREAD, as in $PROMPT and $OTHER.")
    (home / "careful.config.toml").write_text('model = "x"\n')
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        thread = await run(server, "hello")
        ask = {"type": "ref/prompt", "name": "ask"}
        template = {"type": "ref/resource", "uri": "codex://threads/{id}/diff"}
        assert await completed(server, template, "id", thread[:4]) == [thread]
        assert await completed(server, ask, "THREAD", "") == [thread]
        assert await completed(server, ask, "MODEL", "gpt")
        assert await completed(server, ask, "PROFILE", "c") == ["careful"]
        assert await completed(server, ask, "PROMPT", "") == ["ask"]
        assert await completed(server, ask, "OTHER", "") == []
        for ref in ({"type": "ref/prompt", "name": "gone"}, {"type": "ref/resource", "uri": "codex://other/{id}"}):
            params = {"ref": ref, "argument": {"name": "id", "value": ""}}
            assert (await error(server, "completion/complete", params))["code"] == -32602


async def test_log_messages_come_after_they_were_asked_for_with_their_level(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await run(server, "hello")
        assert notifications(server, MESSAGE) == []
        assert await server.result(server.request("logging/setLevel", {"level": "info"})) == {}
        await run(server, "hello")
        texts = [each["data"] for each in notifications(server, MESSAGE)]
        assert "call of codex" in texts
        assert any(text.startswith("thread started in") for text in texts)
        await server.result(server.request("logging/setLevel", {"level": "emergency"}))
        count = len(notifications(server, MESSAGE))
        await run(server, "hello")
        assert len(notifications(server, MESSAGE)) == count
        assert (await error(server, "logging/setLevel", {"level": "loud"}))["code"] == -32602


async def test_a_stateless_request_names_its_log_level_itself(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        logged = {**STATELESS, LOG_LEVEL_KEY: "info"}
        call = server.call("codex", {"prompt": "[[scene: hello]]"}, meta=logged)
        await server.result(call)
        texts = [each["data"] for each in notifications(server, MESSAGE)]
        assert texts[0] == "call of codex"
        assert any(text.startswith("thread started in") for text in texts)
        await server.result(server.call("codex", {"prompt": "[[scene: hello]]"}, meta=STATELESS))
        assert len(notifications(server, MESSAGE)) == len(texts)
        wrong = server.call("codex", {"prompt": "x"}, meta={**STATELESS, LOG_LEVEL_KEY: "loud"})
        assert (await server.answer(wrong))["error"]["code"] == -32602
