import pytest

from codex_mcp.execserver.sandbox.policy import (
    MINIMAL,
    SHARED_TEMP,
    CannotEnforce,
    Grant,
    HiddenPattern,
    Policy,
    policy_of,
)
from codex_mcp.wire.exec.sandbox import (
    Access,
    Disabled,
    Entry,
    EntryPath,
    External,
    GlobEntry,
    Managed,
    Network,
    PathEntry,
    Permissions,
    PolicyContext,
    ReadOnly,
    RestrictedFiles,
    Sandbox,
    Special,
    SpecialEntry,
    SpecialKind,
    UnrestrictedFiles,
    WorkspaceWrite,
)


def sandbox(permissions: Permissions, **more: object) -> Sandbox:
    fields: dict[str, object] = {"cwd": "file:///w", "workspace_roots": ["file:///w"]}
    return Sandbox(permissions, "disabled", **(fields | more))  # type: ignore[arg-type]


def entries(
    *pairs: tuple[EntryPath, Access], network: Network = Network.RESTRICTED, depth: int | None = None
) -> Managed:
    return Managed(RestrictedFiles([Entry(path, access) for path, access in pairs], depth), network)


def special(kind: SpecialKind, subpath: str | None = None) -> SpecialEntry:
    return SpecialEntry(Special(kind, subpath=subpath))


@pytest.mark.parametrize(
    ("permissions", "policy"),
    [
        (Disabled(), Policy(has_network=True)),
        (External(Network.ENABLED), Policy(has_network=True)),
        (External(Network.RESTRICTED), Policy(has_network=False)),
        (Managed(UnrestrictedFiles(), Network.RESTRICTED), Policy(has_network=False)),
        (ReadOnly(), Policy(has_network=False, grants=(Grant("/", Access.READ),))),
    ],
)
def test_simple_permissions_are_simple_policies(permissions: Permissions, policy: Policy) -> None:
    assert policy_of(sandbox(permissions), []) == policy


def test_only_no_limit_at_all_is_free() -> None:
    assert Policy(has_network=True).is_free
    assert not Policy(has_network=False).is_free
    assert not Policy(has_network=True, grants=()).is_free


def test_reading_is_free_if_everything_may_be_read_and_nothing_is_hidden() -> None:
    everything, secret = Grant("/", Access.READ), Grant("/s", Access.DENY)
    assert Policy(has_network=False, grants=(everything,)).reads_all
    assert not Policy(has_network=False, grants=(everything, secret)).reads_all
    assert not Policy(has_network=False, grants=()).reads_all


def test_places_known_by_name_become_paths() -> None:
    rules = entries(
        (special(SpecialKind.ROOT), Access.READ),
        (special(SpecialKind.PROJECT_ROOTS, ".git"), Access.READ),
        (special(SpecialKind.CURRENT_WORKING_DIRECTORY), Access.WRITE),
        (special(SpecialKind.TMPDIR), Access.WRITE),
        (special(SpecialKind.SLASH_TMP), Access.WRITE),
        (PathEntry("file:///x/"), Access.NONE),
        (special(SpecialKind.UNKNOWN), Access.WRITE),
    )
    assert policy_of(sandbox(rules), ["/t"]).grants == (
        Grant("/", Access.READ),
        Grant("/w/.git", Access.READ),
        Grant("/w", Access.WRITE),
        Grant("/t", Access.WRITE, is_temporary=True),
        Grant(SHARED_TEMP, Access.WRITE, is_temporary=True),
        Grant("/x", Access.DENY),
    )
    minimal = policy_of(sandbox(entries((special(SpecialKind.MINIMAL), Access.READ))), []).grants
    assert minimal == tuple(Grant(path, Access.READ) for path in MINIMAL)


def test_the_context_wins_over_the_older_fields() -> None:
    rules = entries((special(SpecialKind.PROJECT_ROOTS), Access.WRITE))
    for roots in ([], ["file:///r1", "file:///r2"]):
        asked = sandbox(rules, policy_context=PolicyContext("file:///c", roots), workspace_roots=["file:///old"])
        assert [f"file://{grant.path}" for grant in policy_of(asked, []).grants or ()] == roots


@pytest.mark.parametrize("roots", [None, []])
def test_without_roots_nothing_of_the_project_is_granted_but_all_of_it_can_be_denied(roots: list[str] | None) -> None:
    granted = entries((special(SpecialKind.PROJECT_ROOTS), Access.WRITE))
    assert policy_of(sandbox(granted, workspace_roots=roots), []).grants == ()
    denied = entries((special(SpecialKind.PROJECT_ROOTS, "s"), Access.DENY), (GlobEntry("*.pem"), Access.DENY))
    policy = policy_of(sandbox(denied, workspace_roots=roots), [])
    assert policy.grants == (Grant("/w/s", Access.DENY),)
    assert policy.hidden == (HiddenPattern("/w", "*.pem"),)


def test_temporary_folders_are_the_servers_and_not_what_a_client_names() -> None:
    rules = entries((special(SpecialKind.TMPDIR), Access.WRITE))
    asked = sandbox(rules, temporary_directories=["file:///home"])
    assert policy_of(asked, ["/own"]).grants == (Grant("/own", Access.WRITE, is_temporary=True),)
    assert policy_of(asked, []).grants == ()


def test_the_older_words_mean_the_project_and_temporary_folders() -> None:
    policy = policy_of(sandbox(WorkspaceWrite(["file:///more"], network_access=True)), ["/t"])
    assert policy.has_network
    assert [(grant.path, grant.access) for grant in policy.grants or ()] == [
        ("/", Access.READ),
        ("/w", Access.WRITE),
        ("/more", Access.WRITE),
        ("/t", Access.WRITE),
        (SHARED_TEMP, Access.WRITE),
    ]


@pytest.mark.parametrize(
    "rules",
    [
        entries((GlobEntry("{"), Access.DENY)),
        entries((GlobEntry("../*.pem"), Access.DENY)),
        entries((GlobEntry("*.txt"), Access.READ)),
        entries((special(SpecialKind.UNKNOWN), Access.DENY)),
        entries((special(SpecialKind.PROJECT_ROOTS, "../up"), Access.WRITE)),
        entries((PathEntry("relative"), Access.READ)),
    ],
)
def test_what_cannot_be_kept_is_refused(rules: Managed) -> None:
    with pytest.raises(CannotEnforce):
        policy_of(sandbox(rules), [])


def test_a_pattern_hides_what_matches_in_every_root() -> None:
    rules = entries((special(SpecialKind.ROOT), Access.READ), (GlobEntry("**/*.pem"), Access.DENY), depth=4)
    policy = policy_of(sandbox(rules), [])
    assert policy.hidden == (HiddenPattern("/w", "**/*.pem", 4),)
    assert not policy.reads_all
    absolute = policy_of(sandbox(entries((GlobEntry("/etc/*.key"), Access.NONE))), [])
    assert absolute.hidden == (HiddenPattern("/", "etc/*.key"),)
    with pytest.raises(CannotEnforce, match="requires cwd"):
        policy_of(sandbox(rules, cwd=None, workspace_roots=None), [])


def test_a_project_without_a_place_is_refused() -> None:
    rules = entries((special(SpecialKind.PROJECT_ROOTS), Access.WRITE))
    with pytest.raises(CannotEnforce, match="requires cwd"):
        policy_of(sandbox(rules, cwd=None, workspace_roots=None), [])
