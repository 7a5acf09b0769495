"""The table of `make codex`, from what pytest and Codex wrote."""

from collections import Counter

from tests.versions.report import Report, Suite, rollout_version, suite_from

RUN = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_one"/>
<testcase classname="tests.a" name="test_two[x]"><failure/></testcase>
<testcase classname="tests.a" name="test_three"><error/></testcase>
</testsuite></testsuites>"""

AGAIN = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_two[x]"/>
<testcase classname="tests.a" name="test_three"><failure/></testcase>
</testsuite></testsuites>"""

NOTHING = "<testsuites><testsuite/></testsuites>"


def test_what_passes_alone_has_passed() -> None:
    assert suite_from("a", RUN, AGAIN) == Suite("a", 2, ("tests.a::test_three",), ("tests.a::test_two[x]",))


def test_what_did_not_run_again_has_failed() -> None:
    assert suite_from("a", RUN, NOTHING) == Suite("a", 1, ("tests.a::test_two[x]", "tests.a::test_three"))


def test_a_version_is_fit_if_everything_passed_and_it_really_ran() -> None:
    good, bad = Suite("a", 3, ()), Suite("b", 3, ("t",))
    assert Report("1.2.3", [good], Counter({"1.2.3": 1}), []).is_fit
    assert not Report("1.2.3", [good, bad], Counter({"1.2.3": 1}), []).is_fit
    assert not Report("1.2.3", [good], Counter({"1.2.4": 9}), []).is_fit
    assert Report("1.2.3", [good], Counter({"1.2.3": 1, "0.153.4": 1}), []).is_fit
    assert not Report("1.2.3", [good], Counter({"1.2.3": 1, "1.2.4": 1}), []).is_fit
    assert not Report("1.2.3", [Suite("a", 0, ())], Counter({"1.2.3": 1}), []).is_fit


def test_the_table_begins_with_the_verdict_and_names_what_failed() -> None:
    suites = [Suite("acceptance", 7, ("t::one",), ("t::two",))]
    text = Report("1.2.3", suites, Counter({"1.2.3": 5, "0.153.4": 1}), ["it has no notification x"]).text()
    assert text.splitlines()[0] == "Codex 1.2.3: NOT FIT"
    for line in (
        "| acceptance | 7 | 1 |",
        "| Codex 1.2.3 | 5 |",
        "- failed: t::one",
        "- passed only alone: t::two",
        "- differs from our own in: it has no notification x",
    ):
        assert line in text.splitlines()


def test_the_first_line_of_a_rollout_file_has_the_version() -> None:
    assert rollout_version(b'{"type":"session_meta","payload":{"cli_version":"0.169.0"}}\n') == "0.169.0"
    for line in (b"", b"{", b"[]", b'{"payload":{}}', b'{"payload":{"cli_version":1}}'):
        assert rollout_version(line) is None
