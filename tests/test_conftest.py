"""Our own test runner, run on small suites in a pytest inside this one."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]


def outcome(pytester: pytest.Pytester, suite: str) -> pytest.RunResult:
    """Run a suite under our conftest."""
    pytester.makeconftest("from tests.conftest import nothing_left_behind, pytest_pyfunc_call\n")
    pytester.makepyfile(suite)
    return pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT}")


def test_an_async_test_passes_if_its_body_does(pytester: pytest.Pytester) -> None:
    suite = """
        import asyncio

        async def test_good():
            await asyncio.sleep(0)

        async def test_bad():
            await asyncio.sleep(0)
            assert 1 == 2
    """
    outcome(pytester, suite).assert_outcomes(passed=1, failed=1)


def test_an_async_test_takes_fixtures_and_parameters(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        async def test_good(tmp_path, number):
            assert tmp_path.exists() and number
    """
    outcome(pytester, suite).assert_outcomes(passed=2)


def test_a_property_test_may_be_async(pytester: pytest.Pytester) -> None:
    suite = """
        import asyncio
        from hypothesis import given, strategies as st

        @given(st.integers())
        async def test_good(number):
            await asyncio.sleep(0)

        @given(st.integers())
        async def test_bad(number):
            await asyncio.sleep(0)
            assert number < 10
    """
    outcome(pytester, suite).assert_outcomes(passed=1, failed=1)


def test_a_task_left_running_fails_its_test(pytester: pytest.Pytester) -> None:
    suite = """
        import asyncio

        async def test_leaky():
            test_leaky.task = asyncio.create_task(asyncio.Event().wait(), name="left-over")
    """
    result = outcome(pytester, suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tasks are left:*left-over*"])


def test_a_leak_fails_its_test_and_no_other(pytester: pytest.Pytester) -> None:
    suite = """
        import os
        left = []

        def test_leaky(tmp_path):
            left.append(os.open(tmp_path / "left", os.O_CREAT))

        def test_clean():
            os.close(left.pop())
    """
    result = outcome(pytester, suite)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*file descriptor * is left open: *left*"])
