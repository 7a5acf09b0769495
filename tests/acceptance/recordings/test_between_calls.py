"""What 0.153.4 did wrong between calls or in every call, so that no single recording shows it."""

import os
from pathlib import Path

from tests.acceptance.recordings.exchange import (
    BEGUN,
    ENDED,
    NEW,
    OPENED,
    answered,
    as_recorded,
    event_types,
    scene,
    serve,
    thread_of,
)
from tests.support.servers.mcp_server import Json, McpServer


async def test_what_happens_between_calls_is_told_at_once_and_not_to_the_next_call(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        door = server.setup.work / "door"
        os.mkfifo(door)
        command = scene("run", cmd="read -r word < door; echo $word", **{"yield": "250"})
        call = server.call("codex", {"prompt": command, "sandbox": "workspace-write"})
        thread = thread_of(await server.result(call))
        assert "exec_command_end" not in event_types(server, call)

        with os.fdopen(os.open(door, os.O_WRONLY), "w") as writing:
            writing.write("open\n")
        end = await server.event("exec_command_end", call)
        assert end["params"]["msg"]["aggregated_output"] == "open\n"

        after = server.call("codex-reply", {"threadId": thread, "prompt": scene("say")})
        assert as_recorded(await server.result(after)) == answered(thread, "Good day.")
        assert event_types(server, after) == [*BEGUN, *ENDED]


async def test_an_idle_thread_is_put_away_and_comes_back_from_disk(tmp_path: Path) -> None:
    async with serve(tmp_path, "--thread-idle", "0.2") as (server, model):
        await server.initialize()
        thread = thread_of(await server.run("codex", {"prompt": scene("say", text="Remember me.")}))
        await put_away(server, thread)
        call = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text="I do.")})

        assert as_recorded(await server.result(call)) == answered(thread, "I do.")
        assert event_types(server, call) == [*OPENED, *BEGUN, *ENDED]
        assert "Remember me." in model.requests[-1].body.decode()


async def put_away(server: McpServer, thread: str) -> None:
    """Wait until the server no longer has the thread at hand, which is when there is nothing to collect from it."""
    known = True
    while known:
        known = "isError" not in await server.run("codex_wait", {"threadIds": [thread], "timeout-seconds": 0.05})


async def test_raw_events_and_items_are_sent_on_request_only(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        plain = server.call("codex", {"prompt": scene("say")})
        await server.result(plain)
        full = server.call("codex", {"prompt": scene("say"), "events": "full"})
        await server.result(full)

        assert noise(server.events(plain)) == set()
        assert noise(server.events(full)) >= {"raw_response_item", "item_started", "item_completed"}
        assert event_types(server, plain) == [*NEW, *ENDED]


def noise(events: list[Json]) -> set[str]:
    return {event["type"] for event in events if event["type"].startswith(("raw_", "item_"))}
