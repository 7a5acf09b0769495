"""`codex-mcp approvals`: what Codex asks, of all agents of all servers of the state folder, and the answers."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from codex_mcp.base.errors import Explained, NotFound, Refused
from codex_mcp.base.printable import foreign, visible
from codex_mcp.cli.output import SCHEMA, print_json, print_text
from codex_mcp.cli.people.asking import NOTHING, entry, lines
from codex_mcp.cli.people.finding import caller_of, server_names
from codex_mcp.cli.people.following import follow
from codex_mcp.cli.state.folder import add_state_argument, readable, state_folder
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.questions import Survey, find_question, give_answer, open_questions
from codex_mcp.control.server import Caller
from codex_mcp.wire import control

DESCRIPTION: Final = "List what Codex asks a person, of all agents of all servers of the state folder, and answer it."

COMMAND: Final = "approvals"
NOT_USED: Final = 1
"""The exit code if another answer came first."""
LIST: Final = "list"
SHOW: Final = "show"
ANSWER: Final = "answer"

WORDS: Final = {LIST: 0, SHOW: 1, ANSWER: 2}
"""The actions, and how many words follow them at most."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=tuple(WORDS), default=LIST, help="what to do (default: list)")
    parser.add_argument("id", nargs="?", metavar="ID", help="of the question, for show and answer")
    parser.add_argument("decision", nargs="?", metavar="DECISION", help="one of those that are offered, for answer")
    parser.add_argument("--reason", metavar="TEXT", help="with denied: why, which the agent is told")
    parser.add_argument("--content", metavar="JSON", help="the answer to a question that asks for data")
    parser.add_argument("--watch", action="store_true", help="with list: keep showing questions and how they end")
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch, one object per line")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    given = _checked(arguments)
    folder = state_folder(arguments, environment, cwd)
    caller = caller_of(COMMAND, environment)
    with readable(folder):
        names = server_names(folder)
    if arguments.action == LIST and arguments.watch:
        asyncio.run(follow(folder, caller, names, as_json=arguments.json))
        return 0
    if arguments.action == LIST:
        return _list(asyncio.run(open_questions(folder, caller, names)), as_json=arguments.json)
    survey = asyncio.run(find_question(folder, arguments.id, caller, names))
    if not survey.asked:
        _say_unreached(survey.unreached)
        raise _unknown(arguments.id, some_may_know=bool(survey.unreached))
    if arguments.action == SHOW:
        return _show(survey.asked[0], as_json=arguments.json)
    return _answer(folder, survey.asked[0], given, caller, as_json=arguments.json)


def _checked(arguments: argparse.Namespace) -> control.Given:
    """Raises Refused for words that do not belong together."""
    words = [word for word in (arguments.id, arguments.decision) if word is not None]
    if len(words) > WORDS[arguments.action] or (arguments.action != LIST and not words):
        raise Refused("say `list`, `show ID`, `answer ID DECISION` or `answer ID --content JSON`")
    if arguments.watch and arguments.action != LIST:
        raise Refused("--watch is for `list`")
    if arguments.action != ANSWER:
        if arguments.reason is not None or arguments.content is not None:
            raise Refused("--reason and --content are for `answer`")
        return control.Given()
    if (arguments.decision is None) is (arguments.content is None):
        raise Refused("an answer is either a DECISION or --content JSON")
    if arguments.reason is not None and arguments.decision != "denied":
        raise Refused("--reason goes with the decision denied")
    return control.Given(decision=arguments.decision, reason=arguments.reason, content=_content(arguments.content))


def _content(text: str | None) -> dict[str, object] | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as exc:
        raise Refused(f'cannot use --content: it must be a JSON object, such as \'{{"name": "x"}}\': {exc}') from exc


def _list(survey: Survey, *, as_json: bool) -> int:
    if as_json:
        rows = [entry(asked) for asked in survey.asked]
        print_json({"schema": SCHEMA, "approvals": rows, "unreached": [str(each) for each in survey.unreached]})
        return 0
    _say_unreached(survey.unreached)
    now = time.time()
    print_text("\n\n".join(lines(asked, now) for asked in survey.asked) or NOTHING)
    return 0


def _show(asked: Asked, *, as_json: bool) -> int:
    if as_json:
        print_json({"schema": SCHEMA, "approval": entry(asked)})
    else:
        print_text(lines(asked, time.time(), whole=True))
    return 0


def _answer(folder: str, asked: Asked, given: control.Given, caller: Caller, *, as_json: bool) -> int:
    verdict = asyncio.run(give_answer(folder, asked, given, caller))
    if as_json:
        print_json({"schema": SCHEMA, "verdict": verdict})
    elif verdict.used:
        print_text(visible(verdict.sentence))
    else:
        print(f"codex-mcp {COMMAND}: {visible(verdict.sentence)}", file=sys.stderr)
    return 0 if verdict.used else NOT_USED


def _unknown(question_id: str, *, some_may_know: bool) -> Explained:
    what = f"server knows a question {foreign(question_id, 100)}; codex-mcp approvals lists those that are open"
    return Explained(f"no other {what}") if some_may_know else NotFound(f"no {what}")


def _say_unreached(unreached: Sequence[CannotReach]) -> None:
    for each in unreached:
        print(f"codex-mcp {COMMAND}: {each}", file=sys.stderr)
