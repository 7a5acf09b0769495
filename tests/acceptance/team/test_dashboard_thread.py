"""The page of a thread over HTTP, without JavaScript: what an agent did, and what a person does with it."""

import asyncio
import json
import re
from html import unescape
from pathlib import Path

from tests.dashboard.thread.test_pictures import PNG
from tests.support.dashboard.visitor import Visitor, own_pages, signed_in
from tests.support.patience import PATIENCE
from tests.support.repositories import repository
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import heard
from tests.support.team.team_server import say, structured, team_server

SCRIPT = """
default = "say"
[scenes.say]
parameters = { text = "Done." }
steps = [{ say = "{text}" }]
[scenes.work]
steps = [{ plan = ["Look"] }, { run = "echo one; exit 3" }, { say = "Half <b>of</b> it." }, { gate = "gate" }, { say = "The **rest**." }]
[scenes.long]
steps = [{ run = "seq 100" }, { run = "cat made.txt" }, { say = "Counted." }]
"""  # noqa: E501
PATCH = "*** Begin Patch\\n*** Add File: new.py\\n+x = 1\\n*** End Patch\\n"
DRAW = f"""
[scenes.draw]
steps = [{{ patch = "{PATCH}" }}, {{ call = "view_image", arguments = '{{"path": "dot.png"}}' }}, {{ say = "Drawn." }}]
"""
FLAGS = ("-c", "tools.update_plan.enabled=true")
FREE: Json = {"approval-policy": "never", "sandbox": "danger-full-access"}


def script_in(folder: Path) -> Path:
    path = folder / "script.toml"
    path.write_text(SCRIPT + DRAW)
    return path


async def until(visitor: Visitor, path: str, **expected: object) -> Json:
    """The twin of a page, once it says this."""
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await visitor.told(path)
            if all(told.get(name) == value for name, value in expected.items()):
                return told


async def act(visitor: Visitor, page_path: str, action: str, /, **fields: str) -> str:
    """Send the form of a thread's page; what the page says then."""
    page = await visitor.page(page_path)
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    answer = await visitor.send(f"{page_path}/{action}", {**hidden, **fields})
    if answer.status != 303:
        return f"{answer.status} {unescape(answer.body.decode())}"
    text = await visitor.page(answer.headers["location"])
    found = re.search(r'<p class="said" role="status">(.*?)</p>', text, re.DOTALL)
    return unescape(found[1]) if found is not None else ""


async def test_an_agent_that_was_just_started_has_a_page(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=script_in(tmp_path)) as (server, _), own_pages(server.setup) as (_, link):
        mira = await signed_in(link)
        assert (await mira.get("/ui/threads/arch0")).status == 404
        for identity in ("arch0", "arch1", "arch2"):
            await server.start(say("Done."), identity=identity, background=True, **FREE)
            await mira.page(f"/ui/threads/{identity}")


async def test_a_running_thread_is_shown_written_to_and_stopped(tmp_path: Path) -> None:
    async with team_server(tmp_path, *FLAGS, script=script_in(tmp_path), elicitation=False) as (server, model):
        await server.start(say("First."), identity="arch", **FREE)
        await server.reply("arch", "[[scene: work]]", background=True)
        async with own_pages(server.setup) as (_, link), own_pages(server.setup, "--view") as (_, view):
            mira = await signed_in(link)
            fleet = await mira.told("/ui/fleet.json")
            (row,) = [row for section in fleet["sections"] for row in section["rows"]]
            assert (await mira.get("/ui/@arch")).headers["location"] == row["href"]
            path = "/ui/threads/arch"
            async with asyncio.timeout(PATIENCE):
                while "of</b> it." not in json.dumps((told := await mira.told(f"{path}.json"))["steps"]):
                    pass
            assert [turn["steps"] for turn in told["turns"]] == [2, 3]
            assert (told["is_running"], told["is_live"]) == (True, True)
            assert (told["steps"][1]["mark"], told["steps"][1]["output"]) == ("exit 3", [[{"text": "one"}]])
            assert told["inspector"]["plan"]["steps"] == [["Look", "pending"]]
            page = await mira.page(row["href"])
            assert "Half &lt;b&gt;of&lt;/b&gt; it." in page
            assert "<p>First.</p>" not in page
            assert "<p>First.</p>" in await mira.page(f"{path}?turn={told['turns'][0]['id']}")
            reader = await signed_in(view)
            seen = await reader.page(path)
            assert ("This session may only read." in seen, "data-say" in seen) == (True, False)
            # A message waits for the turn, or is refused because the turn that was shown is not the one that runs.
            assert (
                await act(mira, path, "say", text="And then?", when="queue")
                == "Sent: it waits for the end of this turn."
            )
            assert [each["prompt"] for each in (await until(mira, f"{path}.json"))["queue"]] == ["And then?"]
            refused = await act(mira, path, "say", text="Too late.", when="steer", turn="another")
            assert refused.startswith("409 ")
            assert "The turn has ended meanwhile." in refused
            assert ">Too late.</textarea>" in refused
            assert await act(mira, path, "comment", path="a.py", line="3", code="x = 1", comment="Why?") == ""
            assert await act(mira, path, "say", text="", when="steer") == "Sent: it joins the running turn."
            model.release("gate")
            async with asyncio.timeout(PATIENCE):
                while "And then?" not in (texts := heard(model)):
                    await mira.told(f"{path}.json")
            assert "a.py:3\n> x = 1\nWhy?" in texts
            audited = [entry for entry in server.audit() if entry.get("via") == "page"]
            assert {entry["by"] for entry in audited} == {"mira"}


