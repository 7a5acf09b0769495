"""The three ways to start an agent exclude each other, and each error says what to do."""

import pytest

from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.team_arguments import Way, checked_start, way_of
from codex_mcp.mcp.schema.team_catalogue import TeamWaitArguments


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({"prompt": "p"}, Way.PROMPT),
        ({"prompt": "p", "identity": "arch", "role": "dev", "cwd": "/srv"}, Way.PROMPT),
        ({"agent_file": "a.md"}, Way.FILE),
        ({"agentFile": "a.md", "model": "m"}, Way.FILE),
        ({"codex_id": "codex:1"}, Way.RESUME),
        ({"codexId": "codex:1", "prompt": "go on", "background": True}, Way.RESUME),
        ({"agent_id": "codex:1"}, Way.RESUME),
    ],
)
def test_a_call_goes_one_way(given: dict[str, object], way: Way) -> None:
    assert way_of(checked_start(catalogue.CODEX.read(given))) is way


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "missing field `prompt`"),
        ({"identity": "arch"}, "missing field `prompt`"),
        ({"prompt": "p", "request_id": 1001 * "r"}, "`request_id` is longer than 1000 characters"),
        ({"codex_id": "codex:1", "agent_file": "a.md"}, "`codex_id` and `agent_file` exclude each other"),
        ({"codex_id": "codex:1", "model": "m", "identity": "x"}, "leave out `model`, `identity`"),
        ({"codex_id": "codex:1", "config": {"a": 1}}, "leave out `config`"),
        ({"prompt": "p", "nonsense": 1}, "unknown field `nonsense`"),
    ],
)
def test_a_call_that_goes_no_way_or_two_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(BadArguments, match=says):
        way_of(checked_start(catalogue.CODEX.read(given)))


def test_an_agent_is_named_in_any_way() -> None:
    named = [
        {"id": "x"},
        {"codex_id": "x"},
        {"agent_id": "x"},
        {"identity": "x"},
        {"threadId": "x"},
        {"conversationId": "x"},
    ]
    assert all(catalogue.CODEX_REPLY.read({"prompt": "p", **name}).references == ["x"] for name in named)
    with pytest.raises(BadArguments, match="missing field `id`"):
        _ = catalogue.CODEX_REPLY.read({"prompt": "p"}).references
    assert all(catalogue.CODEX_CLOSE.read(name).references == ["x"] for name in named[:5])
    both = {"codex_id": "codex:1", "identity": "arch", "threadId": "t"}
    assert catalogue.CODEX_REPLY.read({"prompt": "p", **both}).references == ["codex:1", "arch", "t"]


def test_whom_a_wait_is_for() -> None:
    def asked(**given: object) -> tuple[str, ...] | None:
        arguments: TeamWaitArguments = catalogue.CODEX_WAIT.read(given)
        return arguments.references

    assert [asked(), asked(ids=[]), asked(ids=["a"], threadIds=["b"])] == [None, (), ("a", "b")]
