"""Settings of a cluster that do not fit together are refused before anything starts."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.cluster import checked_cluster
from tests.support.settings import make_settings

STATE = "postgresql://localhost/x"


def settings_of(tmp_path: Path, **changed: object) -> Settings:
    path = tmp_path / "secret"
    path.write_text("0123456789abcdef" * 2)
    path.chmod(0o600)
    given = {"cluster_secret": str(path), "advertise": "https://a.example:1", "state": STATE, "port": 1}
    return make_settings(tmp_path, **(given | changed))


@pytest.mark.parametrize(
    "url", ["https://a.example:1", "https://a.example/codex", "http://127.0.0.1:5", "http://[::1]:5"]
)
def test_a_server_that_others_reach_knows_their_secret(tmp_path: Path, url: str) -> None:
    cluster = checked_cluster(settings_of(tmp_path, advertise=url))
    assert cluster is not None
    assert cluster.url == url
    assert cluster.address_in(cluster.address) == url


def test_without_a_secret_there_is_no_cluster(tmp_path: Path) -> None:
    assert checked_cluster(settings_of(tmp_path, advertise=None, cluster_secret=None)) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"advertise": "http://a.example:1"}, "give an address with https"),
        ({"advertise": "a.example:1"}, "it must be an address"),
        ({"advertise": "https://"}, "it must be an address"),
        ({"advertise": "https://a.example:x"}, "it must be an address"),
        ({"advertise": "https://a.example/?x=1"}, "it must be an address"),
        ({"port": None}, "give --port"),
        ({"cluster_secret": None}, "give --cluster-secret"),
        ({"state": None}, "give --state"),
        ({"generate_token": True}, "give --tokens"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(tmp_path: Path, changed: dict[str, object], why: str) -> None:
    with pytest.raises(Refused, match=why):
        checked_cluster(settings_of(tmp_path, **changed))
