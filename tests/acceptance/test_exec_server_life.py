"""Our exec-server from start to end: who may connect, what it keeps for whom, and that no process is left behind."""

import asyncio
import fcntl
import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from codex_mcp.transports.websockets.dialled import HandshakeRefused
from tests.support.exec.parts import eventually
from tests.support.exec.wire import OURS, Target, Wire, serving, session, target, text_of
from tests.support.patience import PATIENCE
from tests.support.processes import Process, ended

MIB = 1024 * 1024


async def all_ended(pids: list[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        for pid in pids:
            await ended(Process(pid, ()))


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def inner_server(guard: int) -> int:
    """The process that serves, below the one that guards it."""
    (child,) = children(guard)
    return child


async def family(wire: Wire, folder: Path) -> list[int]:
    """A process, its child, a grandchild that has fled from both, and a daemon that has outlived its command; their
    numbers."""
    daemon = "(setsid sh -c 'echo $$; exec sleep 100' &) ; exit"
    await wire.call("process/start", Target("", folder).shell("d", daemon))
    script = "echo $$; sleep 100 & echo $!; setsid sh -c 'echo $$; exec sleep 100' & wait"
    await wire.call("process/start", Target("", folder).shell("p", script))
    while len(text_of(wire.events("p")).split()) < 3 or not text_of(wire.events("d")) or not has_exited(wire, "d"):
        await wire.until(len(wire.news) + 1)
    return [int(word) for name in ("p", "d") for word in text_of(wire.events(name)).split()]


def has_exited(wire: Wire, process_id: str) -> bool:
    return any(event["method"] == "process/exited" for event in wire.events(process_id))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_server_that_is_told_to_stop_leaves_nobody(number: signal.Signals, tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OURS) as (url, process):
        async with session(url) as wire:
            pids = await family(wire, tmp_path)
            process.send_signal(number)
            assert await process.wait() == 0
        await all_ended(pids)


@pytest.mark.parametrize("who", ["guard", "server"])
async def test_a_server_that_is_killed_leaves_nobody(who: str, tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OURS) as (url, process):
        async with session(url) as wire:
            pids = await family(wire, tmp_path)
            inner = inner_server(process.pid)
            os.kill(inner if who == "server" else process.pid, signal.SIGKILL)
            await process.wait()
        await all_ended([*pids, inner])


async def test_only_bearers_of_the_token_come_in(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    flags = ["--ws-auth", "capability-token", "--ws-token-file", str(tmp_path / "token")]
    async with serving(tmp_path / "home", [*OURS, *flags]) as (url, _):
        for headers, why in [({}, "missing websocket bearer token"), ({"Authorization": "Bearer x"}, "invalid")]:
            with pytest.raises(HandshakeRefused, match=why):
                async with session(url, **headers):
                    pass
        async with session(url, Authorization="Bearer secret") as wire:
            assert await wire.call("environment/status") == {"status": "ready"}


async def test_many_short_processes_leave_nothing_in_the_server(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OURS) as (url, process), session(url) as wire:
        inner = inner_server(process.pid)
        here = Target(url, tmp_path)
        await wire.run(here.process("first", ["/bin/true"]))
        before = sorted(os.listdir(f"/proc/{inner}/fd"))
        for number in range(300):
            wire.ask("process/start", here.process(str(number), ["/bin/true"], tty=number % 10 == 0))
        for number in range(300):
            await wire.closed(str(number))
        assert sorted(os.listdir(f"/proc/{inner}/fd")) == before
        assert children(inner) == []


async def test_a_client_that_comes_back_has_missed_nothing_however_much_it_was(tmp_path: Path) -> None:
    size = 5 * MIB
    async with target(tmp_path) as here:
        async with session(here.url) as first:
            await first.call("process/start", here.shell("p", f"read x < gate; head -c {size} /dev/zero; exit 7"))
            session_id = first.session_id
        with (here.folder / "gate").open("w") as gate:
            gate.write("go\n")
        async with session(here.url, resume=session_id) as second:
            missed = (await second.call("process/read", {"processId": "p", "waitMs": 10_000}))["chunks"]
            assert isinstance(missed, list)
            await eventually_closed(second)
            sizes = {chunk["seq"]: decoded_size(chunk["chunk"]) for chunk in missed}
            for event in second.events("p"):
                sizes[event["seq"]] = decoded_size(str(event.get("chunk", "")))
        assert sorted(sizes) == list(range(1, len(sizes) + 1))
        assert sum(sizes.values()) == size


def decoded_size(chunk: str) -> int:
    return len(chunk) * 3 // 4 - chunk.count("=")


async def eventually_closed(wire: Wire) -> None:
    while not any(event["method"] == "process/closed" for event in wire.events("p")):
        await wire.until(len(wire.news) + 1)


def has_stopped_reading(server: int) -> bool:
    """Its four children have filled their pipes, and it sleeps nevertheless."""
    writers = children(server)
    return len(writers) == 4 and all(map(fills_its_pipe, writers)) and state(server) == "S"


def fills_its_pipe(pid: int) -> bool:
    try:
        output = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False  # not quite started
    try:
        waiting = fcntl.ioctl(output, termios.FIONREAD, bytes(4))
        return int.from_bytes(waiting, sys.byteorder) >= fcntl.fcntl(output, fcntl.F_GETPIPE_SZ)
    finally:
        os.close(output)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_a_client_that_does_not_read_does_not_fill_the_memory(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OURS) as (url, process), session(url) as wire:
        inner = inner_server(process.pid)
        here = Target(url, tmp_path)
        for number in range(4):
            wire.ask("process/start", here.process(str(number), ["head", "-c", "100000000", "/dev/zero"]))
        await eventually(lambda: has_stopped_reading(inner))
        assert resident_bytes(inner) < 150 * MIB
        for number in range(4):
            events = await wire.closed(str(number))
            got = sum(len(str(event.get("chunk", ""))) for event in events)
            assert got > 100_000_000


def peak_bytes(pid: int) -> int:
    """The most memory that a process and its children have had, each by itself, in all."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 + sum(peak_bytes(int(child)) for child in children)


async def test_answers_that_nobody_reads_do_not_pile_up(tmp_path: Path) -> None:
    large, count = 8 * 1024 * 1024, 24
    (tmp_path / "large").write_bytes(bytes(large))
    async with serving(tmp_path / "home", OURS) as (url, process), session(url) as other:
        before = peak_bytes(process.pid)
        async with session(url) as wire:
            asked = [wire.ask("fs/readFile", {"path": (tmp_path / "large").as_uri()}) for _ in range(count)]
            for _ in range(20):  # meanwhile the server has time for all of them
                await other.call("fs/readFile", {"path": (tmp_path / "large").as_uri()})
            for number in asked:
                answer = (await wire.answer(number))["result"]
                assert isinstance(answer, dict)
                assert len(str(answer["dataBase64"])) > large
        assert peak_bytes(process.pid) - before < count * large / 2


async def test_orphans_that_have_ended_are_buried(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OURS) as (url, process), session(url) as wire:
        inner = inner_server(process.pid)
        script = "(setsid sh -c 'echo $$ > said; read x < gate' < /dev/null > /dev/null 2>&1 &); exit"
        os.mkfifo(tmp_path / "gate")
        os.mkfifo(tmp_path / "said")
        assert await wire.run(Target("", tmp_path).shell("d", script)) == ("", 0)
        orphan = int(await asyncio.to_thread((tmp_path / "said").read_text))
        assert children(inner) == [orphan]
        (tmp_path / "gate").write_text("x\n")
        await eventually(lambda: children(inner) == [])
