import msgspec
import pytest

from codex_mcp.wire.exec.sandbox import (
    Access,
    Disabled,
    Entry,
    External,
    GlobEntry,
    Managed,
    Network,
    PathEntry,
    Permissions,
    RestrictedFiles,
    Sandbox,
    Special,
    SpecialEntry,
    SpecialKind,
    UnrestrictedFiles,
)


def test_the_object_that_codex_sends_is_read() -> None:
    entries = [
        {"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"},
        {"path": {"type": "path", "path": "file:///x"}, "access": "write"},
        {"path": {"type": "glob_pattern", "pattern": "*.pem"}, "access": "deny"},
    ]
    permissions = {
        "type": "managed",
        "file_system": {"type": "restricted", "entries": entries},
        "network": "restricted",
    }
    sent = {"permissions": permissions, "cwd": "file:///w", "windowsSandboxLevel": "disabled"}
    assert msgspec.convert(sent, Sandbox) == Sandbox(
        Managed(
            RestrictedFiles(
                [
                    Entry(SpecialEntry(Special(SpecialKind.ROOT)), Access.READ),
                    Entry(PathEntry("file:///x"), Access.WRITE),
                    Entry(GlobEntry("*.pem"), Access.DENY),
                ]
            ),
            Network.RESTRICTED,
        ),
        "disabled",
        cwd="file:///w",
    )


@pytest.mark.parametrize(
    ("sent", "permissions"),
    [
        ({"type": "disabled"}, Disabled()),
        ({"type": "external", "network": "enabled"}, External(Network.ENABLED)),
        (
            {"type": "managed", "file_system": {"type": "unrestricted"}, "network": "restricted"},
            Managed(UnrestrictedFiles(), Network.RESTRICTED),
        ),
    ],
)
def test_the_other_permissions_are_read(sent: dict[str, object], permissions: Permissions) -> None:
    assert msgspec.convert({"permissions": sent, "windowsSandboxLevel": "disabled"}, Sandbox).permissions == permissions


def test_a_word_that_nobody_knows_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"permissions": {"type": "loose"}, "windowsSandboxLevel": "disabled"}, Sandbox)
