"""The environments of a core: when each is opened, added, asked, given up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.settings.environments import Environment
from codex_mcp.codex import environments as module
from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.codex.environments import CoreEnvironments, Entrance, reach_directly
from tests.support.patience import PATIENCE

KNOWN = {name: Environment(name, f"ws://{name}") for name in ("one", "two", "exec-server")}


class Scene:
    """A core that answers, and ways that open and close; `told` is what happened, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.error: CoreError | None = None
        self.problem = ""
        self.closed = asyncio.Event()
        self.environments = CoreEnvironments(KNOWN, self.reach, self.ask)

    @contextlib.asynccontextmanager
    async def reach(self, environment: Environment) -> AsyncIterator[Entrance]:
        self.told.append(f"open {environment.name}")
        yield Entrance(environment.url, "token", lambda: self.problem)
        self.told.append(f"close {environment.name}")
        self.closed.set()

    async def ask(self, method: str, params: object) -> object:
        fields = msgspec.to_builtins(params)
        self.told.append(f"{method} {fields['environmentId']}")
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return None

    async def use(self, name: str | None, thread_id: str = "thread") -> None:
        async with self.environments.used(name) as stays:
            stays(thread_id)


ADDED = ["open one", "environment/add one", "environment/info one"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_it_is_opened_at_its_first_use_and_only_asked_later(scene: Scene) -> None:
    await scene.use("one")
    await scene.use("one")
    assert scene.told == [*ADDED, "environment/info one"]
    await scene.environments.aclose()
    assert scene.told[-1] == "close one"


async def test_one_that_codex_could_not_reach_is_not_in_use(scene: Scene) -> None:
    scene.error = CoreError("Connection refused")
    with pytest.raises(CoreError, match="Connection refused"):
        await scene.use("one")
    state = scene.environments.states()["one"]
    assert (state.state, "Connection refused" in state.why) == ("not reached", True)
    scene.error = None
    await scene.use("one")
    assert scene.environments.states()["one"].state == "in use"
    scene.problem = "its relay is gone"
    assert scene.environments.states()["one"].why == "its relay is gone"
    scene.problem = ""
    assert scene.environments.states()["one"].state == "in use"
    await scene.environments.aclose()


async def test_threads_that_begin_at_once_add_it_once(scene: Scene) -> None:
    await asyncio.gather(*(scene.use("one", str(number)) for number in range(10)))
    assert scene.told.count("open one") == scene.told.count("environment/add one") == 1
    await scene.environments.aclose()


async def test_it_is_given_up_after_its_last_thread_and_opened_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINGER", 0)
    await scene.use("one", "a")
    await scene.use("one", "b")
    scene.environments.left("a")
    scene.environments.left("of another environment")
    await asyncio.sleep(0)
    assert not scene.closed.is_set()
    scene.environments.left("b")
    async with asyncio.timeout(PATIENCE):
        await scene.closed.wait()
    await scene.use("one", "c")
    assert scene.told[-4:] == ["close one", *ADDED]
    await scene.environments.aclose()


async def test_a_thread_that_does_not_begin_leaves_nothing_open(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 0)
    with pytest.raises(ZeroDivisionError):
        async with scene.environments.used("one"):
            raise ZeroDivisionError
    async with asyncio.timeout(PATIENCE):
        await scene.closed.wait()
    await scene.environments.aclose()


async def test_a_thread_in_the_meantime_keeps_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 0)
    await scene.use("one", "a")
    async with scene.environments.used("one") as stays:
        scene.environments.left("a")
        for _ in range(10):
            await asyncio.sleep(0)
        stays("b")
    assert "close one" not in scene.told
    await scene.environments.aclose()


@pytest.mark.parametrize("name", [None, "local"])
async def test_this_machine_needs_nothing(scene: Scene, name: str | None) -> None:
    await scene.use(name)
    assert scene.told == []


async def test_an_unknown_one_is_told_with_those_that_exist(scene: Scene) -> None:
    with pytest.raises(
        CoreError, match=r"no environment 'tow' on this server; did you mean two.*known: local, one, two"
    ):
        await scene.use("tow")


@pytest.mark.parametrize(
    ("name", "problem", "text"),
    [
        ("one", "", "cannot use the environment one (ws://one): no answer; start it"),
        ("one", "the executor is away", "cannot use the environment one (ws://one): the executor is away; start it"),
        ("exec-server", "", "cannot use the exec-server ws://exec-server: no answer; start it"),
    ],
)
async def test_one_that_does_not_answer_is_named_with_the_reason(
    scene: Scene, name: str, problem: str, text: str
) -> None:
    await scene.use(name)
    scene.error, scene.problem = CoreError("no answer"), problem
    with pytest.raises(CoreError) as raised:
        await scene.use(name)
    assert str(raised.value).startswith(text)
    await scene.environments.aclose()


async def test_a_core_that_dies_is_told_as_such(scene: Scene) -> None:
    scene.error = CoreLost("it died")
    with pytest.raises(CoreLost, match="it died"):
        await scene.use("one")
    await scene.environments.aclose()
    assert scene.told[-1] == "close one"


async def test_a_token_is_read_when_it_is_needed(tmp_path: Path) -> None:
    token = tmp_path / "token"
    environment = Environment("one", "ws://one", str(token))
    with pytest.raises(CoreError, match="cannot read the token file"):
        async with reach_directly(environment):
            pass
    token.write_text("secret\n")
    async with reach_directly(environment) as door:
        assert (door.url, door.token, door.problem()) == ("ws://one", "secret", "")


async def test_a_way_that_cannot_be_closed_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CLOSING_SECONDS", 0.01)

    @contextlib.asynccontextmanager
    async def stuck(environment: Environment) -> AsyncIterator[Entrance]:
        yield Entrance(environment.url)
        await asyncio.Event().wait()

    environments = CoreEnvironments(KNOWN, stuck, Scene().ask)
    async with environments.used("one") as stays:
        stays("thread")
    async with asyncio.timeout(PATIENCE):
        await environments.aclose()
    assert "could not be closed" in caplog.text
