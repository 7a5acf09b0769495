"""What the model of each kind of client is shown, word by word, and that this is enough for it to go on."""

import re

import jsonschema
import mcp_types
import msgspec
import pytest

from codex_mcp.mcp.schema.answer_size import reader_for
from codex_mcp.mcp.schema.catalogue import TURN_OUTPUT, WAIT_OUTPUT
from codex_mcp.mcp.schema.results import ToolResult
from tests.mcp.schema.golden_results import FOLDER, LONG, READERS, golden, other_golden, results_for

KINDS = list(results_for(reader_for("", "", None)))


def result_for(kind: str, name: str) -> ToolResult:
    return results_for(reader_for(READERS[kind], "2025-11-25", None))[name]


def shown(kind: str, result: ToolResult) -> str:
    """What the model of such a client sees."""
    kind, _, of_errors = kind.partition("; errors ")
    data = msgspec.json.encode(result.data).decode()
    text = "\n".join(str(block["text"]) for block in result.content if block["type"] == "text")
    if result.is_error:
        kind = of_errors or kind
    return {"text": text, "structured": data, "both": f"{text}\n{data}"}.get(kind, text)


@pytest.mark.parametrize("kind", READERS)
def test_the_results_for_each_kind_of_reader_are_as_recorded(kind: str) -> None:
    """After a change on purpose: `python -m tests.mcp.schema.golden_results`, and read the difference."""
    assert golden(kind).decode() == (FOLDER / f"{kind}.json").read_text()


def test_the_results_that_are_the_same_for_every_reader_are_as_recorded() -> None:
    assert other_golden().decode() == (FOLDER / "others.json").read_text()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", READERS)
def test_every_result_is_one_for_the_official_models_and_fits_its_schema(kind: str, name: str) -> None:
    result = msgspec.json.decode(msgspec.json.encode(result_for(kind, name)))
    mcp_types.CallToolResult.model_validate(result)
    structured = result["structuredContent"]
    jsonschema.validate(structured, WAIT_OUTPUT if "finished" in structured else TURN_OUTPUT)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "nothing"])
@pytest.mark.parametrize("kind", [*READERS, "unknown, structured"])
def test_the_model_always_sees_which_thread_or_agent_it_can_continue(kind: str, name: str) -> None:
    reader, _, seen_by = kind.partition(", ")
    assert re.search(r"\bt-1\b|codex:1\b", shown(seen_by or reader, result_for(reader, name)))


ANSWERS = {
    "completed": "Done.",
    "completed, collected": "Done.",
    "refused": "I did without.",
    "failed": "Out of tokens.",
    "interrupted": "I was about to",
    "refused call": "Session not found",
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("kind", [*READERS, "unknown, structured"])
def test_every_answer_and_every_warning_is_told_once(kind: str, name: str) -> None:
    reader, _, seen_by = kind.partition(", ")
    seen = shown(seen_by or reader, result_for(reader, name))
    assert seen.count(ANSWERS[name]) == 1
    assert seen.count("no one could be asked") == (name == "refused")


@pytest.mark.parametrize("kind", [*READERS, "unknown, structured"])
def test_a_long_answer_is_seen_from_its_beginning_with_the_call_that_returns_the_rest(kind: str) -> None:
    reader, _, seen_by = kind.partition(", ")
    result = result_for(reader, "long")
    seen = shown(seen_by or reader, result)
    assert seen.count(LONG.splitlines()[1_000]) == 1
    assert re.search(r'codex_wait {\\?"threadIds\\?": \[\\?"t-1\\?"\], \\?"offset\\?": \d+}', seen)


@pytest.mark.parametrize("name", ["completed", "completed, collected", "long"])
def test_where_older_versions_show_the_text_only_the_newer_ones_tell_no_answer_twice(name: str) -> None:
    result = result_for("text or both; errors both", name)
    answer = "line 17\n" if name == "long" else "Done."
    both = msgspec.json.encode(result).decode()
    assert shown("text", result).count(answer) == 1
    assert both.count(msgspec.json.encode(answer).decode().strip('"')) == 1
