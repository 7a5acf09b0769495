"""Pages as HTML: everything that agents and people wrote is text."""

import re
from html.parser import HTMLParser

import pytest

from codex_mcp.dashboard import rendering
from codex_mcp.dashboard.rendering import Frame, Shown
from codex_mcp.dashboard.views.facts import FleetFacts, Silent
from codex_mcp.dashboard.views.pages import FleetPage, NeedsPage, fleet_page, needs_page
from codex_mcp.wire import control
from tests.support.dashboard.facts import HARM, NOW, agent, asked, receipt

FRAME = Frame(page="fleet", team=HARM, need=2, csrf="c", is_signed_in=True, may_control=True, now=NOW)

HARMFUL = agent(
    "api-1",
    **dict.fromkeys(("cwd", "branch", "repo_name", "role", "tag", "task", "doing", "said", "last_error"), HARM),
)

FIELDS = {
    "exec": {"command_line": HARM, "cwd": HARM, "environment": HARM, "asker": HARM},
    "patch": {
        "changes": {HARM: {"type": "update", "unified_diff": f"@@ -1 +1 @@\n-{HARM}\n+{HARM}"}},
        "grant_root": HARM,
    },
    "permissions": {"cwd": HARM, "permissions": {"fileSystem": {"read": [HARM]}}},
    "user_input": {
        "questions": [
            {"id": HARM, "question": HARM, "options": [{"label": HARM, "description": HARM}], "isOther": True}
        ]
    },
    "mcp": {"server_name": HARM, "message": HARM},
}
FORM = {"type": "object", "properties": {HARM: {"type": "string", "title": HARM, "description": HARM}}}

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """What a browser makes of a page: its elements, their attributes, and its text."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.shown = ""
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown += data


def harmless(html: bytes) -> Page:
    page = Page(html)
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag not in ("img", "b") or not attributes
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert tag != "script" or attributes.get("src", "")
        for name in ("href", "src", "action"):
            assert (attributes.get(name) or "/").startswith(("/ui", "#", "/", "https://", "http://"))
    assert not re.search("[\u202e\u200b\x1b]", page.shown)
    return page


def everything() -> list[FleetPage | NeedsPage]:
    offers = [control.Offer("approved", HARM)]
    questions = [
        asked(kind, id=f"{at}f/question-1", fields=fields, reason=HARM, message=HARM, offered=offers)
        for at, (kind, fields) in enumerate(FIELDS.items())
    ]
    questions.append(asked("mcp", id="9f/question-1", fields=FIELDS["mcp"], form=FORM, offered=()))
    closed = asked(id="af/question-1", receipt=receipt(sentence=HARM, by=HARM), asked_of=[control.AskedOf(HARM, NOW)])
    url = asked("mcp", id="bf/question-1", fields={"message": HARM}, form={"url": f"javascript:{HARM}"}, offered=())
    facts = FleetFacts([HARMFUL], [*questions, url], [closed], [Silent("n", HARM)])
    failed = FleetFacts([HARMFUL])
    return [
        fleet_page(facts, lambda _: False, NOW, q=HARM),
        fleet_page(FleetFacts(), lambda _: False, NOW),
        *(needs_page(facts, lambda _: False, NOW, chosen=each.question.id) for each in (*questions, url, closed)),
        needs_page(failed, lambda _: False, NOW),
        needs_page(FleetFacts(), lambda _: False, NOW),
    ]


@pytest.mark.parametrize("may_control", [True, False])
def test_harmful_text_is_shown_as_text_in_every_field(*, may_control: bool) -> None:
    frame = Frame(page="fleet", team=HARM, csrf="c", is_signed_in=True, may_control=may_control, now=NOW)
    for each in everything():
        if isinstance(each, FleetPage):
            page = harmless(rendering.fleet(each, frame))
        else:
            page = harmless(rendering.needs(each, frame, Shown(problem=HARM, is_second=True)))
        forms = [attributes for tag, attributes in page.elements if "answer" in (attributes.get("class") or "")]
        assert may_control or not [each for each in forms if each.get("method") == "post"]


def test_every_form_that_changes_something_carries_the_token_of_the_session() -> None:
    for each in everything():
        html = rendering.fleet(each, FRAME) if isinstance(each, FleetPage) else rendering.needs(each, FRAME)
        for form in re.findall(rb'<form[^>]*method="post".*?</form>', html, re.DOTALL):
            assert b'name="csrf" value="c"' in form


def test_a_part_is_the_same_in_the_page_and_in_a_live_event() -> None:
    for each in everything():
        if isinstance(each, FleetPage):
            html, parts = rendering.fleet(each, FRAME).decode(), rendering.fleet_parts(each, FRAME)
            assert each.is_empty or all(part.strip() in html for part in parts.html.values())
        else:
            html, parts = rendering.needs(each, FRAME).decode(), rendering.needs_parts(each, FRAME)
            assert all(part.strip() in html for part in parts.html.values())


def test_ids_are_unique_and_the_page_has_one_heading() -> None:
    for each in everything():
        html = rendering.fleet(each, FRAME) if isinstance(each, FleetPage) else rendering.needs(each, FRAME)
        page = Page(html)
        ids = [str(attributes["id"]) for _, attributes in page.elements if "id" in attributes]
        assert sorted(ids) == sorted(set(ids))
        assert [tag for tag, _ in page.elements].count("h1") == 1


def test_the_title_carries_the_number() -> None:
    assert rendering.title_of(2, "Fleet", FRAME).startswith("(2) Fleet · ")
    assert rendering.title_of(0, "Fleet", Frame(page="", now=NOW)) == "Fleet · codex-mcp"


def test_static_files_are_named_by_their_contents() -> None:
    files = rendering.static_files()
    assert {file.name for file in files.values()} == set(rendering.FILES)
    assert all(re.fullmatch(r"/ui/static/[a-z-]+\.[0-9a-f]{12}\.(css|js|svg)", path) for path in files)
    page = harmless(rendering.page("sign-in.html", Frame(page="", now=NOW), problem=HARM, has_tokens=True))
    assert {attributes["src"] for tag, attributes in page.elements if tag == "script"} <= set(files)
    harmless(rendering.page("message.html", FRAME, text=HARM, opens=f"/ui/fleet?{HARM}"))
