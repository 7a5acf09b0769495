"""Systems that lack what only Linux has."""

import os

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.processes.linux_features import NEEDED, check_linux


def test_linux_has_everything() -> None:
    check_linux()


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(os, name)
    with pytest.raises(Refused, match=f"this system lacks {name}; use Linux"):
        check_linux()
