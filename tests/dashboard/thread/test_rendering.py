"""The page of a thread as HTML."""

import re
from typing import Any

import msgspec
import pytest

from codex_mcp.dashboard.live import NOTHING, patch
from codex_mcp.dashboard.rendering import Frame
from codex_mcp.dashboard.thread import rendering
from codex_mcp.dashboard.thread.comments import Comment
from codex_mcp.dashboard.thread.inspector import Around
from codex_mcp.dashboard.thread.page import ThreadPage, thread_page
from codex_mcp.dashboard.thread.rendering import Draft, Rendered
from codex_mcp.dashboard.thread.steps import briefs
from codex_mcp.dashboard.views.facts import FleetFacts, Silent
from codex_mcp.wire import control
from codex_mcp.wire.control_thread import (
    FileStep,
    Finding,
    HelperRow,
    Look,
    Plan,
    PlanStep,
    ReviewTold,
    Setup,
    Step,
    Steps,
    TurnRow,
    Usage,
    Waiting,
)
from tests.dashboard.test_rendering import HARMFUL, Page, harmless
from tests.support.dashboard.facts import HARM, NOW, agent, asked

FRAME = Frame(page="fleet", team=HARM, csrf="c", is_signed_in=True, may_control=True, now=NOW)

STEPS = [
    Step(id=HARM, kind="user", text=HARM, n=0),
    Step(id="mail", kind="user", text=f'You have mail: x\n--- mail 1 ---\n{{"from": "{"<b>"}", "text": "<i>"}}', n=1),
    Step(id="b", kind="says", text=f"{HARM}\n\n- {HARM}\n\n```\n{HARM}\n```\n[{HARM}](https://x.example/<b>)", n=2),
    Step(id="c", kind="thinks", text=HARM, n=3),
    Step(id="d", kind="ran", text=HARM, output=f"{HARM}\n" * 20, lines=99, exit_code=1, status=HARM, n=4),
    Step(id="e", kind="ran", text=HARM, looks=[Look("read", HARM), Look("search", HARM)], exit_code=0, n=5),
    Step(id="f", kind="changed", files=[FileStep(path=HARM, moved_to=HARM, added=1)], status="completed", n=6),
    Step(id="g", kind="tool", tool=HARM, server=HARM, text=HARM, output=HARM, status=HARM, n=7),
    Step(id="h", kind="search", text=HARM, n=8),
    Step(id="i", kind="image", text=HARM, pictures=[HARM], n=9),
    Step(id="j", kind="agent", tool=HARM, text=HARM, n=10),
    Step(id="k", kind="review", text=HARM, n=11),
    Step(id="l", kind="shortened", n=12),
    Step(id="m", kind=HARM, text=HARM, n=13),
    Step(id="n", kind="says", text=HARM, ended=False),
]
KNOWN = Steps(
    thread=HARM,
    turns=[
        TurnRow(id="old", status="failed", asked=HARM, error=HARM, seconds=3.0),
        TurnRow(id=HARM, status=HARM, by="codex"),
        TurnRow(id="now", status="inProgress", asked=HARM, started_at=NOW - 5, steps=14),
    ],
    is_cut=True,
    turn="now",
    steps=STEPS,
    first=7,
    total=14,
    setup=Setup(model=HARM, effort=HARM, sandbox=HARM, approval=HARM, environment=HARM, copy_of=HARM, limits=[HARM]),
    usage=Usage(input=10, cached=5, output=1, total=11, context=5, window=100),
    turn_usage=Usage(input=1),
    plan=Plan([PlanStep(HARM, "completed"), PlanStep(HARM, HARM)]),
    queue=[Waiting(HARM, HARM)],
    reviews=[ReviewTold(thread="r", status="completed", findings=[Finding(title=HARM, body=HARM, file=HARM, first=1)])],
    helpers=[HelperRow(thread=HARM, name=HARM, state=HARM)],
    goal=HARM,
)
DRAFT = Draft(key=HARM, text=HARM, problem=HARM, said=HARM, comments=(Comment(HARM, 1, HARM, HARM),))


