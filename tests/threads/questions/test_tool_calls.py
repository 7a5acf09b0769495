"""Calls of our own tools go to their host; everything else is a question."""

from codex_mcp.threads.questions.tool_calls import ToolCalls, tool_answer
from codex_mcp.wire.app.questions import ToolCallRequest, unknown

CALL = ToolCallRequest("turn", "call", "atm_read", thread_id="child")


async def test_a_call_goes_to_the_host_with_the_thread_that_it_counts_for() -> None:
    calls = ToolCalls()
    assert calls.answer("parent", CALL) is None

    async def host(thread_id: str, asked: ToolCallRequest) -> object:
        return thread_id, asked.tool

    calls.answer_with(host)
    answer = calls.answer("parent", CALL)
    assert answer is not None
    assert await answer == ("parent", "atm_read")
    assert calls.answer("parent", unknown("other", "child")) is None


def test_an_answer_says_whether_it_is_an_error() -> None:
    assert tool_answer("no", is_error=True) == {"contentItems": [{"type": "inputText", "text": "no"}], "success": False}
    assert tool_answer("yes")["success"] is True


class Kept:
    """Answers that are kept in memory."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], object] = {}

    async def answer(self, thread_id: str, call_id: str) -> object | None:
        """What was answered before."""
        return self.answers.get((thread_id, call_id))

    async def keep(self, thread_id: str, call_id: str, answer: object) -> None:
        """Keep it."""
        self.answers[thread_id, call_id] = answer


async def test_a_call_that_was_answered_is_answered_again_and_not_carried_out_again() -> None:
    kept, done = Kept(), []

    async def host(thread_id: str, asked: ToolCallRequest) -> object:
        done.append(asked.call_id)
        return tool_answer(f"answer {len(done)}")

    for _ in range(2):  # two servers, one after the other
        calls = ToolCalls()
        calls.answer_with(host)
        calls.answer_once(kept)
        answering = calls.answer("parent", CALL)
        assert answering is not None
        assert await answering == tool_answer("answer 1")
    assert done == ["call"]
    other = calls.answer("another", CALL)
    assert other is not None
    assert await other == tool_answer("answer 2")
