"""A real `codex-mcp rendezvous` for a test, with principals that may do different things."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.relay.bodies import Connected, Registered
from codex_mcp.relay.frames import Body, Frame, encode
from codex_mcp.relay.keys import PrivateKeys
from codex_mcp.relay.registry_client import RegistryClient
from codex_mcp.transports.websockets.dialled import DialledSocket, dial
from tests.support.patience import PATIENCE
from tests.support.relay import private_keys
from tests.support.servers.child import Child

ONLINE = '"event":"executor_connected"'
OFFLINE = '"event":"executor_left"'
"""In the log of a rendezvous."""

ROOT = str(Path(__file__).parents[2])

TOKENS = {name: f"the-token-of-{name}-for-tests" for name in ("alice", "bob", "ci")}

TOKEN_FILE = f"""
# the principals of the tests
alice {TOKENS["alice"]} register=alice-* reach=alice-*,build-*
bob   {TOKENS["bob"]}   register=bob-*,shared reach=bob-*,shared
ci    {TOKENS["ci"]}    register=build-*,shared
"""


class Talkative(Child):
    """A program whose log tells what it does."""

    _heard: asyncio.Condition

    async def begin(self) -> None:
        self._heard = asyncio.Condition()

    async def read_stderr(self) -> bool:
        """Read a line, and wake whoever waits for it."""
        is_open = await super().read_stderr()
        async with self._heard:
            self._heard.notify_all()
        return is_open

    async def said(self, words: str, times: int = 1) -> None:
        """Wait until it has written this so often to stderr."""
        async with asyncio.timeout(PATIENCE), self._heard:
            await self._heard.wait_for(lambda: self.stderr.count(words) >= times)


class RunningRendezvous(Talkative):
    """`async with RunningRendezvous(home) as rendezvous:`; `port` lets a second one take the place of the first."""

    PROGRAM = "codex_mcp"

    def __init__(self, home: Path, port: int = 0, *flags: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.tokens = home / "tokens"
        if not self.tokens.exists():
            self.tokens.write_text(TOKEN_FILE)
            self.tokens.chmod(0o600)
        self.audit = home / "audit.jsonl"
        argv = [sys.executable, "-m", self.PROGRAM, "rendezvous", "--port", str(port), "--log-level", "info"]
        argv += ["--tokens", str(self.tokens), "--audit", str(self.audit), *flags]
        super().__init__(argv, {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": ROOT}, home, stdin=False)
        self.url = ""

    async def begin(self) -> None:
        """Wait until it listens."""
        await super().begin()
        self.url = (await self.stdout.readline()).decode().strip()
        assert self.url.startswith("http"), f"the rendezvous did not start: {self.url!r}"

    async def ask_to_end(self) -> None:
        """One signal is enough."""
        self.signal(signal.SIGTERM)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def as_(self, principal: str) -> RegistryClient:
        """The registry, asked with this principal's token."""
        return RegistryClient(self.url, TOKENS[principal])


class HostileRendezvous(RunningRendezvous):
    """One that can turn against the streams that it has."""

    PROGRAM = "tests.support.hostile_rendezvous"

    async def turn(self) -> None:
        """From now on their ends only hear the rendezvous itself."""
        self.signal(signal.SIGUSR1)
        await self.said("turned")


class ResettingRendezvous(RunningRendezvous):
    """One that forges resets."""

    PROGRAM = "tests.support.resetting_rendezvous"

    async def arm(self, towards: str, behind: int) -> None:
        """Send this end, "harness" or "executor", a reset behind this frame for it, counted from now on."""
        order = self.tokens.with_name("order")
        order.write_text(f"{towards} {behind}")
        self.signal(signal.SIGUSR1)
        await self.said("armed: ", self.stderr.count("armed: ") + 1)

    @property
    def resets(self) -> int:
        """Forged so far."""
        return self.stderr.count("forged a reset")


