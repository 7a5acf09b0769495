"""The dashboard of a server with a port: who may come in, and what belongs to whom."""

import asyncio
import contextlib
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.wire import control
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in
from tests.support.http.client import connect
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door, call, stateless
from tests.support.patience import PATIENCE
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import TOUR, Json, Setup
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import say, structured, team_server

TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}
ASKS: Json = {"sandbox": "read-only", "approval-policy": "on-request", "background": True}
ONE = "1 agent needs you."
NOBODY = "Nobody needs you."


@contextlib.asynccontextmanager
async def server_with(folder: Path, *flags: str, script: Path = TEAM_SCRIPT) -> AsyncIterator[ChildServer]:
    async with ScriptedModel(load_script(script)) as model:
        setup = Setup(folder, model.codex_overrides(), ["--events", "none", *flags], {}, "serve")
        async with http_server(setup) as server:
            yield server


def tokens(folder: Path) -> Path:
    path = folder / "tokens"
    path.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    path.chmod(0o600)
    return path


async def run(port: int, tool: str, who: str = "", **arguments: Any) -> Json:
    """One call, of a principal if one is named."""
    message, headers = stateless(call(1, tool, arguments))
    own = {"authorization": f"Bearer {TOKENS[who]}"} if who else {}
    result: Json = (await Door(port, **own).post(message, **headers))["result"]
    return result


async def link_of(server: ChildServer, *flags: str) -> str:
    """What `codex-mcp dashboard` prints in the server's home, once that has joined its folder."""
    folder = str(server.setup.home / ".config/atm/codex-sessions")
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(living_nodes, folder):
            pass
    done = await asyncio.to_thread(command, server.setup.home, "dashboard", *flags, ATM_IDENTITY="mira")
    assert done.returncode == 0, done
    return str(done.stdout)


