from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.conversations.history.paging import CHUNK, REQUESTS, Chunk, Page, page_of


class Rows:
    """The rows of an app-server, numbered from 0; a cursor is the number of the last row."""

    def __init__(self, own: list[bool]) -> None:
        self.own = own
        self.requests = 0

    async def fetch(self, cursor: str | None, limit: int) -> Chunk[int]:
        self.requests += 1
        begin = 0 if cursor is None else int(cursor) + 1
        rows = list(range(len(self.own)))[begin : begin + limit]
        return Chunk(rows, str(rows[-1]) if begin + limit < len(self.own) else None)

    async def is_own(self, row: int) -> bool:
        return self.own[row]

    async def page(self, size: int, after: str | None) -> Page[int]:
        before = self.requests
        page = await page_of(self.fetch, self.is_own, size, after)
        assert self.requests - before <= REQUESTS
        return page


@given(st.lists(st.booleans(), max_size=400), st.integers(1, 30))
async def test_every_own_row_is_on_one_page_and_the_last_page_has_no_cursor(own: list[bool], size: int) -> None:
    rows = Rows(own)
    found: list[int] = []
    after: str | None = None
    while True:
        page = await rows.page(size, after)
        found += page.rows
        assert len(page.rows) <= size
        if page.cursor is None:
            break
        assert len(page.rows) == size
        assert page.is_exact
        assert page.cursor == str(page.rows[-1])  # it tells nothing about the rows of others
        after = page.cursor
    assert found == [row for row, is_own in enumerate(own) if is_own]
    assert after is None or found[-1] > int(after)


async def test_a_page_ends_when_too_many_rows_belong_to_others() -> None:
    rows = Rows([False] * (CHUNK * REQUESTS + 5) + [True])
    page = await rows.page(10, None)
    assert page == Page([], str(CHUNK * REQUESTS - 1), is_exact=False)
    assert (await rows.page(10, page.cursor)).rows == [CHUNK * REQUESTS + 5]


async def test_a_full_page_has_a_cursor_even_if_it_is_not_known_whether_an_own_row_follows() -> None:
    rows = Rows([True] + [False] * CHUNK * REQUESTS)
    assert await rows.page(1, None) == Page([0], "0")
