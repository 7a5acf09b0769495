"""The addresses of resources."""

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.resources.uris import TEMPLATES, ResourceAddress, ThreadView, listed, parsed

ID = "01a1e831-dce0-70c0-9750-9b26e0022257"


@given(st.uuids().map(str), st.sampled_from(ThreadView))
def test_an_address_is_read_as_it_was_written(thread_id: str, view: ThreadView) -> None:
    address = ResourceAddress(thread_id, view)
    assert parsed(address.uri) == address


def test_other_spellings_of_an_id_mean_the_same_thread() -> None:
    assert parsed(f"codex://threads/{ID.upper()}") == ResourceAddress(ID, ThreadView.TRANSCRIPT)


def test_a_rollout_can_be_read_from_a_byte_on() -> None:
    assert parsed(f"codex://threads/{ID}/rollout?from=42") == ResourceAddress(ID, ThreadView.ROLLOUT, 42)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "codex://threads/",
        f"codex://threads/{ID}/",
        f"codex://threads/{ID}/other",
        f"codex://threads/{ID}/diff?from=1",
        f"codex://threads/{ID}?from=1",
        f"codex://threads/{ID}/rollout?from=-1",
        f"codex://threads/{ID}/rollout?from=9999999999999999",
        f"codex://threads/{ID}/../x",
        "codex://threads/../../x",
        "codex://threads/a%2fb",
        f"codex://threads/{ID}\n",
        f"file:///{ID}",
    ],
)
def test_anything_else_is_no_address(uri: str) -> None:
    assert parsed(uri) is None


def test_lists_and_templates_are_what_mcp_calls_resources() -> None:
    for entry in listed(ID, "a prompt").values():
        assert mcp_types.Resource.model_validate(entry).title
    for entry in TEMPLATES.values():
        mcp_types.ResourceTemplate.model_validate(entry)