async def test_a_server_with_a_port_has_the_pages_and_the_command_prints_a_link_to_them(tmp_path: Path) -> None:
    async with server_with(tmp_path) as server:
        await run(server.port, "codex", prompt="[[scene: escalate]]", identity="arch", **ASKS)
        link = await link_of(server)
        assert link.startswith(f"http://127.0.0.1:{server.port}/ui/sign-in?code=")
        mira = await signed_in(link)
        (item,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
        assert (await mira.answer(item["href"], decision="approved")).status == 303
        assert "It was answered (approved) by mira" in await mira.page(item["href"])
        await mira.until("/ui/fleet.json", NOBODY)
        typed = await mira.get("/")
        assert (typed.status, typed.headers["location"]) == (303, "/ui/fleet")
        reader = await signed_in(await link_of(server, "--view"))
        assert "data-answer" not in await reader.page("/ui/needs-you")
        # Tools and endpoints stay as they are.
        async with connect(server.port) as wire:
            wire.send("GET", "/", b"", {"host": f"127.0.0.1:{server.port}"})
            assert (await wire.read_head())[1]["content-type"] == "text/event-stream"
        assert structured(await run(server.port, "codex_status"))["threads"]["active"] == 1


async def test_a_server_may_show_its_pages_for_reading_only_or_not_at_all(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--dashboard", "read-only") as server:
        await run(server.port, "codex", prompt="[[scene: escalate]]", identity="arch", **ASKS)
        mira = await signed_in(await link_of(server))
        (item,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
        assert "This session may only read." in await mira.page(item["href"])
    async with server_with(tmp_path / "off", "--dashboard", "off") as server:
        assert (await Visitor(server.port).get("/ui/fleet")).status == 404


async def test_without_https_no_other_address_shows_the_pages(tmp_path: Path) -> None:
    flags = ["--host", "0.0.0.0", "--generate-token", "--dashboard", "on"]
    done = await asyncio.to_thread(command, tmp_path, "serve", "--port", "0", *flags)
    assert (done.returncode, "cannot show the dashboard on 0.0.0.0 without HTTPS" in done.stderr) == (2, True)


async def test_behind_a_proxy_that_speaks_https_the_pages_have_its_name(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--allowed-hosts", "codex.example") as server:
        code = (await link_of(server)).partition("code=")[2].split()[0]
        proxied = {"host": "codex.example", "x-forwarded-proto": "https", "origin": "https://codex.example"}
        phone = Visitor(server.port)
        done = await phone.send("/ui/sign-in", {"code": code}, **proxied)
        assert (done.status, "; Secure" in done.headers["set-cookie"]) == (303, True), done
        assert done.headers["set-cookie"].startswith("codex_mcp_web=")
        assert (await phone.get("/ui/fleet", **proxied)).status == 200
        elsewhere = await phone.get("/ui/fleet", host="evil.example", **{"x-forwarded-proto": "https"})
        assert elsewhere.status == 421


async def test_what_is_one_principals_is_not_there_for_another(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--tokens", str(tokens(tmp_path))) as server:
        await run(server.port, "codex", "alice", prompt="[[scene: escalate]]", identity="secret-arch", **ASKS)
        mira = await signed_in(await link_of(server))
        (item,) = (await mira.until("/ui/needs-you.json", ONE))["items"]
        hidden = await mira.form(item["href"]) | {"decision": "approved"}
        people = {name: Visitor(server.port) for name in TOKENS}
        for name, visitor in people.items():
            assert (await visitor.send("/ui/sign-in", {"token": TOKENS[name]})).status == 303
        assert (await people["alice"].until("/ui/needs-you.json", ONE))["items"][0]["key"] == item["key"]
        bob, answer = people["bob"], item["href"].replace("/needs-you/", "/questions/")
        await bob.until("/ui/fleet.json", "No agents yet.")
        csrf = (await bob.page("/ui/fleet")).partition('name="csrf" value="')[2].partition('"')[0]
        looks = [await bob.get(path) for path in ("/ui/fleet", "/ui/needs-you", item["href"], f"{item['href']}.json")]
        looks += [await bob.get("/ui/needs-you/agent/codex:1"), await bob.send(answer, {**hidden, "csrf": csrf})]
        assert [each.status for each in looks] == [200, 200, 404, 404, 200, 404]
        assert not [each for each in looks if b"secret-arch" in each.body or b"made.txt" in each.body]
        bearer = {"authorization": f"Bearer {TOKENS['alice']}"}
        stranger = Visitor(server.port)
        read = await stranger.ask("GET", "/ui/needs-you.json", b"", bearer)
        assert json.loads(read.body)["sentence"] == ONE
        assert (await stranger.send(answer, hidden, **bearer)).status == 401
        assert (await people["alice"].answer(item["href"], decision="approved")).status == 303
        await mira.shows(item["href"], "It was answered (approved) by alice")


async def test_a_server_on_which_a_principal_has_nothing_is_not_shown_to_it(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--tokens", str(tokens(tmp_path))) as server:
        await run(server.port, "codex", "alice", prompt=say("hello"), identity="alice-agent")
        async with team_server(tmp_path, script=TEAM_SCRIPT) as (other, _model):
            await other.start(say("hello"), identity="mine")
            mira = await signed_in(await link_of(server))
            assert (await mira.told("/ui/fleet.json"))["servers"] == 2
            for name, pids in (("alice", {server.process.pid}), ("bob", set())):
                visitor = Visitor(server.port)
                assert (await visitor.send("/ui/sign-in", {"token": TOKENS[name]})).status == 303
                checks = (await visitor.told("/ui/health.json"))["checks"]
                shown = {int(each["name"].rpartition(" ")[2]) for each in checks if each["name"].startswith("Server p")}
                assert shown == pids
                for page in ("fleet", "executors", "health"):
                    assert str(other.process.pid) not in await visitor.page(f"/ui/{page}")
                assert (await visitor.told("/ui/fleet.json"))["servers"] == 1


async def test_a_session_ends_with_its_token_and_the_generated_token_is_nobodys(tmp_path: Path) -> None:
    async with server_with(tmp_path, "--tokens", str(tokens(tmp_path)), "--generate-token") as server:
        alice, nobody = Visitor(server.port), Visitor(server.port)
        assert (await alice.send("/ui/sign-in", {"token": TOKENS["alice"]})).status == 303
        await alice.until("/ui/fleet.json", "No agents yet.")
        generated = (server.setup.codex_home / "codex-mcp/token").read_text().strip()
        for token in (generated, "wrong", ""):
            assert (await nobody.send("/ui/sign-in", {"token": token})).status == 403
        (tmp_path / "tokens").write_text(f"bob {TOKENS['bob']}\n")
        async with asyncio.timeout(PATIENCE):
            while (await alice.get("/ui/fleet.json")).status != 401:
                pass


LOOK = """
import http.client, sys
seen = []
for method, path in (("GET", "/ui/fleet"), ("GET", "/ui/sign-in?code=" + sys.argv[2]), ("POST", "/ui/sign-in"), ("GET", "/")):
    client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    client.request(method, path, headers={"cookie": sys.argv[3], "sec-fetch-site": "same-origin", "sec-fetch-dest": "document"})
    seen.append(str(client.getresponse().status))
print("seen", *seen)
"""  # noqa: E501


@pytest.mark.parametrize("way", ["{}", "setsid --wait {}", "env -i {}"])
async def test_a_command_of_an_agent_gets_no_page_whatever_it_knows(tmp_path: Path, way: str) -> None:
    async with server_with(tmp_path, script=TOUR) as server:
        await run(server.port, "codex", prompt=say("hello"), identity="arch")
        mira = await signed_in(await link_of(server))
        code = (await link_of(server)).partition("code=")[2].partition("\n")[0]
        script = server.setup.work / "look.py"
        script.write_text(LOOK)
        cookie = "; ".join(f"{name}={value}" for name, value in mira.cookies.items())
        words = way.format(shlex.join([sys.executable, str(script), str(server.port), code, cookie]))
        prompt = f"[[scene: run cmd={json.dumps(words)}]]"
        arguments: Json = {"sandbox": "danger-full-access", "approval-policy": "never"}
        told = structured(await run(server.port, "codex", prompt=prompt, identity="spy", **arguments))
        assert "seen 403 403 403 403" in told["content"], told
        assert (await mira.get("/ui/fleet")).status == 200


async def test_the_pages_of_the_command_refuse_an_agent_of_any_server_as_well(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TOUR) as (server, _model):
        await server.start(say("hello"), identity="arch")
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            script = server.setup.work / "look.py"
            script.write_text(LOOK)
            cookie = "; ".join(f"{name}={value}" for name, value in mira.cookies.items())
            words = shlex.join([sys.executable, str(script), str(mira.port), "code", cookie])
            free: Json = {"sandbox": "danger-full-access", "approval-policy": "never"}
            told = await server.start(f"[[scene: run cmd={json.dumps(words)}]]", identity="spy", **free)
            assert "seen 403 403 403 403" in told["content"], told
            assert (await mira.get("/ui/fleet")).status == 200


async def test_only_the_whole_user_gets_a_link(tmp_path: Path) -> None:
    async with server_with(tmp_path) as server:
        await run(server.port, "codex", prompt=say("hello"), identity="arch")
        folder = str(server.setup.home / ".config/atm/codex-sessions")
        (node,) = living_nodes(folder)
        async with connect_server(folder, node, Caller(program="t", person="mira", view=True)) as (reached, greeting):
            assert greeting.page == f"http://127.0.0.1:{server.port}/ui"
            reader = await signed_in((await reached.sign_in(view=False)).url)
        assert "needs-you" in await reader.page("/ui/fleet")
        narrow = Caller(program="t", person="mira", principal="alice")
        async with connect_server(folder, node, narrow) as (reached, _):
            with pytest.raises(Exception, match="acts for alice only"):
                await reached.call(control.SIGN_IN, control.SignIn())


async def loaded(pid: int) -> str:
    """The files that a process has mapped: compiled modules among them."""
    return await asyncio.to_thread(Path(f"/proc/{pid}/maps").read_text)


async def test_pages_are_loaded_when_the_first_one_is_opened(tmp_path: Path) -> None:
    async with server_with(tmp_path) as server:
        await run(server.port, "codex", prompt=say("hello"), identity="arch")
        assert "markupsafe" not in await loaded(server.process.pid)
        await signed_in(await link_of(server))
        if os.uname().sysname == "Linux":
            assert "markupsafe" in await loaded(server.process.pid)


async def test_a_server_over_stdio_loads_no_page_and_no_web_server_while_others_look_at_its_agents(
    tmp_path: Path,
) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hello"), identity="arch")
        async with own_pages(server.setup) as (pages, link):
            mira = await signed_in(link)
            for page in ("fleet", "mail", "executors", "health", "audit"):
                await mira.page(f"/ui/{page}")
            modules = await loaded(server.process.pid)
            assert [each for each in ("markupsafe", "httptools", "uvloop") if each in modules] == []
            if os.uname().sysname == "Linux":
                assert "markupsafe" in await loaded(pages.process.pid)
