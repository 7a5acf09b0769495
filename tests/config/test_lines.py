import tomllib

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.config.lines import line_of, lines_of

TEXT = """# a comment with [brackets] and x = 1
top = "a # b"

[plugins.codex-mcp]   # ours
list = [
  "x = 1",  # ]
  ["nested"],
]
long = '''
inside = 1
[not.a.table]
'''
also_long = \"\"\"
quote \\\"\"\"
[neither] \"\"\"\"
"quoted key" = { inner = 1 }
after.dotted = 1
[plugins."codex-mcp".roles.'a b']
model = "m"
[[tables]]
x = 1
"""

VALUES = ["1", "true", '"text # [x]"', "[1,\n2]", "'''\n[x]\ny = 1\n'''", "{a = 1}", '"\\"]"', "[[1], [\n]]"]


def test_every_table_and_key_has_its_line() -> None:
    tomllib.loads(TEXT)
    assert lines_of(TEXT) == {
        ("top",): 2,
        ("plugins",): 4,
        ("plugins", "codex-mcp"): 4,
        ("plugins", "codex-mcp", "list"): 5,
        ("plugins", "codex-mcp", "long"): 9,
        ("plugins", "codex-mcp", "also_long"): 13,
        ("plugins", "codex-mcp", "quoted key"): 16,
        ("plugins", "codex-mcp", "after"): 17,
        ("plugins", "codex-mcp", "after", "dotted"): 17,
        ("plugins", "codex-mcp", "roles"): 18,
        ("plugins", "codex-mcp", "roles", "a b"): 18,
        ("plugins", "codex-mcp", "roles", "a b", "model"): 19,
        ("tables",): 20,
        ("tables", "x"): 21,
    }


def test_what_has_no_line_of_its_own_is_found_by_what_is_around_it() -> None:
    lines = lines_of("[a]\nb = {c = {d = 1}}\n")
    assert line_of(lines, ("a", "b", "c", "d")) == 2
    assert line_of(lines, ("x",)) == 1
    assert line_of({}, ("x",)) == 1


def test_windows_has_lines_too() -> None:
    assert lines_of("a = 1\r\n[b]\r\nc = 2\r\n") == {("a",): 1, ("b",): 2, ("b", "c"): 3}


@given(st.lists(st.tuples(st.sampled_from(["", "# x = [", "\n"]), st.sampled_from(VALUES)), max_size=12))
def test_no_value_leads_astray(entries: list[tuple[str, str]]) -> None:
    text = "[t]\n"
    expected: dict[tuple[str, ...], int] = {("t",): 1}
    for number, (before, value) in enumerate(entries):
        text += f"{before}\n" if before else ""
        expected["t", f"k{number}"] = text.count("\n") + 1
        text += f"k{number} = {value}  # ''' [\n"
    tomllib.loads(text)
    assert lines_of(text) == expected


@given(st.text(alphabet="ab.=[]{}#\"'\\\n ", max_size=60))
def test_a_text_that_is_no_toml_does_no_harm(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in lines_of(text).values())
