"""The tools beside sessions: what is listed is read, and each review has one subject."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.session_catalogue import (
    OWN_TOOLS,
    WEBSEARCH,
    ReviewArguments,
    WebsearchArguments,
    review_target,
    search_prompt,
)
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, UncommittedChanges
from tests.support.json_values import JSON_VALUES


@pytest.mark.parametrize("tool", OWN_TOOLS, ids=lambda tool: tool.name)
@given(data=st.data())
def test_what_fits_the_schema_is_read_and_what_is_read_fits_the_schema(tool: Tool, data: st.DataObject) -> None:
    values = st.one_of(JSON_VALUES, st.integers(-5, 60), st.floats(0, 60))
    fitting = {field.name: st.sampled_from(field.choices) if field.choices else values for field in tool.fields}
    drawn = data.draw(st.fixed_dictionaries({}, optional=fitting))
    sent = {name: value for name, value in drawn.items() if value is not None and value != float("inf")}
    try:
        tool.read(sent)
        is_read = True
    except BadArguments:
        is_read = False
    assert jsonschema.Draft202012Validator(tool.listed()["inputSchema"]).is_valid(sent) == is_read


def test_a_review_has_one_subject() -> None:
    assert review_target(ReviewArguments()) == review_target(ReviewArguments(uncommitted=True)) == UncommittedChanges()
    assert review_target(ReviewArguments(base="main")) == BaseBranch("main")
    assert review_target(ReviewArguments(commit="abc", title="t")) == Commit("abc", "t")
    assert review_target(ReviewArguments(commit="abc")) == Commit("abc")
    assert review_target(ReviewArguments(prompt="x")) == Instructions("x")


@given(st.sets(st.sampled_from(["prompt", "base", "commit", "uncommitted"]), min_size=2))
def test_two_subjects_are_refused_by_name(given_names: set[str]) -> None:
    values = {name: True if name == "uncommitted" else "x" for name in given_names}
    with pytest.raises(BadArguments) as refused:
        review_target(ReviewArguments(**values))  # type: ignore[arg-type]
    assert all(f"`{name}`" in str(refused.value) for name in given_names)


def test_a_title_needs_its_commit() -> None:
    with pytest.raises(BadArguments, match="needs `commit`"):
        review_target(ReviewArguments(title="x", base="main"))


def test_a_search_has_a_question_and_a_number() -> None:
    assert search_prompt(WebsearchArguments(query="x")) == "Search for: x. Provide 10 key findings."
    assert search_prompt(WEBSEARCH.read({"query": "x", "numResults": 3.0})) == "Search for: x. Provide 3 key findings."
    with pytest.raises(BadArguments, match="empty"):
        search_prompt(WebsearchArguments(query="  "))
