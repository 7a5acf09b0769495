"""The address of a model provider."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.config.providers import is_local, provider_address, shown

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.sampled_from(["model_providers", "x"]), JSON), st.text(max_size=5))
def test_whatever_a_configuration_has_there_is_an_address_or_none(config: dict[str, object], name: str) -> None:
    assert isinstance(provider_address(config, name), str)


def test_what_is_configured_comes_before_what_codex_knows() -> None:
    config = {"model_providers": {"ollama": {"base_url": "http://10.0.0.1/v1"}}}
    assert provider_address(config, "ollama") == "http://10.0.0.1/v1"
    assert provider_address({}, "ollama") == "http://localhost:11434/v1"
    assert provider_address({}, "openai") == ""


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:9/v1", True),
        ("http://[::1]/v1", True),
        ("https://llm.example/v1", False),
        ("http://[", False),
    ],
)
def test_only_an_address_of_this_machine_is_local(url: str, *, local: bool) -> None:
    assert is_local(url) is local


def test_secrets_of_an_address_are_not_shown() -> None:
    assert shown("https://me:secret@llm.example:8/v1?key=secret#x") == "https://llm.example:8/v1"
    assert shown("http://[") == ""
