"""The file with a cluster's secret."""

from pathlib import Path

import pytest

from codex_mcp.access.cluster import key_of
from codex_mcp.access.cluster_secret import LONGEST, cluster_key
from codex_mcp.base.errors import Refused

SECRET = b"0123456789abcdef" * 2


def written(path: Path, data: bytes, mode: int = 0o600) -> str:
    path.write_bytes(data)
    path.chmod(mode)
    return str(path)


def test_the_same_secret_is_the_same_key(tmp_path: Path) -> None:
    assert cluster_key(written(tmp_path / "secret", SECRET + b"\n")) == key_of(SECRET)


@pytest.mark.parametrize(
    ("data", "mode", "why"),
    [
        (SECRET, 0o640, "chmod 600"),
        (SECRET[:-1], 0o600, "openssl rand"),
        (b" " * 100, 0o600, "openssl rand"),
        (b"x" * (LONGEST + 1), 0o600, "openssl rand"),
    ],
)
def test_one_that_others_read_or_guess_is_refused(tmp_path: Path, data: bytes, mode: int, why: str) -> None:
    with pytest.raises(Refused, match=why):
        cluster_key(written(tmp_path / "secret", data, mode))


def test_one_that_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(Refused, match="correct cluster_secret"):
            cluster_key(str(path))
