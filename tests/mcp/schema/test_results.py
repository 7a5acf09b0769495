"""Every result says what a client needs to go on, in the form that we promised."""

import re

import jsonschema
import mcp_types
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.facts import FileChange, Tokens
from codex_mcp.mcp.known_clients import Shows
from codex_mcp.mcp.news import NewsKind
from codex_mcp.mcp.schema.answer_size import Reader, reader_for
from codex_mcp.mcp.schema.catalogue import TURN_OUTPUT, WAIT_OUTPUT
from codex_mcp.mcp.schema.results import (
    NOTHING_TO_REPORT,
    GoesOn,
    ToolResult,
    WaitReport,
    at_work,
    described,
    refused,
    refused_in_thread,
    turn_result,
    wait_result,
)
from codex_mcp.threads.record import Outcome, Status

OUTCOMES = st.builds(
    Outcome,
    thread_id=st.text(min_size=1),
    status=st.sampled_from(Status),
    content=st.text(),
    activity=st.text(),
    usage=st.none() | st.builds(Tokens, *[st.integers(0, 2**40)] * 6),
    files=st.lists(st.builds(FileChange, st.text(), st.sampled_from(["add", "update", "delete"]))).map(tuple),
    seconds=st.floats(0, 1e6),
)


def outcome(status: Status, content: str = "Done.") -> Outcome:
    files = (FileChange("/site/a.txt", "add"),)
    return Outcome("t-1", status, content, "running make", Tokens(1, 2, 3, 4, 5, 6), files, 12.3456)


def on_the_wire(result: ToolResult) -> dict[str, object]:
    """The result as a client reads it, accepted by the official models."""
    wire: dict[str, object] = msgspec.json.decode(msgspec.json.encode(result))
    mcp_types.CallToolResult.model_validate(wire)
    return wire


def test_a_completed_turn_says_everything() -> None:
    assert on_the_wire(turn_result(outcome(Status.COMPLETED))) == {
        "content": [{"type": "text", "text": "Done.\n\nthreadId: t-1 (codex-reply continues the thread)"}],
        "structuredContent": {
            "threadId": "t-1",
            "content": "Done.",
            "status": "completed",
            "filesChanged": [{"path": "/site/a.txt", "kind": "add"}],
            "durationSeconds": 12.346,
            "usage": {
                "inputTokens": 1,
                "cachedInputTokens": 2,
                "outputTokens": 3,
                "reasoningOutputTokens": 4,
                "totalTokens": 5,
                "requests": 6,
            },
        },
    }


@pytest.mark.parametrize(
    ("status", "text"),
    [(Status.FAILED, "Out of tokens."), (Status.INTERRUPTED, "The turn was interrupted. Out of tokens.")],
)
def test_a_turn_that_went_wrong_is_an_error_whose_text_ends_with_the_thread(status: Status, text: str) -> None:
    result = on_the_wire(turn_result(outcome(status, "Out of tokens.")))
    assert result["isError"] is True
    assert result["content"] == [
        {"type": "text", "text": f"{text}\n\nthreadId: t-1 (codex-reply continues the thread)"}
    ]
    assert isinstance(result["structuredContent"], dict)
    assert result["structuredContent"]["content"] == text


@pytest.mark.parametrize(
    ("names", "goes_on", "end"),
    [
        ({}, GoesOn.NEW_THREAD, "threadId: t-1 (the thread is lost; codex starts a new one)"),
        (
            {"codex_id": "codex:1", "identity": "arch"},
            GoesOn.RESUME,
            "codex_id: codex:1, threadId: t-1 (the agent is closed; codex with its codex_id resumes it)",
        ),
    ],
)
def test_an_error_ends_with_how_the_conversation_can_be_continued(
    names: dict[str, object], goes_on: GoesOn, end: str
) -> None:
    result = on_the_wire(turn_result(outcome(Status.FAILED, "Out of tokens."), names, goes_on=goes_on))
    assert result["content"] == [{"type": "text", "text": f"Out of tokens.\n\n{end}"}]


def test_an_interrupted_turn_that_said_nothing_has_a_sentence_all_the_same() -> None:
    structured = turn_result(outcome(Status.INTERRUPTED, "")).data
    assert isinstance(structured, dict)
    assert structured["content"] == "The turn was interrupted."


