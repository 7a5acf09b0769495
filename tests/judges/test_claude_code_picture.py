"""The picture of Claude Code in the documentation shows what a person sees today."""

from tests.support.clients.claude_picture import COLUMNS, FILE, SAYS, recorded
from tests.support.drawing import drawn, steady


async def test_the_picture_is_that_of_a_run_today() -> None:
    assert steady(FILE.read_text()) == steady(drawn(await recorded(), COLUMNS, SAYS)), "run make picture"
