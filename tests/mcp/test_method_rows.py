"""One page has every method, and a server answers exactly these."""

from pathlib import Path

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.mcp.method_rows import METHODS, Has, Home, answered_by, cache_hints, is_in_era
from codex_mcp.mcp.tools.product import plain_product
from codex_mcp.threads.threads import Threads
from tests.support.servers.mcp_session import no_codex, no_hurry
from tests.support.settings import make_settings


async def test_a_server_answers_every_method_of_the_page_and_no_other(tmp_path: Path) -> None:
    settings = make_settings(codex_home=str(tmp_path))
    threads = Threads(settings.core, settings.calls, no_codex, no_hurry)
    product = plain_product(threads, settings, bytes(KEY_BYTES))
    assert product.methods.table.keys() == METHODS.keys()


def test_a_method_is_in_the_eras_that_have_it() -> None:
    for name, row in METHODS.items():
        assert is_in_era(name, stateless=False) == (row.has is not Has.STATELESS)
        assert is_in_era(name, stateless=True) == (row.has is not Has.HANDSHAKE)
    assert all(not is_in_era(name, stateless=True) for name in answered_by(Home.CONVERSATIONS))
    assert is_in_era("echo", stateless=True)
    assert cache_hints("echo") == cache_hints("tools/call") == {}
