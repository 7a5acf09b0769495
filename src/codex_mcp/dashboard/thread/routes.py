"""The addresses below /ui/threads: reading a thread, and what a person does with it."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign, one_line, visible
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.failures import CannotReach
from codex_mcp.dashboard import guard
from codex_mcp.dashboard.answers import HTML, Answer, see
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.live import Parts
from codex_mcp.dashboard.rendering import Frame
from codex_mcp.dashboard.sessions import Session
from codex_mcp.dashboard.thread import rendering
from codex_mcp.dashboard.thread.acting import Acting, Done
from codex_mcp.dashboard.thread.comments import Comment, added, comment_of, message
from codex_mcp.dashboard.thread.conversation import Conversation, Conversations
from codex_mcp.dashboard.thread.diff_page import RANGES, Asked, diff_page
from codex_mcp.dashboard.thread.inspector import Around
from codex_mcp.dashboard.thread.page import ThreadPage, href_of_thread, thread_page
from codex_mcp.dashboard.thread.pictures import Pictures, Shown
from codex_mcp.dashboard.thread.prose import prose
from codex_mcp.dashboard.thread.rendering import Draft, Rendered
from codex_mcp.dashboard.thread.steps import Picture, before, briefs, view_of
from codex_mcp.dashboard.views.briefs import Before
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.dashboard.visit import Visit, agent_of, caller_of, field, number, unknown
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.team.records.summaries import read_summary
from codex_mcp.transports.http import JSON
from codex_mcp.wire.control import Question
from codex_mcp.wire.control_thread import ListSteps, Steps

PATH: Final = re.compile(r"/ui/threads/([^/]{1,200})(?:/([a-z]{1,20}))?")
BY_NAME: Final = re.compile(r"/ui/@([^/]{1,200})")

STEPS: Final = 200
MOST_PREVIEWED: Final = 7
MOST_BEFORE: Final = 4
"""Steps beside the fleet, and below a question."""
CONFINES: Final = ("exec", "patch", "permissions")
"""What is asked because of sandbox and approval policy."""
LOCAL: Final = ("", "local")
CONFINED: Final = (b"content-security-policy", b"sandbox; default-src 'none'")
SCHEMA: Final = 1

UNKNOWN: Final = "There is no agent {}. It may have been pruned: codex-mcp threads --all lists those that are known."

ENDED: Final = "The turn has ended meanwhile. Your message was not sent; it is kept here."
NOT_WRITTEN: Final = "Write a message, or comment on a line of the diff."

SENT: Final = {
    "steer": "Sent: it joins the running turn.",
    "queue": "Sent: it waits for the end of this turn.",
    "interrupt": "Sent: the turn is stopped, and this begins.",
    "": "Sent.",
}
REVIEW: Final = "A review of its changes runs. Its findings will stand here and in the diff."

MOST_LOOKS: Final = 5
LOOK_PAUSE: Final = 0.2
"""For an agent that is not known, while there are servers that do not say what they run; seconds between two looks."""

TOOLS: Final = {"interrupt": "codex_interrupt", "close": "codex_close", "review": "codex_review", "resume": "codex"}


class Threads:
    def __init__(self, state_dir: str, codex_home: str) -> None:
        self._state_dir = state_dir
        self._conversations = Conversations(codex_home)
        self._acting = Acting(state_dir)
        self._pictures = Pictures()
        self._tasks = TaskSet()
        self._parts_of_threads = {
            "": self._transcript,
            "part": self._part,
            "step": self._step,
            "picture": self._picture,
        }
        self._parts_of_agents = {"preview": self._preview, "diff": self._diff, "summary": self._summary}

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await self._acting.aclose()
        await self._conversations.aclose()

    # ------------------------------------------------------------------------------------------------------ reading

    async def get(self, visit: Visit, path: str) -> Answer:
        if (named := BY_NAME.fullmatch(path)) is not None:
            agent = await _agent(visit.fleet, named[1])
            return see(href_of_thread(agent.codex_id)) if agent is not None else self._unknown(visit, named[1])
        found = PATH.fullmatch(path)
        if found is None:
            return self._unknown(visit, path)
        ref, what = found[1], found[2] or ""
        agent = await _agent(visit.fleet, ref)
        conversation = await self._conversations.of(visit.fleet, agent, ref)
        if agent is None and not conversation.is_live:
            return self._unknown(visit, ref)
        look = self._parts_of_threads.get(what)
        if look is not None:
            return await look(visit, agent, conversation)
        of_agent = self._parts_of_agents.get(what)
        return (
            self._unknown(visit, path)
            if agent is None or of_agent is None
            else await of_agent(visit, agent, conversation)
        )

    def _unknown(self, visit: Visit, name: str) -> Answer:
        return unknown(visit, UNKNOWN.format(foreign(name, 100)))

    def page(self, visit: Visit, agent: AgentFacts | None, at: Conversation, shown: Steps | None = None) -> ThreadPage:
        facts = visit.fleet.facts()
        agent = None if agent is None else agent_of(facts, agent.codex_id) or agent  # it may have changed meanwhile
        pictures = self._shown_pictures(agent, at, shown)
        is_live = at.is_live and (agent is None or agent.status == "active")
        around = Around(facts, visit.seen, time.time(), at.known, at.trouble, is_live, pictures)
        return thread_page(around, agent, shown)

    def _shown_pictures(self, agent: AgentFacts | None, at: Conversation, shown: Steps | None) -> dict[str, Picture]:
        """Those that were looked at; others are looked at soon, and the page is told."""
        paths = picture_paths(agent, shown or at.known)
        if self._pictures.unknown(paths):
            self._tasks.spawn(self._look_at(paths, at), name="pictures of a thread")
        return {path: _picture(at.name, path, found) for path in paths if (found := self._pictures.shown(path))}

    async def _look_at(self, paths: list[str], at: Conversation) -> None:
        await self._pictures.look(paths)
        at.changed()

    async def _picture(self, visit: Visit, agent: AgentFacts | None, at: Conversation) -> Answer:
        asked = guard.query(visit.http.query)
        shown = await self._asked(visit, at, ListSteps(thread="", turn=asked.get("turn", ""), limit=400))
        paths = [*picture_paths(agent, shown), *picture_paths(agent, at.known)]
        found = await self._pictures.read(asked.get("h", ""), paths)
        if found is None:
            return unknown(visit, "There is no such picture.")
        headers = visit.http.extra_headers
        headers[:] = [each for each in headers if each[0] != CONFINED[0]]
        return Answer(200, found[1], (b"content-type", found[0]), CONFINED)

    def _frame(self, visit: Visit, page: ThreadPage) -> Frame:
        return visit.frame("fleet", visit.fleet.facts(), page.counts.need)

    async def _transcript(self, visit: Visit, agent: AgentFacts | None, at: Conversation) -> Answer:
        shown = await self._shown(visit, at)
        await self._pictures.look(picture_paths(agent, shown or at.known))
        if agent is not None and not agent.is_busy:
            visit.session.see(agent.codex_id, agent.used_at)
        page = self.page(visit, agent, at, shown)
        if visit.as_json:
            return Answer(200, msgspec.json.encode(page), JSON)
        said = visit.session.kept.pop(f"said {page.ref}", "")
        draft = self._draft(visit, page.ref, said=said if isinstance(said, str) else "")
        return self._rendered(visit, page, draft, is_newest=shown is None)

    def _rendered(self, visit: Visit, page: ThreadPage, draft: Draft, *, is_newest: bool, status: int = 200) -> Answer:
        frame = self._frame(visit, page)
        return Answer(status, rendering.thread(page, frame, draft, is_newest=is_newest), HTML)

    def _draft(self, visit: Visit, ref: str, **said: str) -> Draft:
        return Draft(key=secrets.token_urlsafe(12), comments=comments_of(visit.session, ref), **said)

    async def _shown(self, visit: Visit, at: Conversation) -> Steps | None:
        """Another part than the newest one, if one is asked for."""
        asked = guard.query(visit.http.query)
        turn, before, n = asked.get("turn", ""), number(asked.get("before")), number(asked.get("at"))
        if not turn and before is None and n is None:
            return None
        if n is not None:
            before = n + STEPS // 2
        return await self._asked(visit, at, ListSteps(thread="", turn=turn, before=before, limit=STEPS))

    async def _asked(self, visit: Visit, at: Conversation, asked: ListSteps) -> Steps:
        try:
            return await at.part(asked)
        except (RequestFailed, CannotReach) as exc:
            raise unknown(visit, f"It cannot be shown: {foreign(str(exc))}") from exc

    async def _part(self, visit: Visit, agent: AgentFacts | None, at: Conversation) -> Answer:
        shown = await self._shown(visit, at) or at.known
        await self._pictures.look(picture_paths(agent, shown))
        page = self.page(visit, agent, at, shown)
        return Answer(200, rendering.part(page, self._frame(visit, page)), HTML)

    async def _preview(self, visit: Visit, agent: AgentFacts, at: Conversation) -> Answer:
        """A part of the fleet's page: the row that is chosen there, with its last steps."""
        page = self.page(visit, agent, at)
        shown = briefs(at.known, agent.cwd, MOST_PREVIEWED)
        return Answer(200, rendering.preview(page, self._frame(visit, page), shown), HTML)

    async def before(self, fleet: Fleet, asked: Question) -> None:
        """Ask what the agent of a question did before it, so that `known_before` knows."""
        agent = agent_of(fleet.facts(), asked.thread)
        await self._conversations.of(fleet, agent, asked.thread)

    def known_before(self, fleet: Fleet, asked: Question) -> Before | None:
        """What is known of it."""
        agent = agent_of(fleet.facts(), asked.thread)
        at = self._conversations.known(fleet, agent, asked.thread)
        if at is None:
            return None
        found = before(at.known, "" if agent is None else agent.cwd, MOST_BEFORE)
        return found if asked.kind in CONFINES else replace(found, why="")

    async def _step(self, visit: Visit, agent: AgentFacts | None, at: Conversation) -> Answer:
        asked = guard.query(visit.http.query)
        n = number(asked.get("n")) or 0
        turn = asked.get("turn", "")
        one = ListSteps(thread="", turn=turn, before=n + 1, limit=1, whole=True)
        shown = await self._asked(visit, at, one)
        if not shown.steps or shown.steps[0].n != n:
            return unknown(visit, "There is no such step.")
        view = view_of(shown.steps[0], agent.cwd if agent is not None else "", whole=True)
        if visit.as_json:
            return Answer(200, msgspec.json.encode({"schema": SCHEMA, "at": time.time(), "step": view}), JSON)
        page = self.page(visit, agent, at, shown)
        frame = self._frame(visit, page)
        return Answer(200, rendering.step_page(page, frame, view), HTML)

    async def _summary(self, visit: Visit, agent: AgentFacts, at: Conversation) -> Answer:
        kept = await in_thread(_summary_of, self._state_dir, agent)
        page = self.page(visit, agent, at)
        if visit.as_json:
            told = {"schema": SCHEMA, "at": page.at, "sentence": page.sentence, "summary": kept}
            return Answer(200, msgspec.json.encode(told), JSON)
        frame = self._frame(visit, page)
        return Answer(200, rendering.summary(page, frame, prose(visible(kept))), HTML)

    async def _diff(self, visit: Visit, agent: AgentFacts, at: Conversation) -> Answer:
        asked = guard.query(visit.http.query)
        of = asked.get("of", "turn")
        of = of if of in RANGES else "turn"
        given = {"id": agent.codex_id, "of": of}
        done = await self._acting.call(visit.fleet, agent, caller_of(visit.session, view=True), "codex_diff", given)
        page = self.page(visit, agent, at)
        comments = comments_of(visit.session, agent.codex_id)
        wanted = Asked(of, asked.get("w") == "1", page.at)
        found = diff_page(wanted, page.name, done.text, page.inspector.findings, comments)
        if visit.as_json:
            return Answer(200, msgspec.json.encode(found), JSON)
        frame = self._frame(visit, page)
        return Answer(200, rendering.diff(page, frame, self._draft(visit, page.ref), found), HTML)

    async def look(self, visit: Visit, ref: str) -> Callable[[], Parts]:
        """What an open page would show now."""
        agent = agent_of(visit.fleet.facts(), ref)
        conversation = await self._conversations.of(visit.fleet, agent, ref)
        if agent is None and not conversation.is_live:
            raise self._unknown(visit, ref)
        return partial(self._parts, visit, ref, conversation, Rendered())

    def _parts(self, visit: Visit, ref: str, at: Conversation, rendered: Rendered) -> Parts:
        facts = visit.fleet.facts()
        agent = agent_of(facts, ref)
        at.look(agent)
        if agent is not None and not agent.is_busy and not agent.last_error:
            visit.session.see(agent.codex_id, agent.used_at)  # a failure is not seen on a page that nobody may look at
        page = self.page(visit, agent, at)
        return rendered.parts(page, visit.frame("fleet", facts, page.counts.need))

    # ------------------------------------------------------------------------------------------------------ writing

    async def post(self, visit: Visit, posted: Posted) -> Answer:
        found = PATH.fullmatch(visit.http.path)
        agent = agent_of(visit.fleet.facts(), found[1]) if found is not None else None
        if found is None or agent is None:
            return self._unknown(visit, visit.http.path if found is None else found[1])
        at = await self._conversations.of(visit.fleet, agent, agent.codex_id)
        match found[2]:
            case "say":
                return await self._say(visit, agent, at, posted)
            case "comment":
                return self._comment(visit, agent, posted)
            case action if action in TOOLS:
                return await self._act(visit, agent, action)
            case _:
                return self._unknown(visit, visit.http.path)

    async def _say(self, visit: Visit, agent: AgentFacts, at: Conversation, posted: Posted) -> Answer:
        text, when, turn = field(posted, "text"), field(posted, "when"), field(posted, "turn")
        comments = comments_of(visit.session, agent.codex_id)
        prompt = message(text, comments)
        if not prompt:
            return self._not_sent(visit, agent, at, Done(ok=False, text=NOT_WRITTEN, status=422), text)
        running = at.known.turns[-1].id if at.known.turns and agent.is_busy else ""
        if when in ("steer", "interrupt") and turn != running:
            return self._not_sent(visit, agent, at, Done(ok=False, text=ENDED, status=409), text)
        given: dict[str, object] = {"id": agent.codex_id, "prompt": prompt, "background": True}
        if key := field(posted, "request_id"):
            given["request_id"] = f"page-{key[:64]}"
        if when in ("steer", "queue", "interrupt"):
            given["when"] = when
        done = await self._acting.call(visit.fleet, agent, caller_of(visit.session), "codex-reply", given)
        if not done.ok:
            return self._not_sent(visit, agent, at, done, text)
        visit.session.kept.pop(f"comments {agent.codex_id}", None)
        at.expire()
        return self._done(visit, agent, SENT.get(when if agent.is_busy else "", SENT[""]))

    def _not_sent(self, visit: Visit, agent: AgentFacts, at: Conversation, done: Done, text: str) -> Answer:
        if visit.as_json:
            return Answer(done.status, msgspec.json.encode({"ok": False, "sentence": done.text}), JSON)
        page = self.page(visit, agent, at)
        draft = self._draft(visit, page.ref, text=text, problem=done.text)
        return self._rendered(visit, page, draft, is_newest=True, status=done.status)

    def _done(self, visit: Visit, agent: AgentFacts, sentence: str) -> Answer:
        if visit.as_json:
            told = {"ok": True, "sentence": sentence, "key": secrets.token_urlsafe(12)}
            return Answer(200, msgspec.json.encode(told), JSON)
        visit.session.keep(f"said {agent.codex_id}", sentence)
        return see(href_of_thread(agent.codex_id))

    async def _act(self, visit: Visit, agent: AgentFacts, action: str) -> Answer:
        given: dict[str, object] = {"id": agent.codex_id}
        if action == "resume":
            given = {"codex_id": agent.codex_id, "background": True}
        elif action == "review":
            given["background"] = True
        done = await self._acting.call(visit.fleet, agent, caller_of(visit.session), TOOLS[action], given)
        sentence = REVIEW if action == "review" and done.ok else done.text
        if not visit.as_json or done.ok:
            return self._done(visit, agent, sentence)
        return Answer(done.status, msgspec.json.encode({"ok": False, "sentence": sentence}), JSON)

    def _comment(self, visit: Visit, agent: AgentFacts, posted: Posted) -> Answer:
        kept = comments_of(visit.session, agent.codex_id)
        drop = number(field(posted, "drop"))
        if drop is not None:
            kept = tuple(each for at, each in enumerate(kept) if at != drop)
        else:
            given = comment_of(*(field(posted, name) for name in ("path", "line", "code", "comment")))
            try:
                kept = added(kept, given)
            except Refused as exc:
                return unknown(visit, f"{exc}.", status=422)
        visit.session.keep(f"comments {agent.codex_id}", kept)
        of = field(posted, "of")
        back = f"{href_of_thread(agent.codex_id)}/diff?of={of}" if of.isalpha() else href_of_thread(agent.codex_id)
        return see(back)


