"""The real Codex here, our exec-server there, and a wire between them that can be cut.

Both run on one machine, but `there` is another folder under the same name: the exec-server lives in a mount namespace
in which it lies over `here`. So what is read and written shows on which side that happened. And only the exec-server
knows who NAME_THERE is.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from codex_mcp.execclient.bridge import Bridge
from codex_mcp.execclient.relay_route import RelayAddress
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.core.app_server import AppServer, Json, Turn
from tests.support.exec.cutting_proxy import CuttingProxy
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.exec.small_web import own_certificate
from tests.support.rendezvous import ONLINE, TOKENS, RunningExecutor, RunningRendezvous, TcpProxy, relay_url

SCRIPT = Path(__file__).parents[1] / "scripts/elsewhere.toml"

NAME_THERE = "known.there.test"
"""This machine, by a name that only the exec-server knows."""

MOVED = 'mount --bind "$0" "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'
IN_ANOTHER_PLACE = ("unshare", "--map-root-user", "--mount", "sh", "-c", MOVED)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A thread whose environment is our exec-server."""

    app: AppServer
    model: ScriptedModel
    proxy: CuttingProxy
    """Through a relay it is a TcpProxy, which can only cut."""
    thread: str
    here: Path
    """The thread's folder, as Codex sees it."""
    there: Path
    """What the exec-server has in its place."""

    async def run(self, scene: str) -> Turn:
        """Play a scene to its end, which must be a good one."""
        return await self.finish(await self.begin(scene))

    async def begin(self, scene: str) -> str:
        """Begin to play a scene; the turn's id."""
        return await self.app.start_turn(self.thread, f"[[scene: {scene}]]")

    async def finish(self, turn: str) -> Turn:
        """Wait for the turn's end, which must be a good one."""
        ended = await self.app.finish_turn(turn)
        assert (ended.status, ended.error) == ("completed", None)
        return ended

    async def in_a_new_thread(self, scene: str) -> Turn:
        """The same in another thread, which begins with what is there now, MCP servers included."""
        thread = await self.app.start_thread(cwd=str(self.here), sandbox="danger-full-access", approvalPolicy="never")
        where = {"threadId": thread, "name": "inner", "status": "ready"}
        await self.app.wait_for("mcpServer/startupStatus/updated", lambda params: where.items() <= params.items())
        return await self.finish(await self.app.start_turn(thread, f"[[scene: {scene}]]"))

    async def command(self, turn: str) -> Json:
        """Wait for the end of the turn, and of its one command, of which Codex may tell later."""
        await self.finish(turn)
        ended = await self.app.wait_for(
            "item/completed",
            lambda params: params["turnId"] == turn and params["item"]["type"] == "commandExecution",
        )
        command: Json = ended["item"]
        return command

    async def said(self, words: str) -> None:
        """Wait until a command has said this, in one piece."""
        await self.app.wait_for("item/commandExecution/outputDelta", lambda params: words in params["delta"])


Way = Callable[[Path, Sequence[str]], contextlib.AbstractAsyncContextManager[tuple[object, dict[str, str]]]]
"""Given a folder and what moves the executor elsewhere: the harness's wire, and what tells Codex about it."""


def noise_variables(url: str) -> dict[str, str]:
    """What makes Codex itself a harness."""
    prefix = "CODEX_EXEC_SERVER_NOISE"
    return {
        f"{prefix}_REGISTRY_URL": url,
        f"{prefix}_ENVIRONMENT_ID": "build-1",
        f"{prefix}_AUTH_TOKEN": TOKENS["alice"],
    }


@contextlib.asynccontextmanager
async def registered(folder: Path, executor: Sequence[str], *flags: str) -> AsyncIterator[TcpProxy]:
    """A rendezvous with these flags and this executor; the harness's wire to it."""
    async with (
        RunningRendezvous(folder / "rendezvous", 0, *flags) as rendezvous,
        TcpProxy(rendezvous.port) as proxy,
        RunningExecutor(rendezvous.url, folder / "server", executor),
    ):
        await rendezvous.said(ONLINE)
        yield proxy