def test_a_running_turn_says_what_it_does_and_how_to_collect_it() -> None:
    result = turn_result(outcome(Status.RUNNING))
    assert not result.is_error
    assert result.content == [
        {
            "type": "text",
            "text": "The agent is still working (running make, 12 s so far). It goes on without this call: "
            'collect its answer with codex_wait {"threadIds": ["t-1"]}.',
        }
    ]


def test_braces_in_what_an_agent_does_are_left_alone() -> None:
    running = Outcome("t-1", Status.RUNNING, "", "running echo ${x} {0} {y}", None, (), 1)
    assert "running echo ${x} {0} {y}" in str(turn_result(running).content)


def test_a_refused_call_is_an_error_with_a_text() -> None:
    assert on_the_wire(refused("No.")) == {"content": [{"type": "text", "text": "No."}], "isError": True}
    assert on_the_wire(refused_in_thread("No.", "t-1")) == {
        "content": [{"type": "text", "text": "No."}],
        "structuredContent": {"threadId": "t-1", "content": "No.", "status": "failed"},
        "isError": True,
    }


def test_a_wait_tells_the_finished_from_the_running() -> None:
    report = WaitReport([described(outcome(Status.FAILED, "Broken."))], [described(outcome(Status.RUNNING))])
    result = on_the_wire(wait_result(report))
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    assert [turn["status"] for turn in structured["finished"]] == ["failed"]
    assert [turn["status"] for turn in structured["running"]] == ["running"]
    assert str(result["content"]).index("[threadId: t-1] failed") < str(result["content"]).index(
        "[threadId: t-1] running"
    )
    assert "isError" not in result


@given(st.text())
def test_a_wait_has_one_short_line_for_each_agent_that_works(activity: str) -> None:
    busy = msgspec.structs.replace(outcome(Status.RUNNING), activity=f"running {activity}\n{activity * 99}")
    result = wait_result(WaitReport(running=[at_work(busy, {"identity": "arch", "codex_id": "codex:1"})]))
    structured = result.data
    assert isinstance(structured, dict)
    (row,) = structured["running"]
    assert row.keys() == {"identity", "codex_id", "threadId", "status", "content"}
    assert row["content"].startswith("Still working: running ")
    assert row["content"].endswith(", 12 s")
    assert (row["content"].splitlines(), len(row["content"]) < 1_000) == ([row["content"]], True)


def test_a_wait_for_nothing_says_so() -> None:
    result = wait_result(WaitReport())
    assert result.content == [{"type": "text", "text": NOTHING_TO_REPORT}]
    assert result.data == {"finished": [], "running": []}


@given(OUTCOMES)
def test_every_result_of_a_turn_fits_the_output_schema(any_outcome: Outcome) -> None:
    jsonschema.validate(on_the_wire(turn_result(any_outcome))["structuredContent"], TURN_OUTPUT)


@given(*[st.lists(OUTCOMES, max_size=3)] * 3)
def test_every_result_of_a_wait_fits_the_output_schema(
    finished: list[Outcome], running: list[Outcome], unchanged: list[Outcome]
) -> None:
    known = [(described(each), GoesOn.REPLY) for each in unchanged]
    report = WaitReport([*map(described, finished)], [*map(described, running)], known)
    jsonschema.validate(on_the_wire(wait_result(report))["structuredContent"], WAIT_OUTPUT)
    told: dict[str, object] = {"threadId": "t-1", "identity": "arch", "codex_id": "codex:1", "status": "paused"}
    facts = [(kind, {**told, "content": "Why."}) for kind in (NewsKind.PAUSE, NewsKind.CLOSE)]
    result = on_the_wire(wait_result(msgspec.structs.replace(report, facts=facts)))
    jsonschema.validate(result["structuredContent"], WAIT_OUTPUT)
    assert "[arch, codex:1] paused\\nWhy." in str(result["content"])


def test_what_has_not_changed_is_named_if_there_is_nothing_else_to_say() -> None:
    names = {"codex_id": "codex:1", "identity": "arch"}
    unchanged = [(described(outcome(Status.COMPLETED, "An old answer."), names), GoesOn.RESUME)]
    result = on_the_wire(wait_result(WaitReport(unchanged=unchanged)))
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    assert [turn["identity"] for turn in structured["unchanged"]] == ["arch"]
    assert "Nothing new: the last turn is completed" in str(result["content"])
    assert GoesOn.RESUME in str(result["content"])
    assert "An old answer." not in str(result)
    other = wait_result(WaitReport(running=[described(outcome(Status.RUNNING))], unchanged=unchanged))
    assert "unchanged" not in str(other)


