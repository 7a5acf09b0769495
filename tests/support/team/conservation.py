"""Agents that do everything that makes Codex ask the model, at random: what the model counts is what we report.

The operations hold the model at a gate before they stop something, so that a request is either answered or interrupted.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.team_server import TeamServer, structured

SCRIPT = Path(__file__).parents[1] / "scripts/conservation.toml"

SETTINGS = ("model_auto_compact_token_limit=5000", "agents.max_threads=200", "bypass_hook_trust=true")

HOOK = """
grep -q "says the agent" || exit 0
echo '{"decision": "block", "reason": "hello"}'
"""
"""Lets a turn go on that has ended with these words."""

SECOND_DESIGN = "gpt-6.1-sol"
"""A model whose sub-agents start others."""

ROUNDS = 5
"""Between two restarts."""

Operation = Callable[[], Coroutine[Any, Any, object]]

Start = Callable[[ScriptedModel], AbstractAsyncContextManager[TeamServer]]


NUMBERS = (1, 2, 11, 12)
"""Of the agents. Those that end with 2 have the second design of sub-agents."""


class Agent:
    """One agent, and what it is asked to do."""

    def __init__(self, world: "World", name: str, dice: random.Random) -> None:
        self.world = world
        self.name = name
        self.dice = dice
        self.is_second = name.endswith("2") and not world.is_old
        self.codex_id = ""
        self.threads: set[str] = set()
        """Its thread, and those of its reviews."""
        self._gates = 0
        self._deck: list[Operation] = []

    @property
    def server(self) -> TeamServer:
        return self.world.server

    @property
    def model(self) -> ScriptedModel:
        return self.world.model

    def gate(self) -> str:
        self._gates += 1
        return f"{self.name}-{self._gates}"

    async def begin(self) -> None:
        more = {"model": SECOND_DESIGN} if self.is_second else {}
        self.told(await self.server.start("hello", identity=self.name, **more))

    def told(self, result: Json) -> Json:
        self.codex_id = result["codex_id"]
        self.threads.add(result["threadId"])
        return result

    async def prompt(self, prompt: str, **more: Any) -> Json:
        return self.told(await self.server.reply(self.name, prompt, **more))

    async def until_idle(self) -> None:
        """Wait until nothing goes on, here or in sub-agents."""
        while (await self.server.threads())[self.codex_id]["state"] == "busy":
            await self.server.run("codex_wait", {"ids": [self.codex_id]})

    async def stop(self) -> None:
        """Stop it in one of the ways."""
        if self.dice.random() < 0.5:
            await self.server.run("codex_interrupt", {"identity": self.name})
        else:
            await self.close()

    async def close(self) -> None:
        await self.server.close_agent(self.codex_id)
        self.told(await self.server.start("hello", codex_id=self.codex_id))

    async def forget_goal(self) -> None:
        await self.prompt("hello", **{"goal-status": "cleared"})

    # -- operations ----------------------------------------------------------------------------------------------------

    async def says_hello(self) -> None:
        await self.prompt("hello")

    async def fails(self) -> None:
        await self.server.run("codex-reply", {"identity": self.name, "prompt": "[[scene: fails]]"})

    async def is_steered(self) -> None:
        await self.works()
        await self.prompt("hello", when="steer")  # Codex gives up the request that waits at the gate

    async def is_stopped(self) -> None:
        await self.works()
        await self.stop()

    async def reaches_a_goal(self) -> None:
        await self.prompt("[[scene: set_goal]]")

    async def spends_the_tokens_of_a_goal(self) -> None:
        await self.prompt("hello", goal="go on", **{"goal-tokens": self.dice.randint(100, 500)})
        await self.until_idle()
        await self.forget_goal()

    async def is_stopped_before_its_goal(self) -> None:
        await self.has_a_goal()
        await self.stop()
        await self.forget_goal()

    async def is_steered_in_its_goal(self) -> None:
        gate = self.gate()
        await self.prompt("hello", goal=f"wait at {gate}")
        await self.model.wait_for_gate(gate)
        joined = self.server.call("codex-reply", {"identity": self.name, "prompt": "hello"})
        await self.server.result(joined)
        await self.model.wait_for_gate(gate)
        await self.stop()
        await self.forget_goal()

    def spawning(self, task: str) -> str:
        design = f'collaborate name="h{self._gates}"' if self.is_second else "spawn"
        return f'[[scene: {design} task="{task}"]]'

    async def has_a_helper(self) -> None:
        self.gate()
        await self.prompt(self.spawning("help at once"))

    async def has_a_nested_helper(self) -> None:
        self.gate()
        await self.prompt(self.spawning("let another one help at once" if self.is_second else "help at once"))

    async def is_stopped_with_its_helpers(self) -> None:
        await self.has_helpers()
        await self.stop()

    async def is_reviewed(self) -> None:
        found = structured(await self.server.run("codex_review", {"id": self.name, "prompt": "look at everything"}))
        self.threads.add(found["threadId"])
        assert found["usage"]["totalTokens"] == self.world.used({found["threadId"]}), found

    async def is_reviewed_in_vain(self) -> None:
        await self.server.run("codex_interrupt", {"id": await self.is_being_reviewed()})

    async def is_shortened(self) -> None:
        await self.prompt("[[scene: long]]")
        await self.prompt("hello")

    async def is_sent_on_by_a_hook(self) -> None:
        before = self.world.used(self.threads)
        told = await self.prompt("[[scene: hooked]]")
        assert told["content"] == "Hello.", told
        assert told["usage"]["totalTokens"] == self.world.used(self.threads) - before

    async def closes(self) -> None:
        await self.close()

    # -- what it does while its server ends ----------------------------------------------------------------------------

    async def rests(self) -> None:
        """Do nothing."""

    async def works(self) -> None:
        gate = self.gate()
        await self.prompt(f"[[scene: work gate={gate}]]", background=True)
        await self.model.wait_for_gate(gate)

    async def has_a_goal(self) -> None:
        gate = self.gate()
        await self.prompt("hello", goal=f"wait at {gate}")
        await self.model.wait_for_gate(gate)

    async def has_helpers(self) -> None:
        gate = self.gate()
        nests = self.is_second and self.dice.random() < 0.5
        await self.prompt(self.spawning(f"{'let another one ' if nests else ''}help at gate {gate}"))
        await self.model.wait_for_gate(gate)

    async def is_being_reviewed(self) -> str:
        gate = self.gate()
        asked = {"id": self.name, "prompt": f"look at gate {gate}", "background": True}
        thread: str = structured(await self.server.run("codex_review", asked))["threadId"]
        self.threads.add(thread)
        await self.model.wait_for_gate(gate)
        return thread

    def left_undone(self) -> list[Operation]:
        if self.world.is_old:
            return [self.rests, self.works]
        both: list[Operation] = [self.rests, self.has_a_goal, self.has_helpers]
        return both if self.is_second else [*both, self.works, self.is_being_reviewed]

    def next(self) -> Operation:
        """What it does next: everything once, in a random order, and then again."""
        if not self._deck:
            self._deck = self.operations()
            self.dice.shuffle(self._deck)
        return self._deck.pop()

    def operations(self) -> list[Operation]:
        if self.world.is_old:  # goals and sub-agents are switched off: the model calls tools that do not exist
            return [self.says_hello, self.is_stopped, self.reaches_a_goal, self.has_a_helper, self.fails, self.closes]
        both: list[Operation] = [
            self.says_hello,
            self.is_stopped_before_its_goal,
            self.is_steered_in_its_goal,
            self.spends_the_tokens_of_a_goal,
            self.has_a_helper,
            self.has_a_nested_helper,
            self.is_stopped_with_its_helpers,
            self.is_reviewed,
            self.is_shortened,
            self.is_sent_on_by_a_hook,
            self.closes,
            self.fails,
        ]
        first: list[Operation] = [self.is_steered, self.is_stopped, self.reaches_a_goal, self.is_reviewed_in_vain]
        return both if self.is_second else [*both, *first]


class World:
    """The agents, their server, and the model, which outlives servers."""

    def __init__(self, start: Start, seed: int, *, is_old: bool = False) -> None:
        self.is_old = is_old
        """It is a Codex with an mcp-server of its own."""
        self._start = start
        self._dice = random.Random(seed)
        self._stack = AsyncExitStack()
        self._serving = AsyncExitStack()
        self.done: Counter[str] = Counter()
        self.agents = [Agent(self, f"agent{number}", random.Random(seed + number)) for number in NUMBERS]

    async def __aenter__(self) -> Self:
        self.model = await self._stack.enter_async_context(ScriptedModel(load_script(SCRIPT)))
        self._stack.push_async_exit(self._serving)
        await self._serve()
        for agent in self.agents:
            await agent.begin()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def _serve(self) -> None:
        self.server = await self._serving.enter_async_context(self._start(self.model))

    async def restart(self) -> None:
        for agent in self.agents:
            await self._within(agent.dice.choice(agent.left_undone()))
        await self._written()
        how = signal.SIGTERM if self.done["restart by SIGKILL"] > self.done["restart by SIGTERM"] else signal.SIGKILL
        self.done[f"restart by {how.name}"] += 1
        os.kill(self.server.process.pid, how)
        await self.server.exit_code()
        await self._serving.aclose()
        await self._serve()
        for agent in self.agents:
            back = agent.told(await self.server.start("hello", codex_id=agent.codex_id))
            if "goal" in back:
                await agent.forget_goal()

    def used(self, threads: set[str]) -> int:
        """What the model has answered to these threads and their sub-agents."""
        return sum(each.tokens or 0 for each in self.model.counts if each.session in threads)

    async def play(self, rounds: int) -> None:
        """Let all agents do something at the same time; compare after each round."""
        for number in range(rounds):
            if number and number % ROUNDS == 0:
                await self.restart()
                await self.compare("a restart")
            chosen = [agent.next() for agent in self.agents]
            await asyncio.gather(*map(self._within, chosen))
            for agent in self.agents:
                await agent.until_idle()
            await self.compare(", ".join(operation.__name__ for operation in chosen))

    async def _within(self, operation: Operation) -> None:
        self.done[operation.__name__] += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await operation()
        except TimeoutError:
            raise AssertionError(f"{operation.__name__} did not end; the last requests:\n{self._last()}") from None

    async def _written(self) -> None:
        """Wait until the record of each agent has what the model counts: then a server that is killed loses nothing."""

        def is_written() -> bool:
            rows = self.server.registry()
            return all(rows[agent.codex_id]["tokens"] == self.used(agent.threads) for agent in self.agents)

        await self.server.until(is_written)

    async def compare(self, what: str) -> None:
        rows = await self.server.threads()
        reported = {agent.name: rows[agent.codex_id]["tokens"] for agent in self.agents}
        counted = {agent.name: self.used(agent.threads) for agent in self.agents}
        assert reported == counted, f"after {what}: reported {reported}, counted {counted}\n{self._last()}"
        total = (await self.server.status())["usage"]["tokens"]
        assert total == sum(each.tokens or 0 for each in self.model.counts), f"after {what}: {self._last()}"

    def _last(self) -> str:
        return "\n".join(map(str, list(self.model.counts)[-20:]))


def _write_hook(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "hook.sh").write_text(HOOK)
    hook = f'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "sh {home}/hook.sh"\n'
    (home / "config.toml").write_text(hook)


async def conserve(
    folder: Path,
    rounds: int,
    seed: int,
    *,
    flags: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    is_old: bool = False,
) -> Counter[str]:
    """Let agents work for so many rounds, and check the sums; return how often they did what."""

    @asynccontextmanager
    async def serve(model: ScriptedModel) -> AsyncIterator[TeamServer]:
        overrides = [*model.codex_overrides(), *SETTINGS]
        setup = Setup(folder, overrides, ("--summary-timeout", "2", *flags), dict(environment or {}), "serve")
        async with TeamServer(setup) as server:
            await server.initialize()
            yield server

    _write_hook(folder / "home/.codex")
    async with World(serve, seed, is_old=is_old) as world:
        await world.play(rounds)
        return world.done
