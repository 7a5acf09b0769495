"""A command serves the pages on this machine, while it runs."""

import os
import signal
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from codex_mcp.base.blocking import in_thread
from codex_mcp.cli.pages.own_pages import own_pages


def asked(address: str, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(address)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


async def test_the_pages_are_served_until_a_signal_arrives(tmp_path: Path) -> None:
    async with own_pages(str(tmp_path), str(tmp_path), 0) as pages:
        link = urlsplit(pages.sign_in("mira", view=True)[0])
        assert link.hostname == "127.0.0.1"
        assert await in_thread(asked, link.netloc, "/mcp") == (404, b"The pages are at /ui.\n")
        assert (await in_thread(asked, link.netloc, link.path))[0] == 200
        os.kill(os.getpid(), signal.SIGTERM)
        await pages.until_stopped(lambda: None)
