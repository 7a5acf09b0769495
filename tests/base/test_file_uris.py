import contextlib
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.file_uris import BadPath, ForeignPath, path_from_uri, uri_from_path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.txt", "/a/b.txt"),
        ("file:///", "/"),
        ("file:/a/b", "/a/b"),
        ("file:///a b/ü", "/a b/ü"),
        ("file:///a%20b/%C3%BC", "/a b/ü"),
        ("file:///a/../b/./c", "/b/c"),
        ("file:///a/%2e%2E/b", "/b"),
        ("file:///../../a", "/a"),
        ("file:///a/b/..", "/a"),
        ("file:///a/", "/a"),
        ("file:///a/.", "/a"),
        ("file:///a//", "/a"),
        ("/native/path/", "/native/path"),
        ("file:///a/...", "/a/..."),
        ("file:///a/.hidden", "/a/.hidden"),
        ("file://localhost/x", "/x"),
        ("FILE:///x", "/x"),
        ("file:///non%FFutf8", "/non\udcffutf8"),
        ("  file:///x\n", "/x"),
        ("/native/path", "/native/path"),
        ("/native/../a b%20", "/a b%20"),
        ("/what?#", "/what?#"),
    ],
)
def test_a_uri_is_read_as_browsers_read_it(uri: str, path: str) -> None:
    assert path_from_uri(uri) == path


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("relative.txt", "invalid URI: relative URL without a base"),
        ("", "invalid URI: relative URL without a base"),
        ("http://x/y", "unsupported path URI scheme `http`"),
        ("file:///x?q=1", "query parameters are not allowed in path URIs"),
        ("file:///x#f", "fragments are not allowed in path URIs"),
        ("file:///x/%00x", "'file:///x/%00x' is invalid on 'linux'"),
        ("file://user@host/x", "credentials and ports are not allowed in path URIs"),
        ("file://host:80/x", "credentials and ports are not allowed in path URIs"),
    ],
)
def test_what_names_no_file_is_refused(uri: str, why: str) -> None:
    with pytest.raises(BadPath) as caught:
        path_from_uri(uri)
    assert str(caught.value) == why


@pytest.mark.parametrize("uri", ["file://host/share", "file:///C:/x", "file:///c|/x"])
def test_paths_of_other_machines_are_refused_as_such(uri: str) -> None:
    with pytest.raises(ForeignPath, match=r"is invalid on 'linux'"):
        path_from_uri(uri)


part = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text not in (".", "..") and ":" not in text and "|" not in text
)


@given(st.lists(part, min_size=1))
def test_every_path_comes_back_from_its_uri(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert path_from_uri(uri_from_path(path)) == path
    assert path_from_uri(path) == path
    assert uri_from_path(path).isascii()


@given(st.lists(st.sampled_from(["a", "b.c", ".", "..", "%2e", ".x", "d%20e"])))
def test_the_short_way_and_the_long_way_agree(parts: list[str]) -> None:
    uri = "file:///" + "/".join(parts)
    assert path_from_uri(uri).rstrip("/") == path_from_uri(uri.replace("file:///", "file://localhost/")).rstrip("/")


@given(st.text())
def test_any_text_is_an_absolute_path_or_refused(text: str) -> None:
    with contextlib.suppress(BadPath):
        assert posixpath.isabs(path_from_uri(text))
