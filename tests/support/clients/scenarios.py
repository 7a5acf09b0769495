"""What the model of a real client does with our tools, as one table for all clients, and what it must be shown then.

The model knows only what its client shows it: `{thread}` in an argument stands for the last thread id that it was
shown, wherever that stood. It plays all scenarios in one life, so that each client starts once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.support.clients.anthropic_model import Json, Say, Step, Together, Use, Used

THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MOST_WAITS = 40
"""For one answer: each waits for as long as the client lets it."""

PAUSE = "That was a pause."

FAILURE = "the script says so"
"""Of the turn that fails."""

LONG = [f"{number} 漢字, é, and a few words more" for number in range(1_500)]
"""Lines of an answer that is longer than what one result holds."""

OFFSET = re.compile(r'offset\\?": ?(\d+)')
"""Where the rest of an answer begins. Some models see JSON within JSON."""


@dataclass(frozen=True, slots=True)
class Collect:
    """The model calls `codex_wait` until it was shown this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps of a model, and what its client must have shown it of them."""

    steps: Sequence[Use | Together | Collect]
    is_right: Callable[[list[str]], bool]


def say(text: str, **arguments: object) -> Use:
    return Use("codex", {"prompt": f'[[scene: say text="{text}"]]', **arguments})


def is_running(text: str) -> bool:
    """Some models see the text of a result, others its structured content."""
    return "still working" in text.lower() or re.search(r'"status": ?"running"', text) is not None


def is_empty(text: str) -> bool:
    return "Nothing is running" in text or re.search(r'"finished": ?\[\], ?"running": ?\[\]', text) is not None


def once(text: str) -> Callable[[list[str]], bool]:
    return lambda shown: sum(text in each for each in shown) == 1


SCENARIOS = {
    "call": Scenario([say("first")], lambda shown: "first" in shown[0]),
    "failure": Scenario(
        [Use("codex-reply", {"threadId": "{thread}", "prompt": "[[scene: error]]"})],
        lambda shown: FAILURE in shown[0],
    ),
    "reply": Scenario(
        [Use("codex-reply", {"threadId": "{thread}", "prompt": '[[scene: say text="second"]]'})],
        lambda shown: "second" in shown[0],
    ),
    # The limit of the client, which is a minute or more, is a second here; the agent works longer than that.
    "longer than the client waits": Scenario(
        [Use("codex", {"prompt": "[[scene: wait seconds=3]]", "wait-seconds": 1}), Collect(PAUSE)],
        lambda shown: is_running(shown[0]) and once(PAUSE)(shown),
    ),
    "two at once": Scenario(
        [Together([say("left"), say("right")])],
        lambda shown: len(shown) == 2 and once("left")(shown) and once("right")(shown),
    ),
    "background and wait": Scenario([say("third", background=True), Collect("third")], once("third")),
    "approval": Scenario(
        [Use("codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"})],
        lambda shown: "It was refused." in shown[0],
    ),
    "nothing is left": Scenario([Use("codex_wait", {})], lambda shown: is_empty(shown[0])),
}
"""In this order."""


async def play(used: list[Used]) -> Step:
    """What the model does next. Clients may send a conversation twice, so all of it follows from what was shown."""
    shown = [each.text for each in used]
    at = 0
    for scenario in SCENARIOS.values():
        for step in scenario.steps:
            number = _uses(step, shown[at:])
            if at + number > len(shown):
                return _filled(step, shown)
            at += number
    return Say("done")


def check(shown: list[str]) -> list[str]:
    """Whether the client has shown its model what each scenario demands. Returns what it was shown after that."""
    for name, scenario in SCENARIOS.items():
        number = 0
        for step in scenario.steps:
            number += _uses(step, shown[number:])
        mine, shown = shown[:number], shown[number:]
        assert len(mine) == number, f"{name}: the life ended too early, with {mine}"
        assert scenario.is_right(mine), f"{name}: the model was shown {mine}"
    return shown


async def read_long(used: list[Used]) -> Step:
    """The model asks for a long answer, and for the rest of it for as long as it is shown where that begins."""
    shown = [each.text for each in used]
    if not shown:
        return say("\n".join(LONG))
    rest = OFFSET.search(shown[-1])
    if rest is None:
        return Say("done")
    return Use("codex_wait", {"threadIds": [THREAD.findall(shown[-1])[-1]], "offset": int(rest[1])})


def check_long(shown: list[str]) -> None:
    """Whether the model was shown each line once, in order and whole."""
    assert len(shown) > 1, "the answer fits into one result"
    assert re.findall(r"\d+ 漢字[^\\\n]*", "\n".join(shown)) == LONG


def as_json() -> list[Json]:
    """All steps, for a program that does not import this module."""
    return [_json(step) for scenario in SCENARIOS.values() for step in scenario.steps]


def _json(step: Use | Together | Collect) -> Json:
    match step:
        case Use(tool, arguments):
            return {"tool": tool, "arguments": arguments}
        case Together(uses):
            return {"together": [_json(use) for use in uses]}
        case Collect(text):
            return {"collect": text}


def _uses(step: Use | Together | Collect, shown: list[str]) -> int:
    """How many of these results belong to this step; one more if it is not complete."""
    match step:
        case Use():
            return 1
        case Together(uses):
            return len(uses)
        case Collect(text):
            waits = next((at for at, each in enumerate(shown, 1) if text in each), len(shown) + 1)
            return min(waits, MOST_WAITS)


def _filled(step: Use | Together | Collect, shown: list[str]) -> Step:
    match step:
        case Collect():
            return Use("codex_wait", {})
        case Use(tool, arguments):
            return Use(tool, _with_thread(arguments, shown))
    return step


def _with_thread(arguments: Json, shown: list[str]) -> Json:
    threads = THREAD.findall("\n".join(shown))
    assert threads or "{thread}" not in arguments.values(), f"the model cannot continue with {shown}"
    return {key: threads[-1] if value == "{thread}" else value for key, value in arguments.items()}