class MeasuredRendezvous(RunningRendezvous):
    """One that can tell how much memory it has in use."""

    PROGRAM = "tests.support.measured_rendezvous"

    async def in_use(self) -> tuple[int, int]:
        """Objects of Python, and KiB of everything else."""
        words = "in use: "
        times = self.stderr.count(words) + 1
        self.signal(signal.SIGUSR1)
        await self.said(words, times)
        objects, _, kib, _ = self.stderr.rpartition(words)[2].split("\n")[0].split()
        return int(objects), int(kib)


async def relay_socket(answer: Registered | Connected) -> DialledSocket:
    """Open the socket that the registry gave out."""
    return await dial(answer.url, {}, PATIENCE, is_relay=True)


def executor_keys() -> PrivateKeys:
    """Those of every executor in these tests."""
    return private_keys("executor")


class RunningExecutor(Talkative):
    """`codex-mcp exec-server --remote`, or another program that does the same; ready when it is connected."""

    def __init__(self, url: str, home: Path, argv: Sequence[str] = (), environment_id: str = "build-1") -> None:
        home.mkdir(parents=True, exist_ok=True)
        ours = [sys.executable, "-m", "codex_mcp", "exec-server", "--log-level", "info"]
        argv = [*(argv or ours), "--remote", url, "--environment-id", environment_id]
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
        super().__init__(argv, {**environ, "CODEX_API_KEY": TOKENS["ci"]}, home, stdin=False)
        self.home = home

    async def ask_to_end(self) -> None:
        """One signal is enough."""
        self.signal(signal.SIGTERM)


class TcpProxy:
    """`async with TcpProxy(port) as proxy:` passes bytes on, until `cut` breaks all connections."""

    def __init__(self, port: int) -> None:
        self.target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks = TaskSet()
        self._server: asyncio.Server | None = None
        self.accepted = 0
        """Connections that came so far."""
        self._knocked = asyncio.Condition()
        self.gate = asyncio.Event()
        """While it is cleared, new connections wait."""
        self.gate.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._tasks.aclose()

    @property
    def url(self) -> str:
        """What to use instead of the rendezvous's own."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection, with what is on its way."""
        for writer in self._writers:
            writer.transport.abort()

    async def knocks(self, count: int) -> None:
        """Wait until so many connections have come."""
        async with asyncio.timeout(PATIENCE), self._knocked:
            await self._knocked.wait_for(lambda: self.accepted >= count)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        async with self._knocked:
            self.accepted += 1
            self._knocked.notify_all()
        await self.gate.wait()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        self._tasks.spawn(self._pipe(reader, far_writer), name="to the rendezvous")
        self._tasks.spawn(self._pipe(far_reader, writer), name="from the rendezvous")

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.transport.abort() if writer.transport.is_closing() else writer.close()


def relay_url(url: str, environment_id: str = "build-1") -> str:
    """How a harness names an executor behind the rendezvous at this URL."""
    return f"relay+{url}/{environment_id}"


def as_harness(principal: str = "alice", pin: str | None = None) -> ExecServerClientConnectOptions:
    """The options of a client that reaches executors as this principal."""
    return ExecServerClientConnectOptions(bearer_token=TOKENS[principal], pin=pin)


async def received(socket: DialledSocket, count: int = 1) -> list[bytes]:
    """So many frames, or more."""
    frames: list[bytes] = []
    async with asyncio.timeout(PATIENCE):
        while len(frames) < count:
            batch = await socket.receive()
            assert batch, "the socket was closed"
            frames += batch
    return frames


async def an_executor(
    rendezvous: RunningRendezvous, environment_id: str = "build-1"
) -> tuple[Registered, DialledSocket]:
    """The socket of an executor that the test plays."""
    answer = await rendezvous.as_("ci").register(environment_id, executor_keys().public, "a builder")
    return answer, await relay_socket(answer)


def a_frame(body: Body, stream_id: str = "s") -> bytes:
    """As it is on the wire."""
    return encode(Frame(stream_id, body))
