"""The results of the parts of a wait become one."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.results import NOTHING_NEW, ToolResult, refused, written
from codex_mcp.mcp.schema.wait_parts import LISTS, NEWS, Unreached, merged_parts
from tests.support.servers.mcp_server import Json


def on_the_wire(result: ToolResult) -> Json:
    found: Json = msgspec.json.decode(msgspec.json.encode(result))
    return found


class Whole:
    """The merged result, as a client reads it."""

    def __init__(self, own: ToolResult, parts: list[ToolResult], unreached: list[Unreached]) -> None:
        found = merged_parts(own, parts, unreached)
        self.is_empty = found.is_empty
        self.result = on_the_wire(found.result)


def part(**lists: list[str]) -> ToolResult:
    """The result of one server: these agents, by what is told of them."""
    named = {name: [{"identity": each} for each in each_of] for name, each_of in lists.items()}
    text = "\n\n".join(f"[{each}] {name}" for name, each_of in lists.items() for each in each_of)
    return written(text, data={"finished": [], "running": [], **named})


PARTS: st.SearchStrategy[ToolResult] = st.dictionaries(
    st.sampled_from(LISTS), st.lists(st.text("abc", min_size=1), min_size=1)
).map(lambda lists: part(**lists) if lists else NOTHING_NEW)


@given(PARTS, st.lists(PARTS, max_size=3))
def test_nothing_is_lost_or_doubled(own: ToolResult, parts: list[ToolResult]) -> None:
    whole = Whole(own, parts, []).result
    for name in LISTS:
        told = [each for result in (own, *parts) for each in on_the_wire(result)["structuredContent"].get(name, [])]
        assert whole["structuredContent"].get(name, []) == told
        for each in told:
            assert f"[{each['identity']}] {name}" in whole["content"][0]["text"]


@given(PARTS, st.lists(PARTS, max_size=3))
def test_it_is_empty_if_no_part_tells_news(own: ToolResult, parts: list[ToolResult]) -> None:
    has_news = any(on_the_wire(result)["structuredContent"].get(name) for result in (own, *parts) for name in NEWS)
    assert Whole(own, parts, []).is_empty is not has_news


def test_unchanged_turns_are_told_only_if_there_is_nothing_else() -> None:
    silent = part(unchanged=["a"])
    assert Whole(silent, [part(unchanged=["b"])], []).result["structuredContent"]["unchanged"] == [
        {"identity": "a"},
        {"identity": "b"},
    ]
    assert "unchanged" not in Whole(silent, [part(running=["b"])], []).result["structuredContent"]
    assert Whole(NOTHING_NEW, [], []).result == on_the_wire(NOTHING_NEW)
    assert Whole(NOTHING_NEW, [NOTHING_NEW], []).result == on_the_wire(NOTHING_NEW)


def test_a_server_that_refuses_or_does_not_answer_is_told() -> None:
    whole = Whole(part(finished=["a"]), [refused("There is no such agent.")], [Unreached(7, "it does not answer")])
    assert whole.result["structuredContent"]["unreached"] == [{"pid": 7, "why": "it does not answer"}]
    for told in ("[a] finished", "There is no such agent.", "[server process 7] not reached\nit does not answer"):
        assert told in whole.result["content"][0]["text"]
    assert not whole.is_empty
