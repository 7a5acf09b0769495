"""The configured model provider, and whether it answers."""

import socket
from pathlib import Path

import pytest

from codex_mcp.cli.doctor.provider import configured_provider


def provider(folder: Path, url: str, **environment: str) -> tuple[bool, str]:
    """Whether it is on this machine, and why it cannot be reached."""
    text = f'model_provider = "mine"\n[model_providers.mine]\nname = "x"\nbase_url = "{url}"\n'
    (folder / "config.toml").write_text(text)
    found = configured_provider(str(folder), environment)
    assert found is not None
    return found.is_local, found.silence


def test_one_that_listens_is_not_silent(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        assert provider(tmp_path, url, HTTPS_PROXY="http://127.0.0.1:9") == (True, "")
    assert provider(tmp_path, url) == (True, "Connection refused")


# This address leads to this machine, too, but does not say so.
def test_behind_a_proxy_other_machines_are_not_tried(tmp_path: Path) -> None:
    assert provider(tmp_path, "http://0.0.0.0:9/v1", https_proxy="http://127.0.0.1:9") == (False, "")
    assert provider(tmp_path, "http://0.0.0.0:9/v1")[1] != ""


@pytest.mark.parametrize("url", ["http://[::1", "nonsense", "http://127.0.0.1:99999/v1"])
def test_what_is_no_address_is_said(tmp_path: Path, url: str) -> None:
    assert provider(tmp_path, url)[1] != ""


def test_providers_that_codex_knows_have_their_addresses(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model_provider = "ollama"\n')
    found = configured_provider(str(tmp_path), {})
    assert found is not None
    assert (found.url, found.is_local) == ("http://localhost:11434/v1", True)


def test_without_a_provider_there_is_nothing_to_try(tmp_path: Path) -> None:
    assert configured_provider(str(tmp_path), {}) is None
