import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.sandbox.globs import MAX_LENGTH, BadPattern, compile_glob, search_root

PATHS = st.lists(st.text("ab.*[-", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


def does(pattern: str, path: str) -> bool:
    return compile_glob(pattern).fullmatch(path) is not None


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.env", ["a.env", ".env", "sub/deep/c.env"], ["a.envx", "env"]),
        ("**/*.env", ["a.env", "sub/a.env", "a/b/c/.env"], ["a.envs"]),
        ("**/secrets/**", ["secrets/a", "x/secrets/a/b"], ["secrets", "my-secrets"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("sub/[ab].env", ["sub/a.env", "sub/b.env"], ["sub/c.env", "sub/ab.env"]),
        ("[!a-c]", ["d", "/"], ["a", "b", "dd"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("x[&&~||]", ["x&", "x|"], ["xa"]),
        ("{a,b{1,2}}.pem", ["a.pem", "b1.pem", "b2.pem"], ["b.pem", "c.pem"]),
        ("a,b", ["a,b"], ["a", "b"]),
        (r"\*.pem", ["*.pem"], ["a.pem"]),
        ("a?c", ["abc", "a/c"], ["ac"]),
        ("(a|b)+.", ["(a|b)+."], ["a", "ax"]),
    ],
)
def test_patterns_match_as_in_codex(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [path for path in matching if not does(pattern, path)] == []
    assert [path for path in others if does(pattern, path)] == []


@pytest.mark.parametrize("pattern", ["{a", "a}", "[a", "[]", "[z-a]", "[a--z]", "x" * (MAX_LENGTH + 1)])
def test_what_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_glob(pattern)


@given(PATHS)
def test_an_escaped_path_matches_itself_alone(path: str) -> None:
    escaped = re.sub(r"([*?\[\]{}\\])", r"\\\1", path)
    assert does(escaped, path)
    assert not does(escaped, path + "x")


@given(st.text("ab/*?[]{},\\!-"))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    with suppress(BadPattern):
        compile_glob(text)


@given(PATHS, st.sampled_from(["*", "**/x", "?", "[ab]", "{a,b}"]))
def test_nothing_outside_the_folder_to_search_can_match(path: str, rest: str) -> None:
    pattern = "top/" + path.replace("*", "a").replace("[", "a") + rest
    root = search_root(pattern)
    assert root.startswith("top")
    assert not does(pattern, "other/" + path)


def test_a_search_begins_as_deep_as_possible() -> None:
    assert search_root("a/b/*.pem") == "a/b"
    assert search_root("**/*.pem") == ""
    assert search_root("a/b") == "a"
