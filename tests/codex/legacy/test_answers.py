"""What the answer to a call of an old Codex says about its turn."""

import asyncio

import pytest
from msgspec import Raw

from codex_mcp.codex.core import CoreLost
from codex_mcp.codex.legacy.answers import failure_of
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost, request_failed
from codex_mcp.wire.jsonrpc import ErrorObject


def answered(answer: Raw | Exception) -> asyncio.Future[Raw]:
    future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
    if isinstance(answer, Raw):
        future.set_result(answer)
    else:
        future.set_exception(answer)
    return future


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Raw(b'{"content": [{"type": "text", "text": "well"}]}'), None),
        (Raw(b'{"content": [{"type": "text", "text": "no model"}], "isError": true}'), "no model"),
        (Raw(b'{"content": [], "isError": true}'), "Codex did not say why"),
        (request_failed(1, "refused"), "refused"),
        (AnswerTooLong(ErrorObject(1, "too long")), None),
        (ConnectionLost(), "Codex ended before the turn had ended"),
    ],
)
async def test_a_call_fails_by_an_error_and_not_by_the_length_of_its_answer(
    answer: Raw | Exception, why: str | None
) -> None:
    failure = failure_of(answered(answer))
    assert (None if failure is None else str(failure)) == why
    assert isinstance(failure, CoreLost) is isinstance(answer, ConnectionLost)


async def test_an_answer_that_cannot_be_read_is_a_failure() -> None:
    assert "in a form that this release cannot read" in str(failure_of(answered(Raw(b"7"))))
