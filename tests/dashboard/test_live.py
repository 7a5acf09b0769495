"""What an open page is sent."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.live import NOTHING, Parts, Patch, event, patch

parts = st.builds(
    Parts,
    st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")),
    st.dictionaries(st.sampled_from("de"), st.lists(st.sampled_from("xyz"))),
    st.sampled_from(["", "title"]),
    st.sampled_from(["one", "two"]),
)


def test_only_what_differs_is_sent() -> None:
    before = Parts({"a": "1", "b": "2"}, {"list": ["a"]}, "t", "nobody")
    assert patch(before, before) is None
    now = Parts({"a": "1", "b": "3"}, {"list": ["a", "b"]}, "t", "somebody")
    assert patch(before, now) == Patch({"b": "3"}, {"list": ["a", "b"]}, "", "somebody")


def test_the_first_patch_has_everything_and_says_nothing_aloud() -> None:
    now = Parts({"a": "1"}, {"list": ["a"]}, "t", "nobody")
    assert patch(NOTHING, now) == Patch({"a": "1"}, {"list": ["a"]}, "t", "")


@given(st.lists(parts, min_size=1, max_size=5))
def test_whoever_gets_all_patches_sees_the_last_state(states: list[Parts]) -> None:
    html: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    before = NOTHING
    for now in states:
        if (changed := patch(before, now)) is not None:
            html |= changed.html
            lists |= {key: list(keys) for key, keys in changed.lists.items()}
        before = now
    assert {key: html[key] for key in states[-1].html} == states[-1].html
    assert {key: lists[key] for key in states[-1].lists} == states[-1].lists


def test_an_event_is_one_line_whatever_it_says() -> None:
    assert event("patch", Patch({"a": "1\n\n2"})) == b'event: patch\ndata: {"html":{"a":"1\\n\\n2"}}\n\n'
