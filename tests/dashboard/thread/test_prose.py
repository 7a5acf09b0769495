"""The text of an agent as parts."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.thread.prose import MOST_BLOCKS, Block, Span, prose, spans


def test_paragraphs_lists_code_and_headings_are_told_apart() -> None:
    words = "# Plan\n\nIt **holds**, see `x`:\n\n3. one\n4. two\n   and more\n\n- a\n* b\n\n"
    text = f"{words}```py\nprint(1)\n\n# no\n```\nend"
    assert prose(text) == [
        Block("head", [[Span("Plan")]]),
        Block("text", [[Span("It "), Span("holds", "bold"), Span(", see "), Span("x", "code"), Span(":")]]),
        Block("numbers", [[Span("one")], [Span("two\nand more")]], 3),
        Block("bullets", [[Span("a")], [Span("b")]]),
        Block("code", [[Span("print(1)\n\n# no")]]),
        Block("text", [[Span("end")]]),
    ]


def test_links_lead_to_http_only_and_say_where() -> None:
    assert spans("[docs](https://user@evil.example/a) and https://b.example/c") == [
        Span("docs", "link", "https://user@evil.example/a", "evil.example"),
        Span(" and "),
        Span("https://b.example/c", "link", "https://b.example/c"),
    ]
    for text in ("[x](javascript:alert(1))", "[x](data:text/html,1)", "<a href=x>", "![x](/local.png)"):
        assert [span.kind for span in spans(text)] == [""]


@given(st.text(alphabet="ab *`-#1.[](){}<>:/\n~ht", max_size=300))
def test_no_text_is_lost_and_every_link_is_http(text: str) -> None:
    shown = prose(text)
    for span in (span for block in shown for item in block.items for span in item):
        assert span.text in text or "\n" in span.text
        assert span.href.startswith(("https://", "http://")) or not span.href
    letters = [char for char in text if char in "abh"]
    told = [char for block in shown for item in block.items for span in item for char in span.text if char in "abh"]
    assert len(told) <= len(letters)


def test_a_text_with_endless_blocks_ends_as_it_is() -> None:
    shown = prose("- x\n\n" * 10_000)
    assert len(shown) == MOST_BLOCKS + 1
    assert shown[-1].kind == "code"
