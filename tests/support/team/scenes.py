"""The script of the team's tests, prompts that choose its scenes, and what tests look at."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.team.team_server import TeamServer

TEAM_SCRIPT = Path(__file__).parents[1] / "scripts/team.toml"


def gate(name: str = "gate") -> str:
    """A prompt whose turn says half of its answer, and the rest when the gate is opened."""
    return f'[[scene: gate name="{name}"]]'


def heard(model: ScriptedModel, number: int = -1) -> str:
    """All texts that the model was given with a request: what it knows of the conversation."""
    return "\n".join(_texts(msgspec.json.decode(model.requests[number].body)["input"]))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["text"]] if isinstance(value.get("text"), str) else _texts(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


async def state_of(server: TeamServer, codex_id: str) -> tuple[str, str]:
    """Its status and its state; the registry must come to say the same."""
    row = (await server.threads())[codex_id]
    state = row["status"], row["state"]

    def is_written() -> bool:
        written = server.registry()[codex_id]
        return (written["status"], written["thread_state"]) == state

    await server.until(is_written)
    threads = (await server.status())["threads"]
    assert threads["active"] == threads["busy"] + threads["idle"]
    return state
