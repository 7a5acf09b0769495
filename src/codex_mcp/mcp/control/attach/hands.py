"""What a person does to an agent in a TUI: prompts, stops, decisions. The agent's callers hear of the first two."""

from __future__ import annotations

import os
import time
from typing import Final

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.codex.core import TurnInput, TurnSpec, When
from codex_mcp.mcp.control.attach.conversation import Conversation
from codex_mcp.mcp.control.attach.rules import Begin, Steer, Stop
from codex_mcp.mcp.control.attach.told import Typed
from codex_mcp.mcp.control.attach.who import Who
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.images import checked_image
from codex_mcp.rpc.errors import request_failed
from codex_mcp.team.people import Did, PersonAct, warned
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Assignment
from codex_mcp.threads.own.audience import NoCaller
from codex_mcp.threads.questions.board import Answer, Changed, Entry, Via
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.turn import Turn
from codex_mcp.wire import control
from codex_mcp.wire.app.requests import ImageInput, LocalImageInput, TextInput
from codex_mcp.wire.jsonrpc import INVALID_REQUEST

PURPOSE: Final = "attach"
"""Of a turn that a person begins, in the audit."""

KEY_BYTES: Final = 8

NO_TURN: Final = "no active turn to steer"
NOTHING_RUNS: Final = "no turn runs that could be stopped"
NO_LEASE: Final = "the agent's server does not hold its lease at the moment: nothing was decided; try again"
HOLDING: Final = "holding"


class Hands:
    def __init__(self, inside: Inside, member: Member, thread_id: str, who: Who, conversation: Conversation) -> None:
        self._inside = inside
        self._team = inside.team
        self._member = member
        self._thread_id = thread_id
        self._who = who
        self._conversation = conversation

    async def act(self, asked: Begin | Steer | Stop) -> object:
        """Raises RequestFailed."""
        try:
            match asked:
                case Begin():
                    return await self._begin(asked)
                case Steer():
                    return await self._steer(asked)
                case Stop():
                    return self._stop(asked)
        except Explained as exc:
            raise request_failed(INVALID_REQUEST, str(exc)) from exc

    async def _begin(self, asked: Begin) -> object:
        text = _text_of(asked.parts)
        turn = await self._submit(asked, When.QUEUE)
        self._note(Did.PROMPTED, text, turn)
        if not await turn.until_started():
            raise Refused(turn.outcome.content or "the prompt did not begin")
        turn_id = turn.answer.place.turn_id
        begun = self._conversation.turn(turn_id)
        return {"turn": {"id": turn_id, "items": [], "status": "inProgress", "error": None} if begun is None else begun}

    async def _steer(self, asked: Steer) -> object:
        current = self._current
        if current is None or current.place.turn_id != asked.turn_id:
            raise Refused(NO_TURN)
        turn = await self._submit(asked, When.STEER)
        self._note(Did.STEERED, _text_of(asked.parts), turn)
        return {"turnId": asked.turn_id}

    @property
    def _current(self) -> Turn | None:
        thread = self._member.thread
        current = None if thread is None else thread.current
        return None if current is None or current.ended else current

    async def _submit(self, asked: Begin | Steer, when: When) -> Turn:
        parts = asked.parts
        pictures = tuple(_picture(part) for part in parts if not isinstance(part, TextInput))
        for picture in pictures:
            checked_image(picture, self._member.agent.cwd)
        spec = TurnSpec(prompt=_text_of(parts), images=pictures, parts=parts, when=when)
        agent = self._member.agent
        audience = NoCaller(agent.principal, self._inside.calls.approval_timeout)
        task = Assignment(spec, audience, full_events=False, purpose=PURPOSE)
        async with self._team.resuming.find(agent.codex_id, agent.principal, resume=False) as member:
            turn = await self._team.work.submit(member, task)
        texts = tuple(part.text for part in parts if isinstance(part, TextInput))
        self._conversation.was_typed(Typed(asked.message_id, turn.name, texts))
        turn.attribute_to(f"{PURPOSE} {self._who.person}")
        return turn

    def _stop(self, asked: Stop) -> object:
        thread, current = self._member.thread, self._current
        if thread is None or current is None or (asked.turn_id and current.place.turn_id != asked.turn_id):
            raise Refused(NOTHING_RUNS)
        self._note(Did.INTERRUPTED, "", current)
        thread.cancel(current)
        return {}

    def _note(self, did: Did, text: str, turn: Turn) -> None:
        """Into the audit, into the news of the agent's callers, and into the answer of the turn that it changes."""
        who, agent, key = self._who, self._member.agent, os.urandom(KEY_BYTES).hex()
        acts_for = control.ActsFor(principal=agent.principal, person=who.person, via=who.program)
        self._team.note_person(did, agent.codex_id, acts_for)
        act = PersonAct(did, who.person, text, time.time(), f"{agent.codex_id} person {key}")
        self._member.note_person(act)
        if did is not Did.PROMPTED:
            host = turn.joins or turn
            host.record.warn(warned(host.record.warnings, act))
        self._inside.threads.changes.tell(agent.codex_id, self._thread_id)

    def decide(self, entry: Entry, decision: Decision) -> str:
        """Give this answer to a question. Returns why it was not used; empty if it was."""
        if self._team.session.lease != HOLDING:
            return NO_LEASE
        verdict = self._inside.threads.board.decide(entry.id, Answer(decision, self._who.person, Via.TUI))
        if isinstance(verdict, Changed) or verdict.used:
            return ""
        return f"Your answer was not used. {verdict.sentence}"


def _picture(part: ImageInput | LocalImageInput) -> str:
    return part.url if isinstance(part, ImageInput) else part.path


def _text_of(parts: tuple[TurnInput, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextInput))
