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
