"""The last steps of a thread as single lines."""

from codex_mcp.dashboard.thread.steps import before, briefs
from codex_mcp.dashboard.views.briefs import Brief
from codex_mcp.wire.control_thread import FileStep, Look, Setup, Step, Steps

MAIL = """You have mail: 1 message. It is quoted below.
--- mail 1 ---
{"from": "arch", "text": "Use one key."}"""

STEPS = [
    Step(id="a", kind="user", text="Make refunds\nidempotent.", n=0),
    Step(id="b", kind="user", text=MAIL, n=1),
    Step(id="c", kind="ran", text="cat a", looks=[Look("read", "a")], exit_code=0, n=2),
    Step(id="d", kind="changed", files=[FileStep(path="a", added=2, removed=1)], status="completed", n=3),
    Step(id="e", kind="ran", text="make test", exit_code=1, n=4),
    Step(id="f", kind="tool", tool="atm_send", text="{}", status="failed", n=5),
    Step(id="g", kind="says", text="x" * 1000, n=6),
    Step(id="h", kind="ran", text="git push", ended=False),
]
KNOWN = Steps(thread="t", steps=STEPS, total=7, setup=Setup(sandbox="read-only", approval="on-request"))


def test_each_kind_of_step_is_one_line() -> None:
    found = briefs(KNOWN, "", 8)
    assert found[0] == Brief(icon="say", text="Make refunds idempotent.")
    assert found[1] == Brief(icon="mail", who="arch", text="Use one key.")
    assert (found[2].icon, found[2].text) == ("eye", "Read 1 file")
    assert found[3] == Brief(icon="patch", text="Changed 1 file", added=2, removed=1)
    assert found[4] == Brief(icon="run", code="make test", mark="exit 1", is_bad=True)
    assert (found[5].icon, found[5].text, found[5].is_bad) == ("mail", "atm_send", True)
    assert len(found[6].text) == 200
    assert found[7].code == "git push"


def test_what_an_agent_did_before_it_asked_leaves_out_what_it_asks_for() -> None:
    found = before(KNOWN, "", 2)
    assert [each.icon for each in found.steps] == ["mail", "think"]
    assert found.title == "What it did before (last 2 of 7 steps)"
    assert found.why == "sandbox read-only, approval policy on-request"
    assert before(KNOWN, "", 9).title == "What it did before"
    assert before(Steps(thread="t"), "", 2).why == ""