async def test_a_closed_agent_is_read_from_its_file_and_resumed(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=script_in(tmp_path), elicitation=False) as (server, _model):
        await server.start("[[scene: long]]", identity="arch", **FREE)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            path = "/ui/threads/arch"
            live = await mira.told(f"{path}.json")
            assert await act(mira, path, "close") != ""
            closed = await until(mira, f"{path}.json", status="closed")
            assert (closed["is_live"], closed["actions"]["resume"]) == (False, True), closed
            known = {step["key"]: step for step in closed["steps"]}
            before = [step for step in live["steps"] if step["key"] in known]
            assert len(before) == len(live["steps"]) or closed["turn"] != live["turn"]
            ran = await mira.page(f"{path}?turn={live['turns'][0]['id']}")
            assert "92 earlier lines." in ran
            step = await mira.told(f"{path}/step.json?turn={live['turns'][0]['id']}&n=1")
            assert (len(step["step"]["output"]), step["step"]["lines"]) == (100, 100)
            assert "All is said" not in await mira.page(f"{path}/summary")
            assert await act(mira, path, "resume") != ""
            await until(mira, f"{path}.json", is_live=True)


async def test_a_diff_says_where_it_comes_from_and_pictures_are_confined(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=script_in(tmp_path), elicitation=False) as (server, _model):
        (server.setup.work / "dot.png").write_bytes(PNG)
        await server.start("[[scene: draw]]", identity="arch", **FREE)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            path = "/ui/threads/arch"
            diff = await mira.told(f"{path}/diff.json?of=thread")
            assert [(file["path"], file["what"], file["added"]) for file in diff["files"]] == [("new.py", "new", 1)]
            assert diff["source"].startswith("The patches that Codex applied in this thread")
            assert (
                await act(mira, path, "comment", path="new.py", line="1", code="x = 1", comment="Why <b>1</b>?") == ""
            )
            page = await mira.page(f"{path}/diff?of=thread")
            assert "Why &lt;b&gt;1&lt;/b&gt;?" in page
            refused = await mira.told(f"{path}/diff.json?of=uncommitted")
            assert (refused["files"], "not in a git repository" in refused["said"]) == ([], True)
            # Looking is not acting: of what was refused there is a line, of what was shown there is none.
            looks = [(entry["event"], entry["outcome"]) for entry in server.audit() if entry["event"] == "codex_diff"]
            assert looks == [("codex_diff", "refused")]
            text = await mira.page(path)
            found = re.search(r'<img loading="lazy" src="([^"]+)" width="1" height="1" alt="dot.png">', text)
            assert found is not None
            picture = await mira.get(found[1])
            assert (picture.body, picture.headers["content-type"]) == (PNG, "image/png")
            assert "sandbox; default-src 'none'" in picture.headers["content-security-policy"]
            assert (await mira.get(f"{path}/picture?h=0")).status == 404


async def test_a_diff_of_ten_thousand_lines_is_cut_and_says_so(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=script_in(tmp_path), elicitation=False) as (server, _model):
        work = repository(server.setup.work)
        (work / "long.txt").write_text("".join(f"line {number}\n" for number in range(10_000)))
        (work / "wide.txt").write_text("x" * 1_000_000 + "\n")
        await server.start("[[scene: say]]", identity="arch", **FREE)
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            diff = await mira.told("/ui/threads/arch/diff.json?of=uncommitted")
            assert diff["said"].startswith("The diff is longer")
            shown = sum(len(file["lines"]) for file in diff["files"])
            page = await mira.page("/ui/threads/arch/diff?of=uncommitted")
            assert (100 < shown <= 3000, len(page) < 1_000_000, diff["said"] in unescape(page)) == (True, True, True)


async def test_other_principals_and_unknown_threads_are_the_same(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=script_in(tmp_path), elicitation=False) as (server, _model):
        started = await server.start(say("First."), identity="arch")
        async with own_pages(server.setup) as (_, link):
            mira = await signed_in(link)
            for name in (started["codex_id"], started["threadId"]):
                assert (await mira.get(f"/ui/threads/{name}")).status == 200
            for path in ("/ui/threads/none", "/ui/threads/none.json", "/ui/@none", "/ui/threads/arch/nothing"):
                answer = await mira.get(path)
                assert (answer.status, b"codex-mcp threads --all" in answer.body) == (404, True), path
            reviewed = structured(
                await server.run("codex_review", {"id": "arch", "target": "custom", "of": "all of it"})
            )
            page = await mira.told(f"/ui/threads/{reviewed['threadId']}.json")
            assert (page["codex_id"], page["actions"]["say"]) == ("", False)
            stranger = Visitor(mira.port)
            assert b"Open the dashboard" in (await stranger.get("/ui/threads/arch")).body
            assert json.loads((await stranger.get("/ui/threads/arch.json")).body) == {"error": "sign in first"}
