"""What registry.json says, in both versions."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.team.agent import Agent, AgentState, AgentStatus, Holder, Owner
from codex_mcp.team.records.registry_text import parse_registry, registry_text, revision_of

VERSION_1 = {
    "version": 1,
    "sessions": [
        {
            "agent_id": "codex:5f0d2b0e-1111-4222-8333-944455556666",
            "identity": "codex-1",
            "team": "alpha",
            "thread_id": "01a1dcb0-5e0e-7373-86f1-bb882b5e21a5",
            "cwd": "/srv/alpha",
            "repo_root": "/srv/alpha",
            "repo_name": None,
            "branch": "main",
            "started_at": "2025-11-15T10:00:00Z",
            "last_active": "2025-11-15T10:05:00Z",
            "status": "stale",
            "thread_state": "idle",
            "agent_source": ".claude/agents/dev.md",
        }
    ],
}

times = st.integers(min_value=0, max_value=4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
texts = st.text('abc é"\\\n/.<>', max_size=12)
maybe = st.one_of(st.none(), texts)
agents = st.builds(
    Agent,
    codex_id=st.from_regex("codex:[0-9a-f]{12}", fullmatch=True),
    identity=st.from_regex("[a-z0-9][a-z0-9-]{0,20}", fullmatch=True),
    team=texts,
    cwd=texts,
    started_at=times,
    last_active=times,
    thread_id=maybe,
    repo_root=maybe,
    repo_name=maybe,
    branch=maybe,
    status=st.sampled_from(AgentStatus),
    thread_state=st.sampled_from(AgentState),
    tag=maybe,
    role=maybe,
    agent_source=maybe,
    principal=texts,
    turns=st.integers(0, 10**6),
    tokens=st.integers(0, 10**12),
    last_error=maybe,
    backend=texts,
    auto_mail=st.booleans(),
    owner=st.one_of(st.none(), st.builds(Owner, node=texts, pid=st.integers(1, 10**7), host=texts)),
)
teams = st.lists(agents, max_size=5, unique_by=lambda agent: agent.codex_id)


def agent(**changes: object) -> Agent:
    plain = Agent(codex_id="codex:0123456789ab", identity="arch", team="t", cwd="/srv", started_at=1.0, last_active=2.0)
    return msgspec.structs.replace(plain, **changes)


@given(teams, st.integers(0, 10**9), times)
def test_what_is_written_is_read(team: list[Agent], revision: int, now: float) -> None:
    text = registry_text(team, revision, now)
    read = parse_registry(text)
    assert sorted(read.agents, key=lambda each: each.codex_id) == sorted(team, key=lambda each: each.codex_id)
    assert (read.revision, read.warnings, revision_of(text)) == (revision, (), revision)


@given(teams, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_who_wrote(team: list[Agent], random: object) -> None:
    shuffled = list(team)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert registry_text(shuffled, 1, 0) == registry_text(team, 1, 0)


def test_how_it_looks() -> None:
    whole = json.loads(
        registry_text([agent(owner=Owner(node="n", pid=7, host="h"), holder=Holder(7, "h", "mark"))], 3, 1_763_200_800)
    )
    assert (whole["version"], whole["revision"], whole["written_at"]) == (2, 3, "2025-11-15T10:00:00.000Z")
    (entry,) = whole["sessions"]
    assert list(entry)[:4] == ["codex_id", "identity", "team", "cwd"]
    assert entry["started_at"] == "1970-01-01T00:00:01.000Z"
    assert entry["owner"] == {"node": "n", "pid": 7, "host": "h"}
    assert "holder" not in entry


def test_how_the_thread_was_set_up_is_not_shown_and_secrets_in_errors_are_masked() -> None:
    text = registry_text([agent(spec=ThreadSpec(base_instructions="hush"), last_error="refused: Bearer abc.def")], 1, 0)
    assert b"hush" not in text
    assert b"spec" not in text
    assert b"abc.def" not in text


def test_secrets_in_what_a_caller_chose_are_masked_and_ids_are_not() -> None:
    secret = "glpat-abcdefghij0123456789"
    chosen = {"cwd": f"/home/me/{secret}", "branch": f"fix/{secret}", "tag": f"a\n{secret}", "repo_root": f"/{secret}"}
    text = registry_text([agent(identity="sk-refactoring-helper", **chosen)], 1, 0)
    assert secret.encode() not in text
    (entry,) = json.loads(text)["sessions"]
    assert (entry["cwd"], entry["branch"], entry["tag"]) == ("/home/me/****", "fix/****", "a\n****")
    assert entry["identity"] == "sk-refactoring-helper"


def test_version_1_is_read() -> None:
    read = parse_registry(json.dumps(VERSION_1).encode())
    (old,) = read.agents
    assert old.codex_id == "codex:5f0d2b0e-1111-4222-8333-944455556666"
    assert (old.identity, old.team, old.branch, old.repo_name) == ("codex-1", "alpha", "main", None)
    assert (old.started_at, old.last_active) == (1_763_200_800.0, 1_763_201_100.0)
    assert (old.status, old.thread_state, old.agent_source) == (
        AgentStatus.STALE,
        AgentState.IDLE,
        ".claude/agents/dev.md",
    )


def test_a_later_version_is_read_as_far_as_it_goes() -> None:
    whole = json.loads(registry_text([agent()], 1, 0))
    whole |= {"version": 3, "weather": "fine"}
    whole["sessions"][0] |= {"mood": ["good"], "codex_id": "codex:ffffffffffff"}
    assert parse_registry(json.dumps(whole).encode()).agents == (agent(codex_id="codex:ffffffffffff"),)


@pytest.mark.parametrize(
    "change",
    [{"identity": "../up"}, {"identity": 7}, {"status": "asleep"}, {"started_at": 5}, {"last_active": "noon"}],
)
def test_one_odd_entry_hides_no_other(change: dict[str, object]) -> None:
    whole = json.loads(registry_text([agent(), agent(codex_id="codex:ffffffffffff")], 1, 0))
    whole["sessions"][0] |= change
    whole["sessions"].append("no entry at all")
    read = parse_registry(json.dumps(whole).encode())
    assert [each.codex_id for each in read.agents] == ["codex:ffffffffffff"]
    assert ["entry 1" in read.warnings[0], "entry 3" in read.warnings[1]] == [True, True]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"{",
        b'{"sessions":{}}',
        b'{"revision":-1}',
        b'{"revision":1e18}',
        b'{"sessions":' + b"[" * 99999,
    ],
)
def test_what_is_no_registry_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - msgspec's texts are not ours
        parse_registry(data)


@given(st.binary(max_size=200))
def test_nothing_else_is_ever_raised(data: bytes) -> None:
    for read in (parse_registry, revision_of):
        try:
            read(data)
        except ValueError:
            continue


@given(teams, st.data())
def test_a_file_cut_anywhere_is_no_registry(team: list[Agent], data: st.DataObject) -> None:
    text = registry_text(team, 1, 0).rstrip()
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(ValueError):  # noqa: PT011
        parse_registry(cut)
