"""Paths as URIs, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execclient.errors import ExecServerError
from codex_mcp.execclient.uris import file_path, file_uri


def test_a_path_becomes_a_uri_and_a_uri_stays_one() -> None:
    assert file_uri("/srv/a b/ü%.txt") == "file:///srv/a%20b/%C3%BC%25.txt"
    assert file_uri("file:///srv/x") == "file:///srv/x"


def test_a_relative_path_is_refused_because_nobody_knows_what_it_is_relative_to() -> None:
    with pytest.raises(ExecServerError, match="relative"):
        file_uri("src/x")


def test_other_uris_are_no_paths() -> None:
    with pytest.raises(ExecServerError, match="no file: URI"):
        file_path("https://example.com/x")


@given(st.binary(max_size=40))
def test_any_name_survives_the_way_there_and_back(name: bytes) -> None:
    path = "/" + name.decode("utf-8", "surrogateescape")
    assert file_path(file_uri(path)) == path
