"""Our client with our exec-server: the tests of the client's modules, and what only we offer."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.process import Completed
from codex_mcp.wire.exec.protocol import ProcessOutput
from tests.support.exec.client_scenes import Scene, Size, scenes, storm
from tests.support.exec.exec_server import connected, own_exec_server, running_exec_server, served_by

WITHOUT = frozenset(
    {
        "test_what_a_server_does_not_announce_is_not_asked_of_it",  # ours announces it
        "test_a_server_that_does_not_support_watches_is_not_asked",  # ours supports them
        "test_output_beyond_what_the_server_retains_ends_that_process_alone",  # ours loses none, see below
        "test_a_server_that_is_killed_takes_no_client_with_it",  # ours tells of its processes' end even then
    }
)

SMALL = Size(processes=12, lines=80, cut=0.02)
FULL = Size(processes=50, lines=400, cut=0.003)
EVENTS = 10_000


@pytest.mark.parametrize("scene", scenes(without=WITHOUT).values(), ids=scenes(without=WITHOUT))
async def test_the_client_does_with_our_server_what_it_does_with_codex(tmp_path: Path, scene: Scene) -> None:
    with served_by(own_exec_server()):
        await scene(tmp_path)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_line_of_every_process_survives_a_storm(tmp_path: Path, seed: int) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path / "home") as server:
            weathered = await storm(server.port, SMALL, seed)
    assert weathered.cuts
    assert weathered.events > SMALL.processes // 2 * SMALL.lines


async def test_ten_thousand_events_of_fifty_processes_survive_a_storm(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path / "home") as server:
            weathered = await storm(server.port, FULL, seed=1)
    assert weathered.events >= EVENTS
    assert weathered.cuts >= FULL.processes // 5
    assert weathered.repeats >= EVENTS // 100
    assert weathered.ghosts


async def test_a_process_that_says_much_while_nobody_is_connected_waits_and_loses_nothing(tmp_path: Path) -> None:
    size = 5_000_000  # five times what a server retains
    with served_by(own_exec_server()):
        async with connected(tmp_path) as setting:
            go = setting.folder / "go"
            process = await setting.client.start(
                ["sh", "-c", f"mkfifo go; echo a; read x < go; head -c {size} /dev/zero"]
            )
            events = process.events()
            await anext(events)
            setting.proxy.is_refusing = True
            setting.proxy.cut()
            await setting.proxy.knocks(2)
            await asyncio.to_thread(go.write_text, "\n")
            await setting.proxy.knocks(4)
            setting.proxy.is_refusing = False
            rest = [event.chunk async for event in events if isinstance(event, ProcessOutput)]
            assert b"".join(rest) == bytes(size)


async def test_a_connection_that_died_without_a_word_does_not_keep_its_client_out(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with connected(tmp_path) as setting:
            process = await setting.client.start(["head", "-n", "1"], StartOptions(pipe_stdin=True))
            setting.proxy.is_lingering = True  # the server is not told of the end
            setting.proxy.cut()
            await process.write(b"still here\n")
            assert (await process.collect()).stdout == b"still here\n"


async def test_a_process_reads_the_end_of_its_input(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with connected(tmp_path) as setting:
            process = await setting.client.start(["cat"], StartOptions(pipe_stdin=True))
            await process.write(b"all there is")
            await process.close_stdin()
            assert await process.collect() == Completed(0, b"all there is", b"")


async def test_the_end_of_the_input_survives_a_cut(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with connected(tmp_path) as setting:
            process = await setting.client.start(["wc", "-c"], StartOptions(pipe_stdin=True))
            await process.write(b"12345")
            setting.proxy.mute()
            async with asyncio.TaskGroup() as group:
                group.create_task(process.close_stdin())
                await setting.proxy.something_held.wait()
                setting.proxy.cut()
            assert (await process.collect()).stdout.strip() == b"5"


async def test_a_terminal_learns_its_new_size(tmp_path: Path) -> None:
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do read -rt 1 line; done"
    with served_by(own_exec_server()):
        async with connected(tmp_path) as setting:
            process = await setting.client.start(["bash", "-c", script], StartOptions(tty=True))
            said = b""
            async for event in process.events():
                if isinstance(event, ProcessOutput):
                    said += event.chunk
                    if said == b"ready\r\n":
                        await process.resize(50, 132)
            assert said == b"ready\r\n50 132\r\n"