def test_a_turn_that_asks_says_what_and_not_that_it_is_working() -> None:
    result = on_the_wire(turn_result(outcome(Status.RUNNING), asks=["May I {x}?\n  question id: q"]))
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    for text in (str(structured["content"]), result["content"][0]["text"]):  # type: ignore[index]
        assert "May I {x}?\n  question id: q" in text
        assert "still working" not in text
        assert 'codex_wait {"threadIds": ["t-1"]}' in text
    ended = turn_result(outcome(Status.COMPLETED, "Done."), asks=["May I?"])
    assert "May I?" not in str(ended)


def test_an_error_in_a_thread_fits_the_output_schema_too() -> None:
    jsonschema.validate(on_the_wire(refused_in_thread("No.", "t-1"))["structuredContent"], TURN_OUTPUT)


def test_what_is_known_of_a_thread_besides_its_id_is_said_everywhere() -> None:
    names = {"codex_id": "codex:1", "identity": "arch"}
    failed = turn_result(outcome(Status.FAILED), names)
    assert isinstance(failed.data, dict)
    assert names.items() <= failed.data.items()
    assert "codex_id: codex:1, threadId: " in str(failed.content)
    assert "[arch, codex:1] completed" in str(wait_result(WaitReport([described(outcome(Status.COMPLETED), names)])))


def test_of_a_thread_that_did_not_even_begin_no_id_is_told() -> None:
    failed = msgspec.structs.replace(outcome(Status.FAILED), thread_id="")
    assert turn_result(failed) == refused(failed.content)


LONG = "".join(f"line {number}\n" for number in range(10_000))


def shown(result: ToolResult) -> tuple[str, str]:
    """The text, and the content of the structured content."""
    assert result.data is not None
    return str(result.content[0]["text"]), str(result.data["content"])


@pytest.mark.parametrize(("shows", "place"), [(Shows.TEXT, "content"), (Shows.DATA, "structuredContent")])
def test_a_long_answer_is_whole_where_the_client_reads_it_and_only_there(shows: Shows, place: str) -> None:
    result = turn_result(outcome(Status.COMPLETED, LONG), reader=Reader(shows))
    whole, other = shown(result) if shows is Shows.TEXT else shown(result)[::-1]
    assert whole.startswith(LONG)
    assert other.startswith("line 0\n")
    assert len(other) < 1_000
    assert f"{len(LONG)} characters" in other
    assert f"`{place}`" in other
    assert "line 9999" not in other
    on_the_wire(result)


@pytest.mark.parametrize("status", [Status.FAILED, Status.INTERRUPTED])
@pytest.mark.parametrize("of_errors", [Shows.TEXT, Shows.DATA, Shows.BOTH])
def test_of_an_error_the_long_answer_is_where_the_client_reads_errors(of_errors: Shows, status: Status) -> None:
    shows = Shows.TEXT if of_errors is Shows.DATA else Shows.DATA
    text, data = shown(turn_result(outcome(status, LONG), reader=Reader(shows, shows_of_errors=of_errors)))
    whole, other = (data, text) if of_errors is Shows.DATA else (text, data)
    assert LONG.rstrip() in whole
    assert len(other) < 1_000


def test_an_answer_beyond_the_limit_is_cut_after_a_line_and_says_how_to_get_the_rest() -> None:
    result = turn_result(outcome(Status.COMPLETED, LONG), reader=Reader(Shows.DATA, 20_000, takes_links=True))
    _text, data = shown(result)
    structured, content = result.data, result.content
    assert isinstance(structured, dict)
    end = structured["part"]["end"]
    assert LONG[end - 1] == "\n"
    assert data.startswith(LONG[:end])
    assert f"[Characters 0 to {end} of {len(LONG)}." in data
    assert f'codex_wait {{"threadIds": ["t-1"], "offset": {end}}}' in data
    uri = f"codex://threads/t-1/answer?from={end}"
    assert structured["part"] == {"begin": 0, "end": end, "chars": len(LONG), "rest": uri}
    assert content[1]["type"] == "resource_link"
    assert content[1]["uri"] == uri
    on_the_wire(result)