def page_of(facts: FleetFacts, known: Steps = KNOWN, **changes: Any) -> ThreadPage:
    who = facts.agents[0] if facts.agents else None
    return thread_page(Around(facts, lambda _: False, NOW, known, **changes), who)


def pages() -> list[ThreadPage]:
    question = asked(
        fields={"command_line": HARM}, reason=HARM, message=HARM, offered=[control.Offer("approved", HARM)]
    )
    busy = msgspec.structs.replace(HARMFUL, thread_state="busy", worktree=HARM, mail=1, cost=1.5)
    other = agent("api-2", cwd=HARM, identity=HARM)
    return [
        page_of(FleetFacts([busy, other], [question], servers=1), is_live=True),
        page_of(FleetFacts([busy], silent=[Silent("node", HARM)], servers=1)),
        page_of(FleetFacts([msgspec.structs.replace(HARMFUL, status="closed")], servers=1)),
        page_of(FleetFacts([HARMFUL]), Steps(thread=""), trouble=HARM),
        page_of(FleetFacts(servers=1)),
    ]


@pytest.mark.parametrize("may_control", [True, False])
def test_harmful_text_is_text_everywhere(*, may_control: bool) -> None:
    frame = msgspec.structs.replace(FRAME, may_control=may_control)
    for page in pages():
        html = rendering.thread(page, frame, DRAFT, is_newest=True)
        found = harmless(html)
        assert [tag for tag, _ in found.elements].count("h1") == 1
        ids = [str(attributes["id"]) for _, attributes in found.elements if "id" in attributes]
        assert sorted(ids) == sorted(set(ids))
        forms = re.findall(rb'<form[^>]*method="post".*?</form>', html, re.DOTALL)
        assert all(b'name="csrf" value="c"' in form for form in forms)
        acts = [form for form in forms if b"/ui/threads/" in form or b"/ui/questions/" in form]
        assert may_control or not acts
        harmless(rendering.summary(page, frame, []))


def test_an_open_page_is_sent_what_a_fresh_one_shows() -> None:
    for page in pages()[:3]:
        html = rendering.thread(page, FRAME, Draft(), is_newest=True).decode()
        rendered = Rendered()
        parts = rendered.parts(page, FRAME)
        left_out = {"badge-top", "badge-bottom"}
        missing = [key for key, part in parts.html.items() if part.strip() not in html and key not in left_out]
        assert [key for key in missing if key != "how" or page.actions.say] == []
        assert all(re.fullmatch("[sl][0-9a-f]{10}", key) for key in parts.steps)
        assert patch(parts, rendered.parts(page, FRAME)) is None
        assert patch(NOTHING, parts) is not None


def test_a_page_says_what_can_be_done() -> None:
    busy, silent, closed, _, other = pages()
    assert (busy.actions.steer, busy.actions.interrupt, busy.actions.say) == (True, True, True)
    assert (silent.actions.say, silent.is_live) == (False, False)
    assert (closed.actions.resume, closed.actions.say) == (True, False)
    assert (other.actions.say, other.codex_id) == (False, "")
    assert busy.inspector.meter is not None
    assert (busy.inspector.meter.percent, busy.inspector.plan and busy.inspector.plan.done) == (5, 1)
    assert [turn.by for turn in busy.turns] == ["", "Codex began this", ""]


def test_the_mail_of_a_prompt_names_its_sender() -> None:
    html = Page(rendering.part(pages()[0], FRAME))
    assert "<b>" in html.shown
    assert "You have mail" not in html.shown


def test_the_preview_has_the_last_steps_and_the_plan_and_harms_nobody() -> None:
    for page in pages():
        text = harmless(rendering.preview(page, FRAME, briefs(KNOWN, "", 20)))
        assert ("aside", "preview") in [(tag, attributes.get("id")) for tag, attributes in text.elements]
