from codex_mcp.execserver.methods import METHODS, URGENT, WAITING


def test_every_method_of_the_protocol_that_we_announce_is_there() -> None:
    assert len([name for name in METHODS if name.startswith("fs/")]) == 14
    assert {"process/start", "process/resize", "process/closeStdin", "environment/info"} <= set(METHODS)


def test_the_lanes_are_made_of_methods_that_exist() -> None:
    assert set(METHODS) >= URGENT
    assert set(METHODS) >= WAITING


def test_methods_without_parameters_are_those_of_the_environment() -> None:
    assert sorted(name for name, method in METHODS.items() if method.decode is None) == [
        "environment/info",
        "environment/status",
    ]
