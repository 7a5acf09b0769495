"""What a turn comes to, fact by fact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.prices import Price
from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from codex_mcp.threads.record import LONGEST_UNFINISHED, Outcome, Record, Status


def told(*facts: Fact) -> Record:
    record = Record(now=100.0)
    for fact in facts:
        record.add(fact)
    return record


def outcome(*facts: Fact) -> Outcome:
    return told(*facts).outcome("t", now=102.5)


def test_a_turn_that_has_just_begun_has_come_to_nothing() -> None:
    assert outcome() == Outcome(
        thread_id="t", status=Status.RUNNING, content="", activity="starting", usage=None, files=(), seconds=2.5
    )


def test_a_completed_turn_has_its_last_message_and_its_own_tokens() -> None:
    first, second = Tokens(10, 4, 3, 1, 13), Tokens(20, 8, 6, 2, 26)
    done = outcome(
        TurnStarted("u"),
        TokensCounted("u", Tokens(), first),
        MessageSaid("u", "Wait."),
        TokensCounted("u", Tokens(), second),
        MessageSaid("u", "Done."),
        TurnEnded("u", "completed", None),
    )
    assert (done.status, done.content, done.usage) == (Status.COMPLETED, "Done.", Tokens(30, 12, 9, 3, 39))


def test_what_an_earlier_turn_used_is_not_counted_when_it_is_told_again_before_this_one_begins() -> None:
    earlier, own = Tokens(10, 4, 3, 1, 13), Tokens(20, 8, 6, 2, 26)
    facts = (TokensCounted("earlier", Tokens(), earlier), TurnStarted("u"), TokensCounted("u", Tokens(), own))
    assert outcome(*facts, TurnEnded("u", "completed", None)).usage == own


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ([TurnEnded("u", "failed", "no quota")], "no quota"),
        ([ErrorReported("u", "cut off", will_retry=False), TurnEnded("u", "failed", None)], "cut off"),
        ([ErrorReported("u", "cut off", will_retry=False), TurnEnded("u", "failed", "no quota")], "no quota"),
        (
            [ErrorReported("u", "again", will_retry=True), TurnEnded("u", "failed", None)],
            "the turn failed, and Codex did not say why",
        ),
        ([TurnEnded("u", "of a new kind", None)], "the turn failed, and Codex did not say why"),
    ],
)
def test_a_failed_turn_says_why(facts: list[Fact], why: str) -> None:
    done = outcome(MessageSaid("u", "Half an answer."), *facts)
    assert (done.status, done.content) == (Status.FAILED, why)


def test_an_interrupted_turn_has_what_was_said_until_then() -> None:
    done = outcome(MessageSaid("u", "Half an answer."), TurnEnded("u", "interrupted", None))
    assert (done.status, done.content) == (Status.INTERRUPTED, "Half an answer.")


def test_it_can_be_stopped_or_fail_without_a_word_of_the_core() -> None:
    record = told(MessageSaid("u", "Half an answer."))
    record.interrupt()
    assert record.outcome("t", 0).status is Status.INTERRUPTED
    record.fail("Codex ended")
    assert (record.outcome("t", 0).status, record.outcome("t", 0).content) == (Status.FAILED, "Codex ended")


def test_the_activity_is_the_newest_that_was_told() -> None:
    record = Record(0)
    seen = []
    facts: list[Fact] = [
        TurnStarted("u"),
        CommandStarted("u", "1", "make", "7"),
        ItemEnded("u", "1"),
        ToolStarted("u", "2", "calling a tool"),
        ErrorReported("u", "Reconnecting... 1/5", will_retry=True),
        ErrorReported("u", "no", will_retry=False),
    ]
    for fact in facts:
        record.add(fact)
        seen.append(record.activity)
    assert seen == [
        "thinking",
        "running make",
        "running make",
        "calling a tool",
        "Reconnecting... 1/5",
        "Reconnecting... 1/5",
    ]


def test_commands_run_until_they_end() -> None:
    record = told(
        CommandStarted("u", "1", "one", "7"),
        CommandStarted("u", "2", "two", "8"),
        CommandStarted("u", "3", "waits for its approval", None),
    )
    assert record.running_commands == ["1", "2", "3"]
    record.add(ItemEnded("u", "1"))
    record.add(ItemEnded("u", "unknown"))
    assert record.running_commands == ["2", "3"]


@pytest.mark.parametrize(
    ("kinds", "amounts_to"),
    [
        (["add"], "add"),
        (["update"], "update"),
        (["delete"], "delete"),
        (["add", "update"], "add"),
        (["add", "add"], "add"),
        (["add", "delete"], None),
        (["add", "delete", "add"], "add"),
        (["update", "delete"], "delete"),
        (["delete", "add"], "update"),
        (["update", "update"], "update"),
    ],
)
def test_changes_of_one_file_amount_to_one(kinds: list[str], amounts_to: str | None) -> None:
    done = outcome(*(FilesChanged("u", "i", (FileChange("/x/a", kind),)) for kind in kinds))
    assert done.files == (() if amounts_to is None else (FileChange("/x/a", amounts_to),))


@given(st.lists(st.sampled_from(["add", "update", "delete"]), max_size=6))
def test_a_file_that_is_there_or_not_in_the_end_is_told_so(kinds: list[str]) -> None:
    """Only orders that can happen: a file is added when it is not there, and changed or deleted when it is."""
    for was_there in (True, False):
        is_there, possible = was_there, True
        for kind in kinds:
            possible = possible and (kind == "add") != is_there
            is_there = kind != "delete"
        if possible and kinds:
            files = outcome(*(FilesChanged("u", "i", (FileChange("/x", kind),)) for kind in kinds)).files
            kind_told = files[0].kind if files else None
            assert (
                kind_told
                == {
                    (True, True): "update",
                    (True, False): "delete",
                    (False, True): "add",
                    (False, False): None,
                }[was_there, is_there]
            )


def test_a_turn_that_was_stopped_for_a_reason_has_failed_for_that_reason_and_keeps_what_it_said() -> None:
    record = Record(0.0)
    record.add(MessageSaid(turn_id="t", text="half of it"))
    record.stop_because("time is up.", out_of_time=True)
    assert (record.outcome("thread", 1.0).status, record.timed_out) == (Status.RUNNING, False)
    record.add(TurnEnded(turn_id="t", status="interrupted", error=None))
    outcome = record.outcome("thread", 1.0)
    assert (outcome.status, outcome.content) == (Status.FAILED, "time is up. Its last message: half of it")
    assert record.timed_out


def test_a_turn_that_ended_by_itself_just_before_it_was_stopped_has_not_failed() -> None:
    record = Record(0.0)
    record.stop_because("time is up.", out_of_time=True)
    record.add(TurnEnded(turn_id="t", status="completed", error=None))
    assert (record.outcome("thread", 1.0).status, record.timed_out) == (Status.COMPLETED, False)


@pytest.mark.parametrize("status", ["completed", "interrupted", "failed"])
def test_a_turn_of_which_something_was_lost_has_failed_however_it_ends(status: str) -> None:
    record = Record(0.0)
    record.stop_because("time is up.", out_of_time=True)
    record.spoil("too long")
    record.spoil("too late")
    record.add(TurnEnded(turn_id="t", status=status, error="other"))
    outcome = record.outcome("thread", 1.0)
    assert (outcome.status, outcome.content, record.is_spoiled) == (Status.FAILED, "too long", True)
    assert not record.timed_out


def stopped(*facts: Fact) -> str:
    record = told(*facts)
    record.stop_because("time is up.")
    record.add(TurnEnded("u", "interrupted", None))
    return record.outcome("t", now=1.0).content


def test_a_stopped_turn_keeps_the_message_that_it_had_not_finished() -> None:
    half = [MessageStreamed("u", "i", "Half "), MessageStreamed("u", "i", "a sen")]
    assert stopped(*half) == "time is up. Its unfinished message: Half a sen"
    assert stopped(*half, MessageSaid("u", "Half a sentence.")) == "time is up. Its last message: Half a sentence."
    again = MessageStreamed("u", "j", "And")
    assert stopped(*half, again) == "time is up. Its unfinished message: And"
    assert stopped(MessageSaid("u", "One."), again) == "time is up. Its last message: One. Its unfinished message: And"


def test_an_endless_message_is_not_kept_for_ever() -> None:
    piece = MessageStreamed("u", "i", "x" * 1000)
    assert len(stopped(*[piece] * 2000)) < LONGEST_UNFINISHED + 2000


REFUSED = ErrorReported("u", "Reconnecting...", will_retry=True, details="connection refused")


def test_while_the_model_is_out_of_reach_the_turn_says_why() -> None:
    record = told(TurnStarted("u"), REFUSED)
    assert record.trouble == record.activity == "Reconnecting... (connection refused)"
    record.add(TokensCounted("u", Tokens(), Tokens()))
    assert record.trouble
    record.add(MessageStreamed("u", "i", "Here"))
    assert record.trouble == ""
    record.locate("at home")
    record.add(REFUSED)
    assert record.trouble == "Reconnecting... (connection refused); at home"
    assert told(ErrorReported("u", "no: refused", will_retry=True, details="refused")).trouble == "no: refused"
    assert told(ErrorReported("u", "no", will_retry=False, details="refused")).trouble == ""


def test_lines_of_patches_are_added_up_and_files_of_commands_come_after_them() -> None:
    record = told(
        FilesChanged("u", "i", (FileChange("/x/a", "add", 3, 0),)),
        FilesChanged("u", "i", (FileChange("/x/a", "update", 1, 2), FileChange("/x/b", "update"))),
        FilesChanged("u", "i", (FileChange("/x/b", "update", 1, 1),)),
    )
    assert record.has_changed_files
    record.looked([FileChange("/x/a", "add", 9, 9), FileChange("/x/c", "add", 1, 0)], None, "a warning")
    outcome = record.outcome("t", 101.0)
    assert outcome.files == (
        FileChange("/x/a", "add", 4, 2),
        FileChange("/x/b", "update"),
        FileChange("/x/c", "add", 1, 0),
    )
    assert outcome.warnings == ("a warning",)
    assert not told(MessageSaid("u", "hi")).has_changed_files


def test_a_caller_is_told_what_turns_before_have_used_that_were_not_told_and_the_turn_counts_its_own() -> None:
    own, before = Tokens(1_000_000, 0, 0, 0, 1_000_000, 1), Tokens(2_000_000, 0, 0, 0, 2_000_000, 3)
    record = told(TurnStarted("u"), TokensCounted("u", own, own))
    alone = record.outcome("t", now=102.5)
    assert (alone.usage_to_tell, alone.cost_to_tell) == (own, None)
    record.follows(before)
    record.set_price(Price(1.0, 1.0, 1.0))
    whole = record.outcome("t", now=102.5)
    assert (whole.usage, whole.cost) == (own, 1.0)
    assert whole.usage_to_tell == Tokens(3_000_000, 0, 0, 0, 3_000_000, 4)
    assert whole.cost_to_tell == 3.0
