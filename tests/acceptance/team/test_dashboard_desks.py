"""Mail, Executors, Health and Audit over HTTP, without JavaScript: what is shown, and what their forms do."""

import asyncio
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

from tests.acceptance.team.test_dashboard_http import TOKENS, link_of, run, server_with, tokens
from tests.support.dashboard.facts import HARM
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import say, team_server

PAGES = ("/ui/mail", "/ui/executors", "/ui/health", "/ui/audit")


async def csrf_of(visitor: Visitor) -> dict[str, str]:
    found = re.search(r'name="csrf" value="([^"]+)"', await visitor.page("/ui/fleet"))
    assert found is not None
    return {"csrf": found[1]}


async def message(visitor: Visitor, to: str, **expected: object) -> Json:
    """The newest message to this name, once it is so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            for talk in (await visitor.told("/ui/mail.json"))["conversations"]:
                if talk["to"] == to:
                    letter: Json = (await visitor.told(f"{talk['href']}.json"))["letters"][-1]
                    if all(letter[name] == value for name, value in expected.items()):
                        return letter


async def test_mail_is_written_delivered_and_read_from_the_page(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hello"), identity="arch", auto_mail=False)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            token = await csrf_of(mira)
            text = {"to": "arch", "text": HARM.replace("\x1b", "")}
            assert (await mira.send("/ui/mail", {**text, "csrf": "wrong"})).status == 403
            for wrong, said in (({"to": "nobody"}, b"Nobody is called nobody"), ({"text": " "}, b"Write something")):
                refused = await mira.send("/ui/mail", {**text, **token, **wrong})
                assert (refused.status, said in refused.body) == (422, True), refused.body
            assert (await mira.send("/ui/mail", {**text, **token})).status == 303
            letter = await message(mira, "arch", why="auto_mail is off for it", can_be_delivered=True)
            assert letter["sender"] == "mira"
            page = await mira.page(f"/ui/mail/{letter['id']}")
            assert ("<img" in page.partition("<main")[2], "Deliver now" in page) == (False, True)
            assert (await mira.send(f"/ui/mail/{letter['id']}/deliver", token)).status == 303
            way = ["sent", "offered", "turn started", "read"]
            async with asyncio.timeout(PATIENCE):
                while [step["text"] for step in (await message(mira, "arch"))["steps"]] != way:
                    pass
            assert (await message(mira, "arch"))["why"] == ""
            await server.run("atm_send", {"identity": "arch", "to": "mira", "message": "Thanks."})
            mine = await message(mira, "mira", is_mine=True)
            assert (await mira.until("/ui/mail.json", "1 message for you."))["counts"]["need"] == 0
            assert (await mira.send(f"/ui/mail/{mine['id']}/read", token)).status == 303
            await mira.until("/ui/mail.json", "No message for you.")
            # The other pages, their twins, and a name that an agent has.
            for path in PAGES:
                told, shown = await mira.told(f"{path}.json"), await mira.page(path)
                assert (told["schema"], f"<h1>{told['sentence']}</h1>" in unescape(shown)) == (1, True)
            assert (await mira.told("/ui/health.json"))["checks"][0]["level"] == "ok"
            events = {line["event"] for line in (await mira.told("/ui/audit.json"))["lines"]}
            assert {"codex", "atm send", "control"} <= events
            for path in ("/ui/mail/none", "/ui/executors/none", "/ui/health/none", "/ui/mail/a/b.json"):
                assert (await mira.get(path)).status == 404
            await server.start(say("hello"), identity="mira")
            async with asyncio.timeout(PATIENCE):
                while (await mira.told("/ui/fleet.json"))["counts"]["ready"] != 2:
                    pass
            refused = await mira.send("/ui/mail", {**text, **token})
            assert (refused.status, b"is the name of an agent" in refused.body) == (422, True)


async def test_two_principals_see_nothing_of_each_other_on_any_page(tmp_path: Path) -> None:
    """Both have agents with mail; names are those of one principal (`identity_taken`)."""
    async with server_with(tmp_path, "--tokens", str(tokens(tmp_path))) as server:
        people = {name: Visitor(server.port) for name in TOKENS}
        letters: dict[str, str] = {}
        for name, visitor in people.items():
            secret = f"secret-of-{name}"
            other = "dev" if name == "alice" else "qa"
            assert (await visitor.send("/ui/sign-in", {"token": TOKENS[name]})).status == 303
            for identity in (f"{name}-lead", other):
                started = await run(server.port, "codex", name, prompt=say(secret), identity=identity, tag=secret)
                assert not started.get("isError"), started
            mail: Json = {"identity": other, "to": f"{name}-lead", "message": secret}
            assert not (sent := await run(server.port, "atm_send", name, **mail)).get("isError"), sent
            letter = await message(visitor, f"{name}-lead")
            assert secret in await visitor.page(f"/ui/mail/{quote(letter['id'])}")
            letters[name] = letter["id"]
        for name, visitor in people.items():
            other = next(each for each in people if each != name)
            letter_id = letters[other]
            paths = ["/ui/fleet", "/ui/needs-you", *PAGES]
            paths += [
                f"/ui/mail/{letter_id}",
                "/ui/fleet?q=secret",
                f"/ui/mail?of={other}-lead",
                f"/ui/audit?identity={other}-lead",
            ]
            for path in (*paths, *(f"{path.partition('?')[0]}.json" for path in paths)):
                body = (await visitor.get(path)).body.replace(f'{other}-lead"'.encode(), b"")
                assert f"secret-of-{other}".encode() not in body, (name, path)
                assert f"{other}-lead@".encode() not in body, (name, path)
            assert (await visitor.get(f"/ui/mail/{letter_id}")).status == 404
            assert (await visitor.send(f"/ui/mail/{letter_id}/deliver", await csrf_of(visitor))).status == 404
            to_other = await visitor.send("/ui/mail", {"to": f"{other}-lead", "text": "x", **await csrf_of(visitor)})
            assert (to_other.status, b"Nobody is called" in to_other.body) == (422, True)
            assert [each["name"] for each in (await visitor.told("/ui/health.json"))["browsers"]] == [name]
            for page in ("fleet", "needs-you", "mail", "health"):
                first = await first_event(visitor, f"/ui/events?page={page}")
                assert f"secret-of-{other}" not in first
        mira = await signed_in(await link_of(server))
        assert len((await mira.told("/ui/mail.json"))["conversations"]) == 2
        browsers = (await mira.told("/ui/health.json"))["browsers"]
        assert sorted(each["name"] for each in browsers) == ["alice", "bob", "mira"]
        number = next(each["number"] for each in browsers if each["name"] == "bob")
        assert (await mira.send(f"/ui/sessions/{number}/end", await csrf_of(mira))).status == 303
        assert (await people["bob"].get("/ui/fleet.json")).status == 401


PARTS = ("", "/preview", "/diff", "/summary", "/part", ".json", "/diff.json")
ACTIONS = ("say", "interrupt", "close", "resume", "review", "comment")


async def test_a_thread_of_another_principal_is_not_there(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--tokens", str(tokens(tmp_path))) as server:
        people, threads = {name: Visitor(server.port) for name in TOKENS}, {}
        for name, visitor in people.items():
            assert (await visitor.send("/ui/sign-in", {"token": TOKENS[name]})).status == 303
            told = await run(server.port, "codex", name, prompt=say(f"secret-of-{name}"), identity=f"{name}-agent")
            assert not told.get("isError"), told
            threads[name] = told["structuredContent"]
        for name, visitor in people.items():
            other = next(each for each in people if each != name)
            assert (await visitor.get(f"/ui/@{name}-agent")).headers[
                "location"
            ] == f"/ui/threads/{threads[name]['codex_id']}"
            secret, theirs = f"secret-of-{other}".encode(), threads[other]
            for part in PARTS:
                mine = await visitor.get(f"/ui/threads/{name}-agent{part}")
                assert (mine.status, secret in mine.body) == (200, False), (name, part)
                for ref in (theirs["codex_id"], theirs["threadId"], f"{other}-agent"):
                    found = await visitor.get(f"/ui/threads/{ref}{part}")
                    assert (found.status, secret in found.body) == (404, False), (name, part)
            form = {"text": "x", **await csrf_of(visitor)}
            for action in ACTIONS:
                assert (await visitor.send(f"/ui/threads/{theirs['codex_id']}/{action}", form)).status == 404
            stream = await visitor.get(f"/ui/events?page=thread&ref={theirs['codex_id']}")
            assert stream.status == 404


async def first_event(visitor: Visitor, path: str) -> str:
    """What an open page is sent first: all of it."""
    kept = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port, limit=1 << 24)
    head = ("", f"host: 127.0.0.1:{visitor.port}", f"cookie: {kept}", "sec-fetch-site: same-origin", "", "")
    writer.write(f"GET {path} HTTP/1.1".encode() + "\r\n".join(head).encode())
    try:
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"event: patch\n")
            return (await reader.readuntil(b"\n\n")).decode()
    finally:
        writer.close()
