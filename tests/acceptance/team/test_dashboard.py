"""The dashboard over HTTP, without JavaScript: all servers of a state folder on one page, and answers from it."""

import asyncio
import json
import signal
from html import unescape
from pathlib import Path

from codex_mcp.state.embedded.flock import NodeLock
from codex_mcp.wire import control
from tests.support.dashboard.crowd import crowd
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in, visitor_with
from tests.support.http.client import connect
from tests.support.patience import PATIENCE
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, say, structured, team_server

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
RECORDINGS = Path(__file__).parents[2] / "support/scripts/recordings.toml"
DEAF: Json = {"script": TEAM_SCRIPT, "elicitation": False}
ONE = "1 agent needs you."
NOBODY = "Nobody needs you."


async def finished(server: TeamServer, who: str = "arch") -> Json:
    """The next answer of this agent."""
    (found,) = structured(await server.run("codex_wait", {"ids": [who]}))["finished"]
    answer: Json = found
    return answer


async def test_the_fleet_has_the_agents_of_all_servers_and_each_page_has_a_twin(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (one, _), team_server(tmp_path, **DEAF) as (other, model):
        await one.start(say("Well & <b>done</b>."), identity="arch", tag="architect")
        await other.start(gate(), identity="dev", background=True)
        await one.start("[[scene: escalate]]", identity="asker", **ASKS)
        async with own_pages(one.setup) as (_, link):
            mira = await signed_in(link)
            fleet = await mira.until("/ui/fleet.json", ONE)
            rows = {row["name"]: row for section in fleet["sections"] for row in section["rows"]}
            assert {name: row["group"] for name, row in rows.items()} == {
                "arch": "ready",
                "dev": "work",
                "asker": "need",
            }
            assert (fleet["counts"], fleet["servers"]) == ({"need": 1, "work": 1, "ready": 1, "off": 0}, 2)
            text = await mira.page("/ui/fleet")
            assert f"<h1>{fleet['sentence']}</h1>" in text
            assert "Well &amp; &lt;b&gt;done&lt;/b&gt;." in text
            assert rows["asker"]["href"] in text
            assert rows["dev"]["server"] == f"process {other.process.pid}"
            only = await mira.page("/ui/fleet?show=work&q=dev")
            assert ("row-" + rows["dev"]["key"] in only, "row-" + rows["arch"]["key"] in only) == (True, False)
            needs = await mira.told("/ui/needs-you.json")
            assert [item["name"] for item in needs["items"]] == ["asker"]
            assert needs["card"]["command"].endswith("'touch made.txt'")
            assert "codex-mcp" in await mira.page("/ui/needs-you")
            model.release("gate")
            await finished(other, "dev")
            await other.close_agent("dev")
            async with asyncio.timeout(PATIENCE):
                while (await mira.told("/ui/fleet.json"))["counts"]["off"] != 1:
                    pass


async def test_a_question_is_answered_from_the_page_and_a_second_answer_is_told_who_was_first(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            page = await mira.page(item["href"])
            assert "“It has to write a file.”" in unescape(page)
            hidden = await mira.form(item["href"])
            answer = item["href"].replace("/needs-you/", "/questions/")
            for wrong, status in (({"shown": "0" * 32}, 409), ({"decision": "maybe"}, 422), ({"decision": ""}, 422)):
                refused = await mira.send(answer, {**hidden, "decision": "approved", **wrong})
                assert (refused.status, b"data-answer" in refused.body) == (status, True), refused
            done = await mira.send(answer, {**hidden, "decision": "approved"})
            assert (done.status, done.headers["location"]) == (303, item["href"])
            assert (await finished(server))["content"] == "It ran."
            receipt = await mira.page(item["href"])
            assert "It was answered (approved) by mira" in receipt
            assert "data-answer" not in receipt
            second = await mira.send(answer, {**hidden, "decision": "denied"}, accept="application/json")
            told = json.loads(second.body)
            assert (second.status, told["used"], told["by"], told["via"]) == (409, False, "mira", "page")
            assert "Your answer came second and was not used." in told["html"]
            late = await mira.send(answer, {**hidden, "decision": "denied"})
            assert late.headers["location"] == f"{item['href']}?second=1"
            assert "Your answer came second" in await mira.page(late.headers["location"])
            needs = await mira.until("/ui/needs-you.json", NOBODY)
            assert needs["answered"][0]["text"] == "approved by mira: touch made.txt"
            decided = [entry for entry in server.audit() if entry["event"] == "approval"]
            assert [(entry["what"], entry["by"], entry["via"]) for entry in decided] == [("approved", "mira", "page")]


async def test_of_a_hundred_answers_at_once_exactly_one_is_used_and_the_others_are_told_whose(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            hidden = await mira.form(item["href"])
            path = item["href"].replace("/needs-you/", "/questions/")
            forms = [{**hidden, "key": str(at), "decision": ("approved", "denied")[at % 2]} for at in range(100)]
            answers = await asyncio.gather(*(mira.send(path, form, accept="application/json") for form in forms))
            told = [json.loads(each.body) for each in answers]
            assert sorted(each.status for each in answers) == [200] + 99 * [409]
            assert [each["used"] for each in told].count(True) == 1
            assert {(each["by"], each["via"], each["state"]) for each in told} == {("mira", "page", "decided")}
            (used,) = [form["decision"] for form, each in zip(forms, told, strict=True) if each["used"]]
            assert (await finished(server))["content"] == {"approved": "It ran.", "denied": "It was refused."}[used]
            assert len([entry for entry in server.audit() if entry["event"] == "approval"]) == 1


async def test_a_denial_carries_a_note_that_the_agent_reads(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=RECORDINGS, elicitation=False) as (server, model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            answer = await mira.answer(item["href"], decision="denied", reason="Not before 17:00.")
            assert answer.status == 303
            await finished(server)
            assert "Not before 17:00." in str(model.requests[-1])


async def test_the_models_own_questions_are_answered_in_a_form(tmp_path: Path) -> None:
    flags = ("-c", "features.default_mode_request_user_input=true")
    async with team_server(tmp_path, *flags, script=RECORDINGS, elicitation=False) as (server, model):
        await server.start("[[scene: ask-user]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            page = await mira.page(item["href"])
            assert "Which colour?" in page
            empty = await mira.answer(item["href"])
            assert (empty.status, b"answers nothing" in empty.body) == (422, True)
            assert (await mira.answer(item["href"], **{"answer.colour": "1"})).status == 303
            await finished(server)
            assert "blue" in str(model.requests[-1])


async def test_a_question_that_the_client_answers_ends_on_the_page_as_well(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        call = server.call("codex", {"prompt": "[[scene: escalate]]", "identity": "arch", **ASKS})
        asked = await server.question()
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            listed = await asyncio.to_thread(command, server.setup.home, "approvals", "--json")
            (row,) = json.loads(listed.stdout)["approvals"]
            href = f"/ui/needs-you/{row['id']}"
            assert "also asked of tests" in await mira.page(href)
            server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})
            assert structured(await server.result(call))["content"] == "It ran."
            await mira.shows(href, "It was answered (approved) by tests")


async def test_an_agent_that_nobody_answered_is_asked_to_try_again(tmp_path: Path) -> None:
    flags = ("--approval-timeout", "1")
    async with team_server(tmp_path, *flags, script=TEAM_SCRIPT, elicitation=False) as (server, model):
        await server.start("[[scene: escalate]]", identity="arch", background=True, **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            async with asyncio.timeout(PATIENCE):
                while not (answered := (await mira.told("/ui/needs-you.json"))["answered"]):
                    pass
                href = answered[0]["href"]
                while not (await mira.told(f"{href}.json"))["card"]["can_ask_again"]:
                    pass
            page = await mira.page(href)
            csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
            again = f"{href.replace('/needs-you/', '/questions/')}/again"
            assert f'action="{again}"' in page
            done = await mira.send(again, {"csrf": csrf})
            assert (done.status, done.headers["location"]) == (303, href)
            await server.until(
                lambda: "nobody gave one in time (wants to run touch made.txt)" in str(model.requests[-1])
            )
            unknown = await mira.send("/ui/questions/1/question-1/again", {"csrf": csrf})
            assert unknown.status == 404


async def test_a_failure_stays_until_it_was_seen(tmp_path: Path) -> None:
    script = tmp_path / "fails.toml"
    script.write_text('[scenes.fail]\nsteps = [{ fail = 400, message = "the script says so" }]\n')
    async with team_server(tmp_path, script=script) as (server, _model):
        await server.run("codex", {"prompt": "[[scene: fail]]", "identity": "arch"})
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            (item,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
            page = await mira.page(item["href"])
            assert "the script says so" in page
            codex_id = item["key"].removeprefix("agent/")
            csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
            seen = await mira.send(f"/ui/agents/{codex_id}/seen", {"csrf": csrf})
            assert seen.status == 303
            await mira.until("/ui/needs-you.json", NOBODY)


async def test_a_server_that_does_not_answer_is_named_and_nothing_is_decided_there(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (one, _), team_server(tmp_path, **DEAF) as (other, _other):
        await one.start("[[scene: escalate]]", identity="arch", **ASKS)
        await other.start(say("hello"), identity="dev")
        async with own_pages(one.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            hidden = await mira.form(item["href"])
            one.signal(signal.SIGSTOP)
            try:
                async with asyncio.timeout(PATIENCE):
                    while not (fleet := await mira.told("/ui/fleet.json"))["silent"]:
                        pass
                (silent,) = fleet["silent"]
                assert f"server process {one.process.pid} does not answer" in silent["why"]
                rows = {row["name"]: row for section in fleet["sections"] for row in section["rows"]}
                assert {name: row["is_live"] for name, row in rows.items()} == {"arch": False, "dev": True}
                assert silent["why"] in unescape(await mira.page("/ui/fleet"))
                assert (await mira.told("/ui/needs-you.json"))["sentence"] == "1 agent and 1 more thing need you."
                card = unescape(await mira.page(item["href"]))
                assert silent["why"] in card
                assert card.partition("data-answer data-silent")[2].partition("</form>")[0].count(" disabled") >= 2
                answer = item["href"].replace("/needs-you/", "/questions/")
                refused = await mira.send(answer, {**hidden, "decision": "approved"})
                assert (refused.status, b"nothing was decided" in refused.body) == (503, True), refused
            finally:
                one.signal(signal.SIGCONT)
            async with asyncio.timeout(PATIENCE):
                while (await mira.told("/ui/fleet.json"))["silent"]:
                    pass
            (still,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
            assert still["key"] == item["key"]
            assert (await mira.answer(still["href"], decision="approved")).status == 303
            assert (await finished(one))["content"] == "It ran."


async def test_the_questions_of_a_killed_server_have_ended_with_it(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (one, _), team_server(tmp_path, **DEAF) as (other, _other):
        await one.start("[[scene: escalate]]", identity="arch", **ASKS)
        await other.start(say("hello"), identity="dev")
        async with own_pages(one.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            hidden = await mira.form(item["href"])
            one.signal(signal.SIGKILL)
            needs = await mira.until("/ui/needs-you.json", NOBODY)
            assert [(each["key"], each["text"]) for each in needs["answered"]] == [
                (item["key"], "lost: touch made.txt")
            ]
            page = await mira.page(item["href"])
            assert ("The server ended, and the question ended with it." in page, "data-answer" in page) == (True, False)
            answer = item["href"].replace("/needs-you/", "/questions/")
            refused = await mira.send(answer, {**hidden, "decision": "approved"}, accept="application/json")
            told = json.loads(refused.body)
            assert (refused.status, told["used"], told["state"]) == (409, False, "lost"), told


async def test_servers_that_cannot_be_controlled_are_named_each_with_what_to_do(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    state_dir = setup.home / ".config/atm/codex-sessions"
    async with crowd(state_dir, 1) as later:
        later.protocol = control.PROTOCOL + 1
        older = NodeLock(str(state_dir), "older")
        async with own_pages(setup) as (_, link):
            mira = await signed_in(link)
            fleet = await mira.until("/ui/fleet.json", "2 things need you.")
            whys = {each["node"]: each["why"] for each in fleet["silent"]}
            assert "speaks another protocol; upgrade it" in whys["crowd"]
            assert "its codex-mcp is too old" in whys["older"]
            needs = await mira.until("/ui/needs-you.json", "2 things need you.")
            pages = [await mira.page(item["href"]) for item in needs["items"]]
            assert all("cannot be reached: " in page for page in pages)
            assert "upgrade it" in "".join(pages)
            health = await mira.told("/ui/health.json")
            assert [check["level"] for check in health["checks"]].count("bad") == 2
        older.give_up()


async def test_an_open_page_is_told_what_changes(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (server, _model):
        await server.start(say("hello"), identity="arch")
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            await mira.until("/ui/fleet.json", NOBODY)
            async with connect(mira.port) as wire:
                cookie = "; ".join(f"{name}={value}" for name, value in mira.cookies.items())
                own = {"host": f"127.0.0.1:{mira.port}", "cookie": cookie, "sec-fetch-site": "same-origin"}
                wire.send("GET", "/ui/events?page=fleet", b"", own)
                status, headers = await wire.read_head()
                assert (status, headers["content-type"]) == (200, "text/event-stream")
                text = ""
                while "event: patch" not in text:
                    text += (await wire.read_chunk()).decode()
                assert NOBODY in text
                await server.start("[[scene: escalate]]", identity="asker", **ASKS)
                while ONE not in text or "wants to run" not in text:
                    text += (await wire.read_chunk()).decode()
                assert text.startswith("retry: 2000")


async def test_a_link_signs_one_browser_in_and_a_view_decides_nothing(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link), own_pages(server.setup, "--view") as (_, view):
            mira = await signed_in(link)
            again, code = visitor_with(link)
            refused = await again.get(f"/ui/sign-in?code={code}")
            assert (refused.status, b"used already" in refused.body, again.cookies) == (403, True, {})
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            hidden = await mira.form(item["href"])
            reader = await signed_in(view)
            await reader.until("/ui/needs-you.json", ONE)
            page = await reader.page(item["href"])
            assert ("data-answer" in page, "This session may only read." in page) == (False, True)
            csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
            answer = item["href"].replace("/needs-you/", "/questions/")
            tried = await reader.send(answer, {**hidden, "csrf": csrf, "decision": "approved"})
            assert (tried.status, b"may only read" in tried.body) == (403, True)
            (still,) = (await mira.told("/ui/needs-you.json"))["items"]
            assert still["key"] == item["key"]
            out = await mira.send("/ui/sign-out", {"csrf": hidden["csrf"]})
            assert out.status == 303
            assert "Open the dashboard from your terminal." in await mira.page("/ui/fleet")


async def test_requests_that_our_pages_did_not_make_are_refused(tmp_path: Path) -> None:
    async with team_server(tmp_path, **DEAF) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            item = (await mira.until("/ui/needs-you.json", ONE))["items"][0]
            hidden = await mira.form(item["href"]) | {"decision": "approved"}
            answer = item["href"].replace("/needs-you/", "/questions/")
            for headers, fields in (
                ({"sec-fetch-site": "cross-site"}, hidden),
                ({"sec-fetch-site": "same-site"}, hidden),
                ({"origin": "http://127.0.0.1:1"}, hidden),
                ({"host": "evil.example"}, hidden),
                ({}, {**hidden, "csrf": ""}),
            ):
                refused = await mira.send(answer, fields, **headers)
                assert refused.status in (403, 421), (headers, refused)
            stranger = Visitor(mira.port)
            assert (await stranger.send(answer, hidden)).status == 401
            for path in ("/ui/fleet.json", "/ui/needs-you.json", "/ui/events?page=fleet", f"{item['href']}.json"):
                assert (await stranger.get(path)).status == 401
            for path in ("/ui/fleet", "/ui/needs-you", item["href"], "/ui/nothing"):
                body = (await stranger.get(path)).body
                assert b"Open the dashboard from your terminal." in body
                assert b"arch" not in body
            (still,) = (await mira.told("/ui/needs-you.json"))["items"]
            assert still["key"] == item["key"]
            assert (await mira.get("/ui/nothing")).status == 404
            assert (await mira.get("/ui/needs-you/no/such")).status == 404
            answers = [await mira.get(path) for path in ("/ui/fleet", "/ui/needs-you", "/ui/nothing", "/ui/fleet.json")]
            for each in [*answers, await stranger.get("/ui/sign-in"), await stranger.get("/ui/static/no.css")]:
                assert "script-src 'self'; style-src 'self'" in each.headers["content-security-policy"]
                assert each.headers["x-content-type-options"] == "nosniff"
                assert each.headers["referrer-policy"] == "no-referrer"
                assert each.headers["cache-control"] == "no-store"
            link_elsewhere = {"sec-fetch-site": "cross-site"}
            arrived = await mira.get("/ui/fleet", **link_elsewhere)
            assert (arrived.status, b"arch" in arrived.body, b'href="/ui/fleet' in arrived.body) == (200, False, True)
