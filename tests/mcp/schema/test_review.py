"""`codex_review`: what its arguments mean, and the findings in Codex's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.review import Finding, TeamReviewArguments, findings_in, team_review_target
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget, UncommittedChanges

REVIEW = """It breaks.

Full review comments:

- [P1] Off by one — /x/a.py:3-5
  The loop ends too early.
  \n  Second paragraph.

- Bad name — which one? — /x/b — c.py:7-7
  Rename:
    - like this — x:1-2

- [P0] Relative — d.py:1-9
"""


def test_each_finding_has_its_place_its_priority_and_its_text() -> None:
    first, second, third = findings_in(REVIEW) or []
    assert first == {
        "file": "/x/a.py",
        "lines": (3, 5),
        "title": "Off by one",
        "text": "The loop ends too early.\n\nSecond paragraph.",
        "priority": 1,
    }
    assert (second["file"], second["title"], second["lines"]) == ("/x/b — c.py", "Bad name — which one?", (7, 7))
    assert second["text"] == "Rename:\n  - like this — x:1-2"
    assert "priority" not in second
    assert (third["file"], third["priority"], third["text"]) == ("d.py", 0, "")


@pytest.mark.parametrize(
    "review", ["", "All is well.", "Full review comments:", "- [P1] A — /b:1-2", '{"findings": []}']
)
def test_a_text_without_findings_has_none(review: str) -> None:
    assert findings_in(review) == []


def test_a_line_of_any_length_is_read_at_once() -> None:
    """A model's answer must not hold up the server: of a megabyte of dashes, each would be tried with each colon."""
    assert findings_in("Full review comments:\n\n- " + " — /a:1-" * 100_000) == []


def test_a_single_finding_has_another_heading() -> None:
    assert len(findings_in("Review comment:\n\n- [P2] A — /b:1-2\n  c") or []) == 1


@pytest.mark.parametrize(
    "review",
    [
        "{}",
        '{"findings": [{"title": 1}]}',
        "{",
        '{"x": ' + "[" * 100_000 + "}",
        "```json\n{\n```",
        '{"findings": null}',
        'Look: {"findings": 1}',
    ],
)
def test_json_that_cannot_be_read_is_not_called_a_review_without_findings(review: str) -> None:
    assert findings_in(review) is None


def test_the_models_own_json_is_read_even_in_a_code_block() -> None:
    place = '{"absolute_file_path": "/a.py", "line_range": {"start": 3, "end": 5}}'
    one = f'{{"title": "[P0] A", "body": " b ", "confidence_score": 1, "priority": null, "code_location": {place}}}'
    told = [{"file": "/a.py", "lines": (3, 5), "title": "A", "text": "b", "priority": 0}]
    assert findings_in(f'```json\n{{"findings": [{one}]}}\n```') == told
    assert findings_in(f'Here is my review:\n\n{{"findings": [{one}]}}\n\nThat is all.') == told


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
findings = st.builds(
    Finding,
    file=words.map(lambda name: f"/{name}"),
    lines=st.tuples(st.integers(0, 99999), st.integers(0, 99999)),
    title=words.filter(lambda title: not title.startswith("[P")),
    text=words,
    priority=st.none() | st.integers(0, 9),
)


@given(st.lists(findings, min_size=1))
def test_what_codex_writes_is_read_back(written: list[Finding]) -> None:
    blocks = []
    for each in written:
        mark = "" if each.priority is None else f"[P{each.priority}] "
        first, last = each.lines
        blocks.append(f"- {mark}{each.title} — {each.file}:{first}-{last}\n  {each.text}")
    read = findings_in("Words.\n\nFull review comments:\n\n" + "\n\n".join(blocks)) or []
    assert [(each["file"], each["title"], each["text"], each.get("priority")) for each in read] == [
        (each.file, each.title, each.text, each.priority) for each in written
    ]


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (TeamReviewArguments(), UncommittedChanges()),
        (TeamReviewArguments(target="base", of=" main "), BaseBranch("main")),
        (TeamReviewArguments(target="commit", of="abc"), Commit("abc")),
        (TeamReviewArguments(target="custom", of="names"), Instructions("names")),
        (TeamReviewArguments(base="main"), BaseBranch("main")),
        (TeamReviewArguments(target="commit", commit="abc"), Commit("abc")),
        (TeamReviewArguments(prompt="names"), Instructions("names")),
    ],
)
def test_a_target_is_what_codex_is_asked_for(arguments: TeamReviewArguments, target: ReviewTarget) -> None:
    assert team_review_target(arguments) == target


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (TeamReviewArguments(id="arch", cwd="/x"), "exclude each other"),
        (TeamReviewArguments(of="main"), "belongs to the targets"),
        (TeamReviewArguments(target="base"), "the target base needs `of`"),
        (TeamReviewArguments(target="custom", of=" "), "the target custom needs `of`"),
        (TeamReviewArguments(base="main", commit="abc"), "name one target"),
        (TeamReviewArguments(target="commit", base="main"), "name one target"),
        (TeamReviewArguments(of="x", prompt="names"), "name one target"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: TeamReviewArguments, says: str) -> None:
    with pytest.raises(BadArguments, match=says):
        team_review_target(arguments)
