"""Who may connect, by the processes that hold a connection."""

import pytest

from codex_mcp.access.verdicts import SERVER_NAME, Circumstances, Lineage, Process, refusal, unseen

US = 100
CLIENT = Process(7, 1, "claude", 1)
SERVER = Process(US, 1, SERVER_NAME, 2)
OTHER = Process(300, 1, SERVER_NAME, 2)
CORE = Process(101, US, "codex", 3)
COMMAND = Process(102, 101, "curl\x1b[2J", 4)
INIT = Process(1, 0, "init", 0)


def test_clients_and_the_server_itself_may_connect() -> None:
    assert refusal([Lineage([CLIENT, INIT])], US) is None
    assert refusal([Lineage([SERVER])], US) is None
    assert refusal([Lineage([OTHER, INIT])], US) is None


@pytest.mark.parametrize("chain", [[CORE, SERVER], [COMMAND, CORE, SERVER], [Process(9, US, "x", 9), SERVER]])
def test_a_descendant_is_refused_whoever_else_holds_its_socket(chain: list[Process]) -> None:
    why = refusal([Lineage([CLIENT, INIT]), Lineage(chain)], US)
    assert why is not None
    assert f"process {chain[0].pid} " in why
    assert "\x1b" not in why


def test_descendants_of_other_servers_are_refused() -> None:
    chain = [COMMAND, CORE, OTHER, INIT]
    for confined in (False, True):
        assert refusal([Lineage(chain, confined)], US) is not None
        assert (refusal([Lineage(chain, confined)], US, only_confined=True) is not None) is confined


def test_a_process_in_another_namespace_is_refused() -> None:
    for confined in (False, True):
        peer = [Lineage([CLIENT, INIT], confined, is_elsewhere=True)]
        assert "sandbox or container" in (refusal(peer, US) or "")
        assert (refusal(peer, US, only_confined=True) is not None) is confined
    assert refusal([Lineage([CLIENT, INIT], is_confined=True)], US) is None


@pytest.mark.parametrize(
    ("other_user", "its_descendant", "hidden", "confined", "admitted"),
    [
        (True, False, False, True, True),
        (True, True, True, False, False),
        (False, False, False, False, False),
        (False, False, True, False, True),
        (False, False, True, True, False),
    ],
)
def test_a_socket_without_a_holder(
    *, other_user: bool, its_descendant: bool, hidden: bool, confined: bool, admitted: bool
) -> None:
    assert (unseen(Circumstances(other_user, its_descendant, hidden, confined)) is None) is admitted
