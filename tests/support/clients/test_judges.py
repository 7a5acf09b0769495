"""A judge that is not installed says how to get it; it is never skipped."""

import pytest

from tests.support.clients.judges import judge, package


def test_a_missing_client_is_a_failure_that_says_how_to_install_it() -> None:
    with pytest.raises(AssertionError, match="is not installed; say `make judges`"):
        judge("no-such-client")
    with pytest.raises(AssertionError, match="is not installed; say `make judges`"):
        package("no-such-package")
