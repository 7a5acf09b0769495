"""Agents that do everything that makes Codex ask the model, at random: what the model counts is what we report.

The operations hold the model at a gate before they stop something, so that a request is either answered or interrupted.
After each operation, the tokens of its agent are compared; these also tell how many requests were answered. What was
not answered must be what was held.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import Counted, ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.team_server import TeamServer, structured

SCRIPT = Path(__file__).parents[1] / "scripts/conservation.toml"
SETTINGS = ("model_auto_compact_token_limit=60000", "agents.max_threads=200", "bypass_hook_trust=true")
HOOK = """
grep -q "says the agent" || exit 0
echo '{"decision": "block", "reason": "hello"}'
"""
"""Lets a turn go on that has ended with these words."""
SECOND_DESIGN = "gpt-6.1-sol"
"""A model whose sub-agents start others."""
STEPS = 8
"""Operations of each agent between two restarts."""
FLAGS = ("--summary-timeout", "2", "--shutdown-grace", "0", "--max-concurrent-threads", "100")
Operation = Callable[[], Coroutine[Any, Any, object]]
Start = Callable[[ScriptedModel], AbstractAsyncContextManager[TeamServer]]

AGENTS = 8
"""They work at the same time. Every other one has the second design of sub-agents."""


class Agent:
    """One agent, and what it is asked to do."""

    def __init__(self, world: "World", number: int, seed: int) -> None:
        self.world = world
        self.name = f"agent{number}"
        self.dice = random.Random(seed + number)
        self.is_second = number % 2 == 1 and not world.is_old
        self.codex_id = ""
        self.threads: set[str] = set()
        """Its thread, and those of its reviews."""
        self.unanswered = 0
        """Its requests that were held, and then stopped, or that have failed."""
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

    async def held(self, gate: str) -> None:
        """Wait until the model holds a request at this gate, which is never opened."""
        await self.model.wait_for_gate(gate)
        self.unanswered += 1

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

    async def helpers(self) -> list[Json]:
        """Its sub-agents."""
        return list((await self.server.threads())[self.codex_id]["subagents"])

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
        self.unanswered += 1
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
        await self.prompt("hello", goal="go on", **{"goal-tokens": self.dice.randint(5_000, 40_000)})
        await self.until_idle()
        await self.forget_goal()

    async def is_stopped_before_its_goal(self) -> None:
        await self.has_a_goal()
        await self.stop()
        await self.forget_goal()

    async def is_steered_in_its_goal(self) -> None:
        gate = self.gate()
        await self.prompt("hello", goal=f"wait at {gate}")
        await self.held(gate)
        joined = self.server.call("codex-reply", {"identity": self.name, "prompt": "hello"})
        await self.server.result(joined)
        await self.held(gate)
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
        assert found["usage"]["requests"] == self.world.answered({found["threadId"]}), found

    async def is_reviewed_in_vain(self) -> None:
        await self.server.run("codex_interrupt", {"id": await self.is_being_reviewed()})

    async def is_shortened(self) -> None:
        await self.prompt("[[scene: long]]")
        await self.prompt("hello")

    async def is_shortened_twice(self) -> None:
        await self.is_shortened()
        await self.prompt("hello", rollback=1)

    async def is_sent_on_by_a_hook(self) -> None:
        before, answered = self.world.used(self.threads), self.world.answered(self.threads)
        told = await self.prompt("[[scene: hooked]]")
        assert told["content"] == "Hello.", told
        assert told["usage"]["totalTokens"] == self.world.used(self.threads) - before
        assert told["usage"]["requests"] == self.world.answered(self.threads) - answered

    async def closes(self) -> None:
        await self.close()

    # -- what it does while its server ends ----------------------------------------------------------------------------

    async def rests(self) -> None:
        """Do nothing."""

    async def works(self) -> None:
        gate = self.gate()
        await self.prompt(f"[[scene: work gate={gate}]]", background=True)
        await self.held(gate)

    async def has_a_goal(self) -> None:
        gate = self.gate()
        await self.prompt("hello", goal=f"wait at {gate}")
        await self.held(gate)

    async def has_helpers(self) -> None:
        gate = self.gate()
        nests = self.is_second and self.dice.random() < 0.5
        await self.prompt(self.spawning(f"{'let another one ' if nests else ''}help at gate {gate}"))
        await self.held(gate)
        while [each["state"] for each in await self.helpers()].count("busy") > 1:
            pass  # what the model has answered to the helper between is lost if it is interrupted before it has read it

    async def is_being_reviewed(self) -> str:
        gate = self.gate()
        asked = {"id": self.name, "prompt": f"look at gate {gate}", "background": True}
        thread: str = structured(await self.server.run("codex_review", asked))["threadId"]
        self.threads.add(thread)
        await self.held(gate)
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
            stopped: list[Operation] = [self.is_stopped, self.fails, self.closes]
            return [*stopped, self.says_hello, self.reaches_a_goal, self.has_a_helper, self.is_shortened]
        both: list[Operation] = [
            self.says_hello,
            self.is_stopped_before_its_goal,
            self.is_steered_in_its_goal,
            self.spends_the_tokens_of_a_goal,
            self.has_a_helper,
            self.has_a_nested_helper,
            self.is_stopped_with_its_helpers,
            self.is_reviewed,
            self.is_shortened_twice,
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
        self._stack = AsyncExitStack()
        self._serving = AsyncExitStack()
        self.done: Counter[str] = Counter()
        self.agents = [Agent(self, number, seed) for number in range(AGENTS)]

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
        await self._all(lambda agent: self._within(agent, agent.dice.choice(agent.left_undone()), until_idle=False))
        await self._written()
        how = signal.SIGTERM if self.done["restart by SIGKILL"] > self.done["restart by SIGTERM"] else signal.SIGKILL
        self.done[f"restart by {how.name}"] += 1
        os.kill(self.server.process.pid, how)
        await self.server.exit_code()
        await self._serving.aclose()
        await self._serve()
        await self._all(self._come_back)

    async def _come_back(self, agent: Agent) -> None:
        back = agent.told(await self.server.start("hello", codex_id=agent.codex_id))
        if "goal" in back:
            await agent.forget_goal()
        await self.compare(agent, "a restart")

    def used(self, threads: set[str]) -> int:
        """What the model has answered to these threads and their sub-agents."""
        return sum(each.tokens or 0 for each in self.model.counts if each.session in threads)

    def answered(self, threads: set[str]) -> int:
        """How many requests of these threads and their sub-agents the model has answered."""
        return sum(each.tokens is not None for each in self.model.counts if each.session in threads)

    @property
    def turns(self) -> int:
        """How many turns have asked the model, in agents and in sub-agents."""
        return len({(each.thread, each.turn) for each in self.model.counts})

    async def play(self, turns: int) -> None:
        """Let all agents work, restart the server, and so on, until there were so many turns."""
        await self._all(self._live)
        while self.turns < turns:
            await self.restart()
            await self._all(self._live)
        total = (await self.server.status())["usage"]["tokens"]
        assert total == sum(each.tokens or 0 for each in self.model.counts), _last(self.model.counts)
        self.done["turns"] = self.turns
        self.done.update(f"asked for {each.scene}" for each in self.model.counts)

    async def _live(self, agent: Agent) -> None:
        for _ in range(STEPS):
            operation = agent.next()
            await self._within(agent, operation)
            await self.compare(agent, operation.__name__)

    async def _all(self, do: Callable[[Agent], Coroutine[Any, Any, object]]) -> None:
        async with asyncio.TaskGroup() as group:
            for agent in self.agents:
                group.create_task(do(agent), name=agent.name)

    async def _within(self, agent: Agent, operation: Operation, *, until_idle: bool = True) -> None:
        self.done[operation.__name__] += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await operation()
                if until_idle:
                    await agent.until_idle()
        except TimeoutError:
            raise AssertionError(f"{operation.__name__} did not end\n{_last(self.model.counts)}") from None

    async def _written(self) -> None:
        """Wait until the record of each agent has what the model counts: then a server that is killed loses nothing."""

        def is_written() -> bool:
            rows = self.server.registry()
            return all(rows[agent.codex_id]["tokens"] == self.used(agent.threads) for agent in self.agents)

        await self.server.until(is_written)

    async def compare(self, agent: Agent, what: str) -> None:
        row = (await self.server.threads())[agent.codex_id]
        agent.threads.add(row["threadId"])  # that of a turn that has failed may be a new one
        reported = row["tokens"], agent.unanswered
        mine = [each for each in self.model.counts if each.session in agent.threads]
        counted = self.used(agent.threads), sum(each.tokens is None for each in mine)
        assert reported == counted, f"{agent.name} after {what}: {reported=} {counted=}\n{_last(mine)}"


def _last(requests: Iterable[Counted]) -> str:
    return "\n".join(map(str, list(requests)[-20:]))


def _write_hook(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "hook.sh").write_text(HOOK)
    hook = f'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "sh {home}/hook.sh"\n'
    (home / "config.toml").write_text(hook)


async def conserve(
    folder: Path,
    turns: int,
    seed: int,
    *,
    flags: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    is_old: bool = False,
) -> Counter[str]:
    """Let agents work for so many turns, and check the sums; return how often they did what."""

    @asynccontextmanager
    async def serve(model: ScriptedModel) -> AsyncIterator[TeamServer]:
        overrides = [*model.codex_overrides(), *SETTINGS]
        setup = Setup(folder, overrides, (*FLAGS, *flags), dict(environment or {}), "serve")
        async with TeamServer(setup) as server:
            await server.initialize()
            yield server

    _write_hook(folder / "home/.codex")
    async with World(serve, seed, is_old=is_old) as world:
        await world.play(turns)
        return world.done
