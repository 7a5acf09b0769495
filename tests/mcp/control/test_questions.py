"""Questions at the control socket, with the board and the team of this process."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.mcp.control.questions import Questions, decision_of
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.threads.questions.board import Entry, Verdict
from codex_mcp.threads.questions.decisions import Aborted, Approved, Denied
from codex_mcp.threads.questions.questions import Method
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Request
from tests.support.core.questions import COMMAND, ask
from tests.support.team.local_team import local_team

QUESTION = replace(ask(Method.EXEC, COMMAND), id="turn/question-1")
HELLO = control.Hello(protocol=1, program="test", person="mira")


def request(method: str, params: object) -> Request:
    return Request(1, method, msgspec.Raw(msgspec.json.encode(params)))


async def test_a_server_without_a_valid_lease_decides_nothing(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        await local.team.session.ready()
        board = local.threads.board
        board.open(Entry(question=QUESTION, thread="t", principal="local", asked_at=1.0), lambda _: None, lambda _: ())
        questions = Questions(local.team, board, lambda principal: principal == "local")
        (shown,) = questions.open_questions()
        given = control.Given(decision="approved")
        answer = control.Answer(id=shown.id, digest=shown.digest, key="k", answer=given)
        keeper = local.team.session._keeper
        assert keeper is not None
        held = keeper._lease
        keeper._lease = held.at(keeper._clock() + 100)
        with pytest.raises(RequestFailed, match="does not hold its lease at the moment: nothing was decided"):
            questions.answer(request(control.ANSWER, answer), HELLO)
        assert [each.state for each in questions.open_questions()] == ["open"]
        keeper._lease = held
        verdict = questions.answer(request(control.ANSWER, answer), HELLO)
        assert isinstance(verdict, Verdict)
        assert (verdict.used, verdict.decision, verdict.by, verdict.via) == (True, "approved", "mira", "terminal")


@pytest.mark.parametrize(
    ("given", "decision"),
    [
        (control.Given(decision="approved"), Approved()),
        (control.Given(decision="denied", reason="no"), Denied("no")),
        (control.Given(decision="abort"), Aborted()),
    ],
)
def test_an_answer_means_what_was_offered(given: control.Given, decision: object) -> None:
    assert decision_of(QUESTION, given) == decision


@pytest.mark.parametrize(
    "given",
    [
        control.Given(),
        control.Given(decision="maybe"),
        control.Given(decision="approved_mcp_policy_amendment"),
        control.Given(content={"a": 1}),
    ],
)
def test_what_was_not_offered_is_refused(given: control.Given) -> None:
    with pytest.raises(RequestFailed, match="Invalid params"):
        decision_of(QUESTION, given)
