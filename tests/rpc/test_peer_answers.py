"""Whether an answer has arrived, whose caller has not run since."""

import pytest

from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from tests.support.rpc.talk import talk


async def test_an_answer_that_has_arrived_is_known_before_its_caller_runs() -> None:
    async with talk() as t:
        answered, refused, lost = (t.peer.start("question", {}) for _ in range(3))
        assert [each.is_answered for each in (answered, refused, lost)] == [False, False, False]
        t.say(b'{"jsonrpc":"2.0","id":0,"result":{}}')
        t.say(b'{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"no"}}')
        with pytest.raises(RequestFailed):
            await refused.answer
        assert [each.is_answered for each in (answered, refused, lost)] == [True, True, False]
        await t.far.aclose()
        with pytest.raises(ConnectionLost):
            await lost.answer
        assert not lost.is_answered
