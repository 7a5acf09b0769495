"""The page of a thread as HTML, and what an open one is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.dashboard import rendering
from codex_mcp.dashboard.live import Parts
from codex_mcp.dashboard.rendering import PLAIN, Frame, title_of
from codex_mcp.dashboard.thread.comments import Comment
from codex_mcp.dashboard.thread.diff_page import DiffPage
from codex_mcp.dashboard.thread.page import ThreadPage
from codex_mcp.dashboard.thread.prose import Block
from codex_mcp.dashboard.thread.steps import StepView
from codex_mcp.dashboard.views.briefs import Brief

PARTS: Final = "thread-parts.html"

NEWEST: Final = 60
"""Steps of which an open page is told."""


class Draft(Struct, frozen=True):
    """What the writer has so far, and what became of the last message."""

    key: str = ""
    text: str = ""
    problem: str = ""
    said: str = ""
    comments: tuple[Comment, ...] = ()


def thread(page: ThreadPage, frame: Frame, draft: Draft, *, is_newest: bool) -> bytes:
    title = title_of(page.counts.need, page.name, frame)
    return rendering.page("thread.html", frame, page=page, title=title, shown=PLAIN, draft=draft, is_newest=is_newest)


def diff(page: ThreadPage, frame: Frame, draft: Draft, found: DiffPage) -> bytes:
    title = title_of(page.counts.need, f"{page.name}: diff", frame)
    return rendering.page("thread-diff.html", frame, page=page, title=title, draft=draft, diff=found)


def summary(page: ThreadPage, frame: Frame, blocks: list[Block]) -> bytes:
    title = title_of(page.counts.need, f"{page.name}: summary", frame)
    return rendering.page("thread-summary.html", frame, page=page, title=title, blocks=blocks)


def step_page(page: ThreadPage, frame: Frame, step: StepView) -> bytes:
    title = title_of(page.counts.need, f"{page.name}: a step", frame)
    values = {"ref": page.ref, "name": page.name, "step": step, "turn": page.turn}
    return rendering.page("thread-step.html", frame, title=title, **values)


def preview(page: ThreadPage, frame: Frame, steps: Sequence[Brief]) -> bytes:
    """What stands beside the fleet."""
    return rendering.part(PARTS, "preview", frame=frame, page=page, steps=steps).encode()


def part(page: ThreadPage, frame: Frame) -> bytes:
    """The steps alone."""
    return rendering.part(PARTS, "part", frame=frame, page=page).encode()


class Rendered:
    """Renders what differs from the last time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[StepView, str]] = {}

    def parts(self, page: ThreadPage, frame: Frame) -> Parts:
        newest = page.steps[-NEWEST:]
        self._known = {each.key: self._step(each, page, frame) for each in newest}
        html = {
            **{name: rendering.part(PARTS, name, frame=frame, page=page) for name in ("roster", "inspector", "how")},
            "head": rendering.part(PARTS, "head", frame=frame, page=page, tab="transcript"),
            "ask": rendering.part(PARTS, "ask", frame=frame, page=page, shown=PLAIN),
            **{
                f"turn-{each.key}": rendering.part(PARTS, "turn", frame=frame, turn=each)
                for each in page.turns[-3:]
                if each.is_open
            },
            **rendering.badges(frame),
            **{key: html for key, (_, html) in self._known.items()},
        }
        title = title_of(page.counts.need, page.name, frame)
        keys = [each.key for each in newest]
        return Parts(html, {}, title, page.sentence, keys, page.last_turn)

    def _step(self, step: StepView, page: ThreadPage, frame: Frame) -> tuple[StepView, str]:
        known = self._known.get(step.key)
        if known is not None and known[0] == step:
            return known
        html = rendering.part(PARTS, "step", frame=frame, step=step, ref=page.ref, turn=page.turn)
        return step, html