def comments_of(session: Session, ref: str) -> tuple[Comment, ...]:
    kept = session.kept.get(f"comments {ref}")
    return kept if isinstance(kept, tuple) else ()


def picture_paths(agent: AgentFacts | None, steps: Steps) -> list[str]:
    """Files of this machine; those of an agent elsewhere are not."""
    environment = steps.setup.environment or (agent.environment if agent is not None else "")
    is_here = environment in LOCAL
    return [path for step in steps.steps for path in step.pictures] if is_here else []


def _picture(name: str, path: str, found: Shown) -> Picture:
    href = f"{href_of_thread(name)}/picture?h={found.key}"
    return Picture(path, one_line(path.rpartition("/")[2]), href, found.width, found.height)


def _summary_of(state_dir: str, agent: AgentFacts) -> str:
    try:
        found = read_summary(state_dir, agent.identity, agent.thread_id or agent.codex_id)
    except (OSError, Refused):
        return ""
    return "" if found is None else found.text


async def _agent(fleet: Fleet, ref: str) -> AgentFacts | None:
    """By any of its names. One that is not known may have just been started, by a server that does not listen yet."""
    agent, looks = agent_of(fleet.facts(), ref), 0
    while agent is None and looks < MOST_LOOKS:
        if looks:
            await asyncio.sleep(LOOK_PAUSE)
        looks = MOST_LOOKS if await fleet.look_again() else looks + 1
        agent = agent_of(fleet.facts(), ref)
    return agent
