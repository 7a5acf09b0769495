"""Edits of random configuration files: everything that is not ours stays, byte for byte."""

import random

import pytest
from hypothesis import given, settings

from codex_mcp.cli.clients.config_text.documents import BOM, Format, read, with_entry, without_entry
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import with_value, without
from codex_mcp.cli.clients.known import CLIENTS, Place, place
from codex_mcp.cli.clients.own_entry import entry
from codex_mcp.cli.clients.surroundings import folders
from tests.support.clients.config_texts import file_of, is_only_added_to, randoms

FOLDERS = folders({}, home="/h", project="/p", repository="/p", is_macos=False)
PLACES = [place(client, scope, FOLDERS) for client in CLIENTS.values() for scope in client.scopes()]
EXAMPLES = settings(max_examples=60)


def comments(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r") for line in data.split(b"\n") if line.strip().startswith((b"#", b"//"))]


def has_other_line_ends(data: bytes) -> tuple[bool, bool]:
    """Whether there are line ends of Windows, and of others."""
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b"")


def words(place: Place) -> str:
    return f"{place.client.name}-{place.scope}"


@pytest.mark.parametrize("where", PLACES, ids=words)
@given(rng=randoms)
@EXAMPLES
def test_a_new_entry_changes_nothing_else(where: Place, rng: random.Random) -> None:
    form = where.client.form
    before = file_of(rng, where)
    ours = entry(where.client, ["/opt/codex-mcp", "mcp-server"])
    path = (*where.path, "codex")
    after = with_entry(form, before, path, ours)
    assert read(form, after) == with_value(read(form, before), path, ours)
    assert is_only_added_to(before, after)
    assert has_other_line_ends(after) == has_other_line_ends(before) or b"\n" not in before
    assert after.startswith(BOM.encode()) == before.startswith(BOM.encode())


@pytest.mark.parametrize("where", PLACES, ids=words)
@given(rng=randoms)
@EXAMPLES
def test_a_removed_entry_leaves_everything_else(where: Place, rng: random.Random) -> None:
    form = where.client.form
    before = file_of(rng, where)
    path = (*where.path, "codex")
    added = with_entry(form, before, path, entry(where.client, ["/opt/codex-mcp", "mcp-server"]))
    other = with_entry(form, added, (*where.path, "codex2"), {"command": "later"})
    assert read(form, without_entry(form, other, path)) == without(read(form, other), path)
    kept = without_entry(form, added, path)
    assert is_only_added_to(kept, added)
    assert comments(kept) == comments(before)


@pytest.mark.parametrize("where", PLACES, ids=words)
@given(rng=randoms)
@EXAMPLES
def test_an_entry_of_others_is_changed_only_where_asked(where: Place, rng: random.Random) -> None:
    form = where.client.form
    before = file_of(rng, where)
    values = read(form, before)
    holder: object = values
    for key in where.path:
        holder = holder.get(key, {}) if isinstance(holder, dict) else {}
    for name in holder if isinstance(holder, dict) else ():
        for field, value in {"command": "/new", "args": ["a", 'b "c"'], "env": {"A": "b"}}.items():
            path = (*where.path, name, field)
            after = with_entry(form, before, path, value)
            assert read(form, after) == with_value(values, path, value)


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        (Format.JSON, b'{\n  "a": }', "line 2, column 8: a value was expected"),
        (Format.JSON, b'{"a": 1 "b": 2}', "line 1, column 9: a comma or } was expected"),
        (Format.JSON, b'{"a": 1}\n}', "line 2, column 1: the end of the file was expected"),
        (Format.JSON, b"{'a': 1}", 'line 1, column 2: a name in "quotes" or } was expected'),
        (Format.JSON, b'{"a" 1}', "line 1, column 6: a colon was expected"),
        (Format.JSON, b"{ /* a", "line 1, column 3: this comment does not end"),
        (Format.JSON, b'{"a": "b\n"}', "line 1, column 7: this string does not end on its line"),
        (Format.JSON, b"[1]", "line 1, column 1: the file must be an object"),
        (Format.JSON, b"[" * 200, "line 1, column 102: values are nested more than 100 deep"),
        (Format.JSON, b'{"a":\n "\xff"}', "line 2, column 3: the file is not UTF-8"),
        (Format.JSON, b'{"mcpServers": []}', "line 1, column 16: the value of mcpServers must be an object"),
        (Format.JSON, b'{"mcpServers": {}, "mcpServers": {}}', 'line 1, column 20: "mcpServers" is there twice'),
        (Format.TOML, b'a = 1\nb = "', "line 2, column 6"),
        (Format.TOML, b"a = 1\na = 2\n", "line 2, column"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(form: Format, text: bytes, said: str) -> None:
    with pytest.raises(Unreadable) as refused:
        with_entry(form, text, ("mcpServers", "codex"), {"command": "x"})
    assert str(refused.value).startswith(said)
