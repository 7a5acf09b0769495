"""A browser without JavaScript: it keeps cookies, sends forms as browsers do, and follows redirects if asked."""

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator, Mapping
from html import unescape
from urllib.parse import urlencode

from tests.support.http.client import Answer, connect
from tests.support.patience import PATIENCE
from tests.support.servers.child import Child
from tests.support.servers.mcp_server import Json, Setup

LINK = re.compile(r"(http\S+)/ui/sign-in\?code=([a-z]{8})")
INPUT = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


class Visitor:
    """One browser, at the pages of a port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """Send a request as it is, with the cookies."""
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"host": f"127.0.0.1:{self.port}", **({"cookie": kept} if kept else {}), **(headers or {})}
        async with connect(self.port) as wire:
            answer = await wire.ask(method, path, body, sent)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    async def get(self, path: str, **headers: str) -> Answer:
        """Go to a page, as if its address was typed."""
        own = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        return await self.ask("GET", path, b"", own | headers)

    async def page(self, path: str) -> str:
        """The text of a page that is there."""
        answer = await self.get(path)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.body.decode()

    async def told(self, path: str) -> Json:
        """The JSON twin of a page."""
        answer = await self.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer
        told: Json = json.loads(answer.body)
        return told

    async def until(self, path: str, sentence: str) -> Json:
        """The JSON twin, once it says this."""
        async with asyncio.timeout(PATIENCE):
            while (told := await self.told(path))["sentence"] != sentence:
                pass
        return told

    async def shows(self, path: str, words: str) -> str:
        """The text of a page, once it has these words: servers tell each other what was answered elsewhere."""
        async with asyncio.timeout(PATIENCE):
            while words not in (text := await self.page(path)):
                pass
        return text

    async def send(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        """Send a form of one of our pages."""
        form = {"sec-fetch-site": "same-origin", "origin": "null", "content-type": "application/x-www-form-urlencoded"}
        return await self.ask("POST", path, urlencode(fields).encode(), form | headers)

    async def form(self, path: str) -> dict[str, str]:
        """The hidden fields of the form that answers, on the page at this path."""
        text = (await self.page(path)).partition("data-answer")[2].partition("</form>")[0]
        return {name: unescape(value) for name, value in INPUT.findall(text)}

    async def answer(self, path: str, **fields: str) -> Answer:
        """Answer the question on this page."""
        hidden = await self.form(path)
        return await self.send(path.replace("/needs-you/", "/questions/"), hidden | fields)


def visitor_with(link: str) -> tuple[Visitor, str]:
    """A browser at the address of a link, and the link's code."""
    found = LINK.search(link)
    assert found is not None, link
    return Visitor(int(found[1].rpartition(":")[2])), found[2]


async def signed_in(link: str) -> Visitor:
    """A browser that has opened this link."""
    visitor, code = visitor_with(link)
    answer = await visitor.get(f"/ui/sign-in?code={code}")
    assert (answer.status, answer.headers["location"]) == (303, "/ui/fleet"), answer
    return visitor


@contextlib.asynccontextmanager
async def own_pages(setup: Setup, *flags: str) -> AsyncIterator[tuple[Child, str]]:
    """`codex-mcp dashboard --port 0` for the state folder of a server, and the link that it prints."""
    argv = [sys.executable, "-m", "codex_mcp", "dashboard", "--port", "0", *flags]
    environment = setup.env() | {"ATM_IDENTITY": "mira"}
    async with Child(argv, environment, setup.work, stdin=False) as child:
        async with asyncio.timeout(PATIENCE):
            link = (await child.stdout.readline()).decode()
        yield child, link