def test_the_last_part_of_an_answer_says_that_it_is_the_last() -> None:
    turn = described(outcome(Status.COMPLETED, LONG), begin=len(LONG) - 10, reader=Reader(chars=20_000))
    assert turn["content"] == f"{LONG[-10:]}\n\n[Characters {len(LONG) - 10} to {len(LONG)} of {len(LONG)}.]"
    assert turn["part"] == {"begin": len(LONG) - 10, "end": len(LONG), "chars": len(LONG)}


def test_an_agent_of_a_team_is_named_by_its_codex_id_in_the_note_about_the_rest() -> None:
    turn = described(outcome(Status.COMPLETED, LONG), {"codex_id": "codex:1"}, reader=Reader(chars=20_000))
    assert 'codex_wait {"ids": ["codex:1"], "offset": ' in str(turn["content"])


def test_a_wait_returns_each_long_answer_once() -> None:
    turns = [described(outcome(Status.COMPLETED, LONG)), described(outcome(Status.COMPLETED, "Short."))]
    wire = msgspec.json.encode(wait_result(WaitReport(finished=turns), Reader(Shows.DATA))).decode()
    assert wire.count("line 9999") == 1
    assert wire.count("Short.") == 2


def test_a_client_that_may_read_either_finds_the_whole_answer_in_both() -> None:
    """A reader of the structured content alone was told that the rest is in the field that it was reading."""
    answer = "x" * 24_000
    text, data = shown(turn_result(outcome(Status.COMPLETED, answer), reader=reader_for("mcp", "2026-07-28", None)))
    assert (text.partition("\n\n")[0], data) == (answer, answer)


def test_beyond_the_limit_both_are_paged_alike_with_what_is_seen() -> None:
    reader = reader_for("mcp", "2026-07-28", None)
    text, data = shown(turn_result(outcome(Status.COMPLETED, LONG), reader=reader))
    assert text.startswith(data)
    for seen in (text, data):
        (offset,) = re.findall(r'codex_wait {"threadIds": \["t-1"\], "offset": (\d+)}', seen)
        assert seen.startswith(LONG[: int(offset)])


def test_a_client_that_shows_both_tells_its_model_everything_once() -> None:
    warned = msgspec.structs.replace(outcome(Status.COMPLETED, "The answer."), warnings=("Nearly used up.",))
    result = turn_result(warned, reader=Reader(Shows.BOTH))
    wire = msgspec.json.encode(result).decode()
    assert [wire.count(each) for each in ("The answer.", "Nearly used up.", "t-1")] == [1, 1, 1]
    wait = msgspec.json.encode(wait_result(WaitReport([described(warned)]), Reader(Shows.BOTH))).decode()
    assert [wait.count(each) for each in ("The answer.", "Nearly used up.")] == [1, 1]


def test_a_json_document_stays_alone_in_its_block() -> None:
    result = turn_result(outcome(Status.COMPLETED, '{"a": 1}'), reader=Reader(is_json=True))
    content = result.content
    assert msgspec.json.decode(str(content[0]["text"])) == {"a": 1}
    assert str(content[1]["text"]).startswith("threadId: t-1 ")


@pytest.mark.parametrize(
    ("name", "revision", "kinds"),
    [
        ("claude-code", "2025-06-18", {"text", "resource_link"}),
        ("claude-code", "2025-03-26", {"text"}),
        ("mcp", "2025-11-25", {"text"}),
    ],
)
def test_links_go_to_clients_that_know_them(name: str, revision: str, kinds: set[str]) -> None:
    """AutoGen, which calls itself `mcp`, shows its model an error in the place of a result with a link."""
    result = turn_result(outcome(Status.COMPLETED, LONG), reader=reader_for(name, revision, None))
    assert {block["type"] for block in result.content} == kinds


def test_a_client_that_may_end_the_server_after_the_call_is_told_that_the_agent_ends_with_it() -> None:
    for name, is_local, is_told in (("mcp", True, True), ("mcp", False, False), ("claude-code", True, False)):
        reader = reader_for(name, "2025-11-25", None, is_local=is_local)
        text, _ = shown(turn_result(outcome(Status.RUNNING), reader=reader))
        assert ("ends with this server" in text and "--port" in text) is is_told
