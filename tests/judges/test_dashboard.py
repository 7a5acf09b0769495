"""The dashboard in a real Chromium: live, by mouse and by keys, with and without JavaScript, with harmful text."""

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.support.clients.browser import Browser, running_browser
from tests.support.dashboard.facts import HARM
from tests.support.dashboard.visitor import own_pages, visitor_with
from tests.support.patience import PATIENCE
from tests.support.servers.child import Child
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say, structured, team_server

pytestmark = pytest.mark.timeout(10 * PATIENCE)  # a browser opens many pages: half a minute on a quiet machine

ASKS: Json = {"sandbox": "read-only", "approval-policy": "on-request", "background": True}
HARMLESS_NAME = '<b onclick="x">\u202e'
HARMFUL = f"""
[scenes.escalate]
steps = [{{ run = {json.dumps("echo " + HARM.replace("{{ 7 * 7 }}", ""))}, escalate = true, justification = {json.dumps(HARM.replace("{{ 7 * 7 }}", ""))} }}, {{ say = "x" }}]
[scenes.ask]
steps = [{{ call = "request_user_input", arguments = {json.dumps(json.dumps({"questions": [{"header": "<h>", "id": "<i>", "question": "<b>Which?", "options": [{"label": "<img src=x onerror=alert(1)>", "description": "<u>"}, {"label": "l", "description": "d"}]}]}))} }}, {{ say = "x" }}]
[scenes.fail]
steps = [{{ fail = 400, message = "<script>alert(1)</script>" }}]
[scenes.say]
steps = [{{ say = "<script>alert(1)</script>" }}]
"""  # noqa: E501


LISTED = "(told) => told.conversations.length === 1"


class Scene:
    """A server with a team, the pages of a dashboard for it, and a browser."""

    def __init__(self, server: TeamServer, browser: Browser, link: str, pages: Child) -> None:
        self.server = server
        self.browser = browser
        self.link = link.strip()
        self.pages = pages
        visitor, self.code = visitor_with(link)
        self.origin = f"http://127.0.0.1:{visitor.port}"

    async def sign_in(self, **options: object) -> None:
        """Open a page and the link in it."""
        await self.browser.do("open", **options)
        assert await self.browser.do("go", url=self.link) == 200
        await self.browser.see("h1", "need")

    async def card(self) -> None:
        """Go to what needs a person first."""
        await self.browser.do("go", url=f"{self.origin}/ui/needs-you")
        await self.browser.see("#card h2", "wants to run a command")

    async def ended(self, who: str = "arch") -> str:
        """How the turn of an agent has ended."""
        (found,) = structured(await self.server.run("codex_wait", {"ids": [who]}))["finished"]
        return str(found["content"])


@contextlib.asynccontextmanager
async def scene(folder: Path, script: Path = TEAM_SCRIPT, *flags: str) -> AsyncIterator[Scene]:
    async with (
        running_browser() as browser,
        team_server(folder, *flags, script=script, elicitation=False) as (server, _model),
        own_pages(server.setup) as (pages, link),
    ):
        at = Scene(server, browser, link, pages)
        yield at
        assert await browser.do("complaints") == []


