"""Every request leaves one span: what it was, whose part, how it ended; and nothing of what was said."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from codex_mcp.mcp.methods import Exchange, Handler, Methods
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tracing import Tracing
from codex_mcp.rpc.errors import RequestFailed, invalid_params
from codex_mcp.wire.jsonrpc import Request
from tests.support.http.endpoints import NoTools
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import call, request, shake_hands
from tests.support.servers.mcp_session import plain_peer
from tests.support.settings import make_settings

TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER = "f" * 32
PARENT = "b7ad6b7169203331"


def traceparent(trace: str = TRACE) -> str:
    return f"00-{trace}-{PARENT}-01"


class House:
    """A server with one method, and the spans that it records."""

    def __init__(self, home: Path, handler: Handler) -> None:
        self.session = Session(plain_peer(), NoTools(), make_settings(codex_home=str(home)).calls)
        self._exporter = InMemorySpanExporter()
        self._tracing = Tracing(SimpleSpanProcessor(self._exporter))
        self._methods = Methods({"tools/call": handler, "ping": handler}, around=self._tracing.around)

    def handle(self, method: str, params: object = None, **beside: str) -> object:
        return self._methods.handle(
            self.session, Request(7, method, msgspec.Raw(msgspec.json.encode(params)), **beside)
        )

    @property
    def span(self) -> ReadableSpan:
        (span,) = self._exporter.get_finished_spans()
        return span

    @property
    def running(self) -> bool:
        return not self._exporter.get_finished_spans()


def nothing(_exchange: Exchange) -> object:
    return {}


async def test_a_call_is_told_by_its_tool_its_thread_and_its_end(tmp_path: Path) -> None:
    async def turn(_exchange: Exchange) -> object:
        return {"content": [{"text": "secret"}], "structuredContent": {"threadId": "t-1", "status": "completed"}}

    house = House(tmp_path, turn)
    work = house.handle("tools/call", {"name": "codex", "arguments": {"prompt": "secret"}})
    assert asyncio.iscoroutine(work)
    assert house.running
    assert "content" in await work
    span = house.span
    assert (span.name, span.kind, span.parent) == ("tools/call codex", SpanKind.SERVER, None)
    assert span.attributes == {
        "rpc.system": "jsonrpc",
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "codex",
        "mcp.session.id": house.session.id,
        "jsonrpc.request.id": "7",
        "codex.thread.id": "t-1",
        "codex.turn.status": "completed",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert span.resource.attributes["service.name"] == "codex-mcp"


@pytest.mark.parametrize(
    ("meta", "header", "trace"),
    [
        ({}, "", None),
        ({"traceparent": traceparent()}, "", TRACE),
        ({}, traceparent(), TRACE),
        ({"traceparent": traceparent()}, traceparent(OTHER), TRACE),
        ({"traceparent": 7}, traceparent(), TRACE),
        ({"traceparent": "nonsense"}, "", None),
        ([], "nonsense", None),
    ],
)
def test_the_parent_is_the_one_in_the_request_else_the_one_in_the_header(
    tmp_path: Path, meta: object, header: str, trace: str | None
) -> None:
    async def ping() -> ReadableSpan:
        house = House(tmp_path, nothing)
        house.handle("ping", {"_meta": meta}, traceparent=header)
        return house.span

    span = asyncio.run(ping())
    found = None if span.parent is None else f"{span.parent.trace_id:032x}"
    assert found == trace
    assert span.parent is None or f"{span.parent.span_id:016x}" == PARENT


async def test_what_goes_wrong_is_told_by_its_kind_and_not_by_its_words(tmp_path: Path) -> None:
    def refused(_exchange: Exchange) -> object:
        raise invalid_params("secret")

    async def broken(_exchange: Exchange) -> object:
        raise ValueError("secret")

    async def failed(_exchange: Exchange) -> object:
        return {"isError": True, "content": []}

    for handler, kind in ((refused, "-32602"), (broken, "ValueError"), (failed, "tool_error")):
        house = House(tmp_path, handler)
        with contextlib.suppress(RequestFailed, ValueError):
            work = house.handle("tools/call", {"name": "codex"})
            assert asyncio.iscoroutine(work)
            await work
        assert house.span.attributes is not None
        assert house.span.attributes["error.type"] == kind
        assert house.span.status.status_code is StatusCode.ERROR
        assert "secret" not in house.span.to_json()


async def test_an_unknown_method_leaves_a_span_as_well(tmp_path: Path) -> None:
    house = House(tmp_path, nothing)
    with pytest.raises(RequestFailed):
        house.handle("no/such")
    assert house.span.attributes is not None
    assert house.span.attributes["error.type"] == "-32601"


# -- a real server and a collector ------------------------------------------------------------------------------------


class Collector:
    """Takes spans over HTTP."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def spans(self) -> dict[str, str]:
        """The trace of each span, by its name."""
        return {
            span.name: span.trace_id.hex()
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                assert head.startswith(b"post /v1/traces ")
                size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                self.requests.append(ExportTraceServiceRequest.FromString(await reader.readexactly(size)))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


@contextlib.asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    server = await asyncio.start_server(collector.serve, "127.0.0.1", 0)
    async with server:
        collector.port = server.sockets[0].getsockname()[1]
        yield collector


async def test_a_server_sends_its_spans_to_the_collector(tmp_path: Path) -> None:
    async with collecting() as collector:
        endpoint = f"http://127.0.0.1:{collector.port}/"
        async with scripted_http_server(tmp_path, "--otlp-endpoint", endpoint) as (server, _model):
            door = await shake_hands(server.port)
            await door.post(request(1, "ping"), traceparent=traceparent())
            part = {"traceparent": traceparent(OTHER)}
            codex = call(2, "codex", {"prompt": "[[scene: say]]"}, _meta=part)
            assert (await door.ask("POST", codex, traceparent=traceparent())).status == 200
        assert {name: collector.spans[name] for name in ("ping", "tools/call codex")} == {
            "ping": TRACE,
            "tools/call codex": OTHER,
        }
        assert "initialize" in collector.spans


async def test_a_collector_that_is_not_there_keeps_nobody(tmp_path: Path) -> None:
    async with collecting() as collector:
        nowhere = f"http://127.0.0.1:{collector.port}"
    async with scripted_http_server(tmp_path, "--otlp-endpoint", nowhere) as (server, _model):
        door = await shake_hands(server.port)
        assert await door.post(request(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
