"""How findings are shown."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.doctor.facts import Finding, Group, Level
from codex_mcp.cli.doctor.report import as_json, as_summary, as_text, private

WORDS = st.lists(st.text("abc~`-/.", min_size=1, max_size=15), min_size=1, max_size=40).map(" ".join)
FINDINGS = st.lists(
    st.builds(Finding, st.just("x"), st.sampled_from(Group), st.sampled_from(Level), WORDS, st.just("") | WORDS),
    min_size=1,
)
HOME = "/home/ann"


@given(FINDINGS, st.sampled_from([60, 80, 120]))
def test_the_text_fits_the_terminal_and_nothing_is_lost(findings: list[Finding], width: int) -> None:
    lines = as_text("about", findings, width).splitlines()
    assert max(map(len, lines)) < width
    assert all("".join(finding.text.split()) in "".join("".join(lines).split()) for finding in findings)


@given(FINDINGS)
def test_the_worst_comes_first_everywhere(findings: list[Finding]) -> None:
    worst = min(finding.level for finding in findings)
    mark = {Level.ERROR: "✗", Level.WARNING: "⚠", Level.OK: "✓"}[worst]
    assert as_summary(findings).startswith(mark)
    assert as_text("about", findings, None).splitlines()[3].startswith(f"  {mark} ")
    checks = as_json(findings, "1")["checks"]
    assert isinstance(checks, list)
    assert [check["level"] for check in checks] == sorted(
        (check["level"] for check in checks), key=["error", "warning", "ok"].index
    )


def test_a_finding_can_be_pasted_into_an_issue() -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 5
    finding = Finding("x", Group.CODEX, Level.OK, f"{HOME}/.codex has OPENAI_API_KEY={secret}\x1b[2J", f"rm {HOME}/x")
    shown = private(finding, [HOME])
    assert shown.fix == "rm ~/x"
    assert secret not in shown.text
    assert HOME not in shown.text
    assert "\x1b" not in shown.text


def test_only_the_home_itself_is_replaced() -> None:
    finding = Finding("x", Group.CODEX, Level.OK, "/home/ann/x /home/annabel/x /home/ann, /home/ann.bak")
    assert private(finding, [HOME]).text == "~/x /home/annabel/x ~, /home/ann.bak"


def test_a_home_that_is_the_root_is_not_replaced() -> None:
    assert private(Finding("x", Group.CODEX, Level.OK, "/usr/bin/codex"), ["/"]).text == "/usr/bin/codex"


def test_the_numbers_are_told() -> None:
    one = Finding("x", Group.CODEX, Level.ERROR, "a")
    two = Finding("x", Group.AGENTS, Level.WARNING, "b")
    fine = Finding("x", Group.CODEX, Level.OK, "c")
    assert as_summary([one, two, two]).endswith("1 error and 2 warnings.")
    assert as_summary([fine]).endswith("Everything is fine.")