async def test_an_open_page_shows_who_needs_you_and_a_key_and_enter_answer(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start(say("hello"), identity="dev")
        browser = at.browser
        await browser.do("open")
        await browser.keys_alone()
        await browser.do("go", url=f"{at.origin}/ui/fleet")
        await browser.see("h1", "Open the dashboard from your terminal.")
        await browser.do("fill", selector="#code", text=at.code)
        await browser.do("click", selector="button.main")
        await browser.see("h1", "Nobody needs you.")
        await browser.see("#live", "Live")
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await browser.see("h1", "1 agent needs you.")
        await browser.see("#group-need .row", "wants to run")
        assert (await browser.do("title")).startswith("(1) Fleet")
        await browser.do("click", selector="#group-need a.name")
        await browser.see("#card h2", "arch wants to run a command")
        await browser.see("#live", "Live")
        # Words that somebody types here by mistake answer nothing.
        await browser.keys(*"yes a", "Enter", "Escape")
        assert await browser.do("tell", expression="document.querySelector('form[data-answer]') !== null")
        await browser.a_moment()
        await browser.keys("a")
        await browser.see(".press", "press")
        await browser.keys("Enter")
        await browser.see("#receipt", "It was answered (approved) by mira")
        assert await at.ended() == "It ran."
        await browser.see("h1", "Nobody needs you.")
        # A page on which nothing is asked stays, and shows the next question when it comes.
        await browser.do("go", url=f"{at.origin}/ui/needs-you")
        await browser.see("#live", "Live")
        await at.server.reply("arch", "[[scene: escalate]]", background=True)
        await browser.see("#card h2", "arch wants to run a command")


async def test_without_javascript_forms_answer_and_everything_can_be_read(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await pending(at.server)  # without JavaScript nothing comes to a page that is open
        await at.sign_in(javascript=False)
        await at.card()
        await at.browser.see("pre.command", "touch made.txt")
        await at.browser.do("click", selector=".deny > summary")
        await at.browser.do("fill", selector="textarea[name=reason]", text="Not today.")
        await at.browser.do("click", selector=".denial button[value=denied]")
        await at.browser.see("#receipt", "It was answered (denied) by mira")
        assert await at.ended() == "It was refused."


async def test_an_answer_elsewhere_turns_the_open_card_into_its_receipt(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        started = await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (approval,) = started.get("approvals") or [(await pending(at.server))]
        await at.sign_in()
        await at.card()
        await at.browser.see("#live", "Live")
        await at.browser.do("click", selector=".deny > summary")
        await at.browser.do("fill", selector="textarea[name=reason]", text="A draft.")
        await at.server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        await at.browser.see("#receipt", "It was answered (approved)")
        assert await at.ended() == "It ran."


async def pending(server: TeamServer) -> Json:
    """The open question."""
    while not (listed := structured(await server.run("codex_approvals", {}))["approvals"]):
        pass
    question: Json = listed[0]
    return question


async def test_a_page_whose_server_is_gone_says_so_and_answers_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await at.sign_in()
        await at.card()
        await at.browser.see("#live", "Live")
        await at.pages.ask_to_end()
        await at.pages.exit_code()
        await at.browser.see("#live", "Not live")
        await at.browser.see(".offline")
        await at.browser.do("until", expression="document.querySelector('button.main').disabled")
        await at.browser.see("#late", "The server does not answer.")


WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MADE = "document.querySelectorAll('main img, main script, main i:not([aria-hidden]), main u').length"


async def inspect(at: Scene, paths: Sequence[str]) -> None:
    """Nothing that was written has become markup; axe finds nothing, and nothing is too wide."""
    cookies = await at.browser.do("cookies")
    sizes = [(width, theme) for width in (1440, 390) for theme in ("light", "dark")]
    for width, theme in (*sizes, (320, "light")):
        await at.browser.do("open", width=width, height=844, theme=theme, cookies=cookies)
        for path in paths:
            assert await at.browser.do("go", url=at.origin + path) == 200
            if not path.startswith("/ui/audit"):
                await at.browser.see("#live", "Live" if width > 420 else "")
            assert width == 320 or await at.browser.do("axe") == [], (path, width, theme)
            assert await at.browser.do("tell", expression=WIDE) <= 0, (path, width)
            assert await at.browser.do("tell", expression=MADE) == 0


async def test_harmful_text_is_text_and_every_page_is_accessible(tmp_path: Path) -> None:
    script = tmp_path / "harm.toml"
    script.write_text(HARMFUL)
    work = tmp_path / HARMLESS_NAME
    work.mkdir()
    flags = ("-c", "features.default_mode_request_user_input=true")
    async with scene(tmp_path, script, *flags) as at:
        told: Json = {**ASKS, "cwd": str(work), "tag": "<i>tag</i>"}
        for who in ("escalate", "ask", "fail", "say"):
            await at.server.start(f"{HARM}\n[[scene: {who}]]", identity=who, **told)
        await at.server.run("codex_wait", {"ids": ["say", "fail"], "mode": "all"})
        await at.browser.do("open")
        assert await at.browser.do("go", url=at.link) == 200
        await at.browser.see("h1", "3 agents need you.")
        found = await at.browser.do("tell", expression="fetch('/ui/needs-you.json').then((r) => r.json())")
        await inspect(at, ["/ui/fleet", "/ui/needs-you", *(item["href"] for item in found["items"])])
        await at.browser.do("open", javascript=False)
        await at.browser.do("go", url=f"{at.origin}/ui/sign-in")
        await at.browser.see("h1", "Open the dashboard from your terminal.")


async def test_mail_executors_health_and_audit_are_accessible_and_so_is_the_palette(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        for who in ("say", "read"):
            await at.server.start(f"{HARM} {say('hello')}", identity=who, tag="<i>tag</i>", auto_mail=who != "say")
        mail = {"identity": "read", "to": "say", "message": HARM, "summary": HARM}
        assert not (await at.server.run("atm_send", mail)).get("isError")
        await at.browser.do("open")
        assert await at.browser.do("go", url=at.link) == 200
        await at.browser.do("until", expression=f"fetch('/ui/mail.json').then((r) => r.json()).then({LISTED})")
        found = await at.browser.do("tell", expression="fetch('/ui/mail.json').then((r) => r.json())")
        (talk,) = found["conversations"]
        await inspect(at, ["/ui/mail", talk["href"], "/ui/executors", "/ui/health", "/ui/audit"])
        await at.browser.do("open", theme="dark", cookies=await at.browser.do("cookies"))
        assert await at.browser.do("go", url=at.origin + talk["href"]) == 200
        await at.browser.see("#live", "Live")
        await at.browser.do("click", selector=".letter button")
        await at.browser.see(".steps", "turn started")
        await at.browser.keys("Control+k", *"read")
        assert await at.browser.do("axe") == []
        await at.browser.keys("Enter")
        await at.browser.see("h1", "read")
