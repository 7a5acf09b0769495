"""Each failure is a sentence that names the server."""

from codex_mcp.control import failures
from codex_mcp.control.failures import Why


def test_each_failure_names_the_server_and_its_kind() -> None:
    server = "server process 4711"
    found = [
        failures.ended(server),
        failures.no_socket(server),
        failures.no_access(server, "Permission denied"),
        failures.silent(server, 2.0),
        failures.refused(server, "you are \x1b[31m user 2"),
        failures.lost(server),
        failures.no_way(server, "https://agents-2.example", "no \x1b route"),
        failures.too_old(server),
    ]
    assert all(server in str(each) for each in found)
    whys = [Why.ENDED, Why.NO_SOCKET, Why.REFUSED, Why.SILENT, Why.REFUSED, Why.LOST, Why.NO_SOCKET, Why.REFUSED]
    assert [each.why for each in found] == whys
    assert all(str(each).isprintable() for each in found)
