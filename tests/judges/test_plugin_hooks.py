"""The hooks of our plugin in the real Claude Code: a lead that stops is told what its agents have left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from codex_mcp.mcp.schema.hook_results import AFTER_PROMPT, AFTER_STOP, OPENING
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.judges.test_plugin import SERVER, claude, fresh_home
from tests.support.clients.anthropic_model import AnthropicModel, Json, Say, Together, Use, Used
from tests.support.clients.judges import ROOT, started
from tests.support.servers.mcp_server import TOUR, Setup

ASKS = {"sandbox": "read-only", "approval-policy": "on-request", "background": True}

GATE = '[[scene: gate name=gate text="{} is done."]]'


def use(tool: str, **arguments: object) -> Use:
    return Use(f"mcp__{SERVER}__{tool}", arguments)


def told(model: AnthropicModel) -> list[str]:
    """What the hooks told the lead, in order. Claude Code may show a text twice."""
    blocks = [block for message in model.requests[-1]["messages"] for block in _blocks(message)]
    texts = [block["text"] for block in blocks if OPENING in block.get("text", "")]
    return list(dict.fromkeys(text[text.index(OPENING) :].partition("</")[0].strip() for text in texts))


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


@asynccontextmanager
async def leading(setup: Setup, model: AnthropicModel, *said: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Claude Code with the plugin of this folder. `said` is the prompt, or flags that say where it comes from."""
    await claude(setup, "plugin", "marketplace", "add", str(ROOT))
    await claude(setup, "plugin", "install", "codex-mcp@codex-mcp")
    words = ["-p", *said, "--output-format", "stream-json", "--verbose", "--allowedTools", f"mcp__{SERVER}"]
    async with started(["claude", *words], setup, {"ANTHROPIC_BASE_URL": model.base_url}) as process:
        yield process


def prompt(text: str) -> bytes:
    return msgspec.json.encode({"type": "user", "message": {"role": "user", "content": text}}) + b"\n"


async def finish(process: asyncio.subprocess.Process) -> None:
    _, stderr = await process.communicate(b"")  # which ends its stdin
    assert process.returncode == 0, stderr.decode()


async def test_a_lead_that_stops_is_told_of_agents_that_work_or_ask_and_nothing_stays_uncollected(
    tmp_path: Path,
) -> None:
    async def plan(used: list[Used]) -> Say | Use | Together:
        match len(used), len(told(model)):
            case 0, _:
                held = [
                    use("codex", prompt=GATE.format(name), identity=name, background=True) for name in ("one", "two")
                ]
                return Together([*held, use("codex", prompt="[[scene: escalate]]", identity="three", **ASKS)])
            case 3, _:
                return use("codex_wait")  # until one of them asks
            case 4, 0:
                return Say("They work.")
            case 4, 1:
                (asks,) = [each["approvals"] for each in used[3].json["running"] if "approvals" in each]
                return use("codex_approvals", id=asks[0]["id"], decision="denied")
            case 5, 1:
                codex.release("gate")
                return Say("I have decided.")
            case 5, 2:
                return use("codex_wait", mode="all")
            case _:
                return Say("Done.")

    async with ScriptedModel(load_script(TOUR)) as codex, AnthropicModel(plan) as model:
        async with leading(fresh_home(tmp_path, codex), model, "Let Codex work.") as process:
            await finish(process)
        first, second = told(model)
        assert "- one still works (writing)." in first
        assert "- two still works (writing)." in first
        assert "- three asks, and waits (codex_approvals answers " in first
        assert "three asks" not in second
        answers = {each["identity"]: each["content"] for each in model.used[-1].json["finished"]}
        assert answers["one"] == "one is done."
        assert answers.keys() == {"one", "two", "three"}
        assert model.used[-1].json["running"] == []


async def test_an_answer_that_a_lead_has_left_is_named_with_the_next_prompt(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        if not used:
            return use("codex", prompt=GATE.format("one"), identity="one", background=True)
        codex.release("gate")  # no sooner: a call that finds its turn ended returns the answer
        if "finished" in used[-1].json:
            return Say("Done.")
        if len(told(model)) == 2:
            return use("codex_wait")
        has_answered = len(used) > 1 and used[-1].json["threads"]["busy"] == 0
        return Say("Later.") if has_answered else use("codex_status")

    async with ScriptedModel(load_script(TOUR)) as codex, AnthropicModel(plan) as model:
        async with leading(fresh_home(tmp_path, codex), model, "--input-format", "stream-json") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(prompt("Let Codex work."))
            while b'"type":"result"' not in await process.stdout.readline():
                pass
            process.stdin.write(prompt("And now?"))
            await finish(process)
        stopping, prompted = told(model)
        assert all("- one has answered: codex_wait collects it." in each for each in (stopping, prompted))
        assert (AFTER_STOP in stopping, AFTER_PROMPT in prompted) == (True, True)
        assert model.used[-1].json["finished"][0]["content"] == "one is done."


async def test_a_lead_that_collects_nothing_is_told_of_each_change_once_and_may_stop(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Together:
        if not used:
            return Together(
                [use("codex", prompt=GATE.format(name), identity=name, background=True) for name in ("one", "two")]
            )
        if told(model):
            codex.release("gate")
        return Say("I look at nothing.")

    async with ScriptedModel(load_script(TOUR)) as codex, AnthropicModel(plan) as model:
        async with leading(fresh_home(tmp_path, codex), model, "Let Codex work.") as process:
            await finish(process)
        texts = told(model)
        assert "- one still works (" in texts[0]
        assert "- two still works (" in texts[0]
        assert len(texts) <= 3  # both work; one of them has answered; both have
