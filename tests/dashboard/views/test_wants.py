"""What a question wants, in a few words."""

import pytest

from codex_mcp.dashboard.views.wants import typed, want_of
from tests.support.dashboard.facts import HARM, asked


@pytest.mark.parametrize(
    ("kind", "fields", "short", "about"),
    [
        ("exec", {"command_line": "/bin/bash -lc 'git push'"}, "wants to run", "git push"),
        ("exec", {"command_line": "y\n", "is_stdin": True}, "wants to type", "y\\n"),
        ("exec", {"network": {"host": "example.com", "protocol": "https"}}, "wants to reach", "example.com"),
        ("patch", {"changes": {"a": {}, "b": {}}}, "wants to change", "2 files"),
        ("patch", {}, "wants to change", "files"),
        ("permissions", {}, "wants more permissions", ""),
        ("user_input", {"questions": [{"question": "Which?"}]}, "asks:", "Which?"),
        ("user_input", {"questions": []}, "asks:", ""),
        ("mcp", {"server_name": "inner", "message": "May I?", "is_tool_approval": True}, "tool of inner:", "May I?"),
        ("mcp", {"server_name": "inner", "message": "City?\nmore"}, "inner asks:", "City?"),
        ("of a later version", {}, "asks:", "Allow it?"),
    ],
)
def test_each_kind_has_its_words(kind: str, fields: dict[str, object], short: str, about: str) -> None:
    want = want_of(asked(kind, fields=fields).question)
    assert want.short.endswith(short)
    assert want.about == about
    assert want.words


@pytest.mark.parametrize("kind", ["exec", "patch", "permissions", "user_input", "mcp", "other"])
def test_odd_fields_and_harmful_text_are_short_printable_words(kind: str) -> None:
    for value in (HARM, 3, None, [], {}, [HARM], {HARM: HARM}):
        names = ("command_line", "changes", "permissions", "questions", "server_name", "message", "network")
        want = want_of(asked(kind, fields=dict.fromkeys(names, value), message=HARM).question)
        assert (want.words + want.short + want.about).isprintable()
        assert len(want.about) <= 200


def test_only_the_shell_of_codex_is_left_out() -> None:
    assert typed("bash -c 'a b'") == "a b"
    assert typed("echo -lc 'a") == "echo -lc 'a"
    assert typed("ls -l") == "ls -l"
    assert typed(3) == ""