def through_relay(executor: Sequence[str]) -> Way:
    """Codex itself reaches this executor through a rendezvous."""

    @contextlib.asynccontextmanager
    async def way(folder: Path, moved: Sequence[str]) -> AsyncIterator[tuple[TcpProxy, dict[str, str]]]:
        async with registered(folder, [*moved, *executor]) as proxy:
            yield proxy, noise_variables(proxy.url)

    return way


def through_tls(executor: Sequence[str]) -> Way:
    """The same with a rendezvous that speaks TLS, with a certificate that both ends are told to trust."""

    @contextlib.asynccontextmanager
    async def way(folder: Path, moved: Sequence[str]) -> AsyncIterator[tuple[TcpProxy, dict[str, str]]]:
        file = str(folder / "certificate.pem")
        own_certificate(Path(file))
        trusting = ["env", f"SSL_CERT_FILE={file}", *moved, *executor]
        async with registered(folder, trusting, "--tls-cert", file, "--tls-key", file) as proxy:
            url = proxy.url.replace("http://", "https://")
            yield proxy, {**noise_variables(url), "SSL_CERT_FILE": file}

    return way


def over_our_bridge(executor: Sequence[str]) -> Way:
    """Our harness reaches this executor through a rendezvous, and Codex dials our harness, as our server lets it."""

    @contextlib.asynccontextmanager
    async def way(folder: Path, moved: Sequence[str]) -> AsyncIterator[tuple[TcpProxy, dict[str, str]]]:
        async with registered(folder, [*moved, *executor]) as proxy:
            address = RelayAddress(relay_url(proxy.url), TOKENS["alice"])
            async with Bridge(address.dial) as bridge:
                home = folder / "client" / ".codex"
                home.mkdir(parents=True)
                (home / "environments.toml").write_text(
                    'default = "build-1"\ninclude_local = false\n[[environments]]\nid = "build-1"\n'
                    f'url = "{bridge.url}"\nauth_bearer_token = "{bridge.token}"\n'
                )
                yield proxy, {}

    return way


def through_our_forwarder(server: Sequence[str]) -> Way:
    """Codex itself reaches this exec-server, which listens, through a rendezvous and `exec-server forward`."""
    forward = [*own_exec_server()[:-2], "forward", "--connect"]

    @contextlib.asynccontextmanager
    async def way(folder: Path, moved: Sequence[str]) -> AsyncIterator[tuple[TcpProxy, dict[str, str]]]:
        with served_by([*moved, *server]):
            async with (
                running_exec_server(folder / "listening") as listening,
                registered(folder, [*forward, listening.url]) as proxy,
            ):
                yield proxy, noise_variables(proxy.url)

    return way


@contextlib.asynccontextmanager
async def dialled(folder: Path, moved: Sequence[str]) -> AsyncIterator[tuple[CuttingProxy, dict[str, str]]]:
    """An exec-server that listens; the wire to it, and what tells Codex about it."""
    with served_by([*moved, *own_exec_server()]):
        async with running_exec_server(folder / "server") as server, CuttingProxy(server.port) as proxy:
            yield proxy, {"CODEX_EXEC_SERVER_URL": proxy.url}


WAY: ContextVar[Way] = ContextVar("WAY", default=dialled)


@contextlib.contextmanager
def reached(way: Way) -> Iterator[None]:
    """Within this, Codex reaches its environment in this way."""
    token = WAY.set(way)
    try:
        yield
    finally:
        WAY.reset(token)


@contextlib.asynccontextmanager
async def codex_elsewhere(
    folder: Path, codex: Path | None = None, sandbox: str = "danger-full-access", overrides: Sequence[str] = ()
) -> AsyncIterator[Elsewhere]:
    """Codex of the wheel, or another one, with its environment on our exec-server."""
    here, there = folder / "place", folder / "other-place"
    for place in (here, there):
        place.mkdir(parents=True)
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {NAME_THERE}\n")
    moved = [*IN_ANOTHER_PLACE, str(there), str(here), str(hosts)]
    async with (
        WAY.get()(folder, moved) as (proxy, environment),
        ScriptedModel(load_script(SCRIPT)) as model,
        AppServer(folder / "client", [*model.codex_overrides(), *overrides], environment, codex) as app,
    ):
        thread = await app.start_thread(cwd=str(here), sandbox=sandbox, approvalPolicy="never")
        yield Elsewhere(app, model, cast("CuttingProxy", proxy), thread, here, there)
