import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.versions.measured import MEASURED, is_fit, is_old, listed, parse_version, shown
from tests.support.versions_page import npm, pypi


@given(st.tuples(*[st.integers(0, 999)] * 3), st.sampled_from(["", "-alpha.3", "-linux-x64", "\n"]))
def test_a_version_is_read_whatever_stands_around_it(version: tuple[int, int, int], tail: str) -> None:
    assert parse_version(f"codex-cli {shown(version)}{tail}") == version


@pytest.mark.parametrize("text", ["", "codex", "0.1", "v1.x.2"])
def test_a_text_without_a_version_has_none(text: str) -> None:
    assert parse_version(text) is None


def test_a_version_is_fit_if_it_was_measured_and_everything_works_in_it() -> None:
    assert [is_fit(row.version) for row in MEASURED] == [not row.exceptions for row in MEASURED]
    assert not is_fit((0, 163, 1))
    assert sorted(row.version for row in MEASURED) == [row.version for row in MEASURED]


def test_ci_runs_with_the_oldest_and_the_newest_version() -> None:
    """The oldest is the one that is installed with us: all acceptance tests run with it."""
    fit = [shown(row.version) for row in MEASURED if not row.exceptions]
    assert (fit[0], fit[-1]) == (pypi("openai-codex-cli-bin"), npm("codex-new"))


def test_versions_with_mcp_server_are_old() -> None:
    assert [is_old(version) for version in ((0, 102, 9), (0, 103, 0), (0, 153, 4), (0, 154, 0))] == [
        False,
        True,
        True,
        False,
    ]


def test_versions_are_listed_as_a_sentence_does() -> None:
    assert listed([(0, 1, 2)]) == "0.1.2"
    assert listed([(0, 1, 2), (0, 3, 0), (1, 0, 0)]) == "0.1.2, 0.3.0 and 1.0.0"
