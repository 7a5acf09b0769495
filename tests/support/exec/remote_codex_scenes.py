"""What the real Codex must be able to do on our exec-server, whichever Codex it is."""

import asyncio
import base64
import math
import os
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tests.support.clients import mcp_tool_server
from tests.support.core.app_server import Json
from tests.support.exec.cutting_proxy import CALM, Faults
from tests.support.exec.remote_codex import NAME_THERE, Elsewhere, codex_elsewhere
from tests.support.exec.small_web import Visit, small_web

Scene = Callable[[Path, Path | None], Awaitable[None]]
"""Given a folder, and a Codex if it is not the wheel's."""

TYPED = "ready\r\nblue\r\ngot blue\r\nred\r\ngot red\r\n"
"""What the terminal shows: each line as it was typed, and the program's answer."""

INNER_SERVER = Path(mcp_tool_server.__file__).read_text()

LINES = 2000

MUCH = 4_000_000
"""Bytes; four times what a server retains."""

BYTES_PER_TOKEN = 4
"""As Codex estimates."""


async def commands_run_there(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        (elsewhere.there / "found.txt").write_text("found there\n")
        turn = await elsewhere.begin('run cmd="cat found.txt; echo made > made.txt; pwd; exit 3"')
        command = await elsewhere.command(turn)
        assert command["aggregatedOutput"] == f"found there\n{elsewhere.here}\n"
        assert command["exitCode"] == 3
        assert (elsewhere.there / "made.txt").read_text() == "made\n"
        assert not list(elsewhere.here.iterdir())


async def a_terminal_is_typed_into(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await elsewhere.begin("terminal")
        await elsewhere.model.wait_for_gate("typing")
        elsewhere.model.release("typing")
        await typed_once(elsewhere, turn)


async def patches_change_files_there(folder: Path, codex: Path | None) -> None:
    await patched(folder, codex, "danger-full-access")


async def patches_change_files_there_within_the_sandbox(folder: Path, codex: Path | None) -> None:
    await patched(folder, codex, "workspace-write")


async def patched(folder: Path, codex: Path | None, sandbox: str) -> None:
    async with codex_elsewhere(folder, codex, sandbox) as elsewhere:
        before = {"changed.txt": "before\nstays\n", "old-name.txt": "moved\n", "unwanted.txt": "x\n"}
        for name, text in before.items():
            (elsewhere.there / name).write_text(text)
        turn = await elsewhere.run("patch")
        assert [item["status"] for item in turn.items_of("fileChange")] == ["completed"], turn.text
        after = {path.name: path.read_text() for path in elsewhere.there.rglob("*.txt")}
        wanted = {"new.txt": "brand new\n", "changed.txt": "after\nstays\n", "new-name.txt": "moved and changed\n"}
        assert after == wanted
        assert not list(elsewhere.here.iterdir())


async def pictures_are_found_there(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        data = picture(2, b"")
        (elsewhere.there / "picture.png").write_bytes(data)
        await elsewhere.run("look")
        assert last_picture(elsewhere) == data


async def pictures_larger_than_a_frame_are_found_there(folder: Path, codex: Path | None) -> None:
    """Codex reads no frame above 16 MiB; it gives the model a smaller picture than this one."""
    async with codex_elsewhere(folder, codex) as elsewhere:
        (elsewhere.there / "picture.png").write_bytes(picture(2, os.urandom(13_000_000)))
        await elsewhere.run("look")
        assert last_picture(elsewhere).startswith(b"\x89PNG")


async def an_mcp_server_runs_there(folder: Path, codex: Path | None) -> None:
    server = [f'command="{sys.executable}"', 'args=["server.py"]', f'cwd="{folder}/place"']
    async with codex_elsewhere(folder, codex, overrides=inner(*server)) as elsewhere:
        (elsewhere.there / "server.py").write_text(INNER_SERVER)
        turn = await elsewhere.in_a_new_thread("tool")
        assert "echo: {'text': 'hi'}" in turn.text


async def an_mcp_server_is_reached_from_there(folder: Path, codex: Path | None) -> None:
    async with small_web({"/mcp": inner_page}) as web:
        url = f'url="http://{NAME_THERE}:{web.port}/mcp"'
        async with codex_elsewhere(folder, codex, overrides=inner(url)) as elsewhere:
            turn = await elsewhere.in_a_new_thread("tool")
            assert "echo of hi" in turn.text


def inner(*lines: str) -> list[str]:
    """The configuration of an MCP server in the environment."""
    more = ('environment_id="remote"', 'default_tools_approval_mode="approve"')
    return [f"mcp_servers.inner.{line}" for line in (*lines, *more)]


async def inner_page(visit: Visit) -> None:
    """An MCP server over HTTP, as small as can be; its answer to a call comes as a stream."""
    message = msgspec.json.decode(visit.body or b"{}")
    info = {"serverInfo": {"name": "inner", "version": "0"}, "capabilities": {"tools": {}}}
    match message.get("method"):
        case "initialize":
            result: Json = {"protocolVersion": message["params"]["protocolVersion"], **info}
        case "tools/list":
            result = {"tools": [{"name": "echo", "description": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            said = f"echo of {message['params']['arguments']['text']}"
            result = {"content": [{"type": "text", "text": said}]}
        case _:
            await visit.answer(b"", "202 Accepted" if visit.method == "POST" else "405 Method Not Allowed")
            return
    answer = msgspec.json.encode({"jsonrpc": "2.0", "id": message["id"], "result": result})
    if message["method"] == "tools/call":
        await visit.say(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: " + answer + b"\n\n")
    else:
        await visit.answer(answer, fields="content-type: application/json\r\n")


async def a_cut_in_the_middle_of_a_command_is_not_noticed(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await running_command(elsewhere, f"seq {LINES}")
        before = elsewhere.proxy.accepted
        elsewhere.proxy.cut()
        await elsewhere.proxy.knocks(before + 1)
        let_go(elsewhere)
        said_once(await elsewhere.command(turn))


async def what_is_said_while_nobody_listens_is_heard(folder: Path, codex: Path | None) -> None:
    """The command is over before Codex is back."""
    async with codex_elsewhere(folder, codex) as elsewhere:
        os.mkfifo(elsewhere.there / "done")
        turn = await running_command(elsewhere, f"seq {LINES}; echo > done")
        elsewhere.proxy.is_refusing = True
        elsewhere.proxy.cut()
        let_go(elsewhere)
        await asyncio.to_thread((elsewhere.there / "done").read_text)
        elsewhere.proxy.is_refusing = False
        said_once(await elsewhere.command(turn))


async def more_than_is_retained_is_said_while_nobody_listens(folder: Path, codex: Path | None) -> None:
    """Codex shows the beginning and the end of so much; how much it was, it knows."""
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await running_command(elsewhere, f"head -c {MUCH} /dev/zero | tr '\\\\0' x; echo; echo last")
        elsewhere.proxy.is_refusing = True
        elsewhere.proxy.cut()
        let_go(elsewhere)
        await elsewhere.proxy.knocks(5)
        elsewhere.proxy.is_refusing = False
        command = await elsewhere.command(turn)
        output, said = command["aggregatedOutput"], (await elsewhere.finish(turn)).text
        ticks, _, _ = output.partition("x")
        assert (output[-7:], command["exitCode"]) == ("x\nlast\n", 5), said[:500]
        tokens = math.ceil((len(ticks) + MUCH + len("\nlast\n")) / BYTES_PER_TOKEN)
        assert f"Original token count: {tokens}\n" in said


async def a_cut_between_two_lines_typed_is_not_noticed(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await elsewhere.begin("terminal")
        await elsewhere.model.wait_for_gate("typing")
        elsewhere.proxy.cut()
        elsewhere.model.release("typing")
        await typed_once(elsewhere, turn)


async def a_line_whose_receipt_is_lost_is_typed_once(folder: Path, codex: Path | None) -> None:
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await elsewhere.begin("terminal")
        await elsewhere.model.wait_for_gate("typing")
        elsewhere.proxy.mute()
        elsewhere.model.release("typing")
        await elsewhere.proxy.something_held.wait()
        elsewhere.proxy.cut()
        await typed_once(elsewhere, turn)


async def a_command_survives_a_storm(folder: Path, codex: Path | None) -> None:
    """The connection breaks again and again, in the middle of messages too."""
    async with codex_elsewhere(folder, codex) as elsewhere:
        turn = await running_command(elsewhere, f"seq {LINES}")
        elsewhere.proxy.faults = Faults(cut=0.05, delay=0.2)
        await elsewhere.proxy.knocks(6)
        let_go(elsewhere)
        await elsewhere.said(f"{LINES}\n")
        elsewhere.proxy.faults = CALM
        said_once(await elsewhere.command(turn))


async def running_command(elsewhere: Elsewhere, then: str) -> str:
    """Start a command that counts until it is let go, and wait until it is heard; the turn's id."""
    count = "n=0; until test -e go; do n=$((n + 1)); echo tick $n; sleep 0.02; done"
    turn = await elsewhere.begin(f'run cmd="{count}; {then}; exit 5"')
    await elsewhere.said("tick")
    return turn


def let_go(elsewhere: Elsewhere) -> None:
    """Let the command go on."""
    (elsewhere.there / "go").touch()


def said_once(command: Json) -> None:
    """All ticks came, and all lines after them, each once and in order."""
    lines = command["aggregatedOutput"].splitlines()
    ticks = len(lines) - LINES
    assert ticks > 0
    assert lines == [f"tick {n}" for n in range(1, ticks + 1)] + [str(n) for n in range(1, LINES + 1)]
    assert command["exitCode"] == 5


async def typed_once(elsewhere: Elsewhere, turn: str) -> None:
    """The program got both lines, each once."""
    command = await elsewhere.command(turn)
    assert command["aggregatedOutput"] == TYPED
    assert command["exitCode"] == 6


def picture(width: int, noise: bytes) -> bytes:
    """A PNG of one row, with a chunk that is ignored."""
    row = b"\0" + bytes(range(3 * width))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 2, 0, 0, 0)), (b"prVt", noise)]
    chunks += [(b"IDAT", zlib.compress(row)), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def last_picture(elsewhere: Elsewhere) -> bytes:
    """What the model was shown last."""
    items = msgspec.json.decode(elsewhere.model.requests[-1].body)["input"]
    (shown,) = items[-1]["output"]
    prefix, _, data = shown["image_url"].partition(",")
    assert prefix == "data:image/png;base64"
    return base64.b64decode(data)


SCENES: list[Scene] = [
    commands_run_there,
    a_terminal_is_typed_into,
    patches_change_files_there,
    patches_change_files_there_within_the_sandbox,
    pictures_are_found_there,
    pictures_larger_than_a_frame_are_found_there,
    an_mcp_server_runs_there,
    an_mcp_server_is_reached_from_there,
    a_cut_in_the_middle_of_a_command_is_not_noticed,
    what_is_said_while_nobody_listens_is_heard,
    more_than_is_retained_is_said_while_nobody_listens,
    a_cut_between_two_lines_typed_is_not_noticed,
    a_line_whose_receipt_is_lost_is_typed_once,
    a_command_survives_a_storm,
]
