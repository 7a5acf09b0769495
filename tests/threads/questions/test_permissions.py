"""Permissions in words."""

from codex_mcp.threads.questions.permissions import permission_lines


def test_each_permission_has_its_line() -> None:
    asked = {"network": {"enabled": True}, "fileSystem": {"read": ["/a\n"], "write": ["/b"]}}
    assert permission_lines(asked) == ["network access", "read `/a\\n`", "write `/b`"]
    entries = {
        "fileSystem": {"entries": [{"access": "read", "path": {"path": "/c"}}, {"access": "write", "path": "/d"}]}
    }
    assert permission_lines(entries) == ["read `/c`", "write `/d`"]
    assert permission_lines({"network": None, "fileSystem": 3}) == []
