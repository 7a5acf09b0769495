"""An open question in words says what is asked, under which id, and how to answer it."""

from codex_mcp.mcp.asking.question_texts import client_question, fetched_question, listed_question
from codex_mcp.threads.questions.questions import Method
from tests.support.core.questions import COMMAND, ask

ROW = {"id": "turn/question-1", "identity": "arch", "question": "May I?", "decisions": ["approved", "denied"]}


def test_a_listed_question_says_its_id_and_the_call_that_answers_it() -> None:
    assert listed_question(ROW) == (
        "arch asks: May I?\n"
        "  question id: turn/question-1\n"
        '  answer with codex_approvals {"id": "turn/question-1", "decision": "approved"}\n'
        '  decisions: approved, denied; "denied" takes a "reason", which the agent is told'
    )


def test_a_question_of_another_server_says_where_it_can_be_answered() -> None:
    told = listed_question({**ROW, "owner": {"pid": 7, "host": "h"}})
    assert told == "arch asks: May I?\n  can be answered only at its own server, process 7 on h"


def test_where_there_is_no_list_no_tool_is_named_that_does_not_exist() -> None:
    question = ask(Method.EXEC, COMMAND)
    for told in (client_question(question), fetched_question(question)):
        assert "make docs" in told
        assert "codex_approvals" not in told
