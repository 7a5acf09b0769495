"""An OpenTelemetry span for every request of a client; needs `codex-mcp[otel]`.

A span has the method, the tool, the thread and the outcome, and never the contents. Its parent is the `traceparent` in
the request's `_meta`, else the one in the header. This module loads slowly: import it only where traces are wanted.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Coroutine, Iterator
from threading import Thread
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from codex_mcp import __version__
from codex_mcp.mcp.session import Session
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.jsonrpc import Request

SERVICE: Final = Resource({"service.name": "codex-mcp", "service.version": __version__})

FLUSH_TIME: Final = 2.0
"""Seconds for the last spans at the end; a collector that does not answer must not hold the server up."""

_propagator: Final = TraceContextTextMapPropagator()


class _Meta(Struct):
    traceparent: object = None
    tracestate: object = None


class _Params(Struct):
    meta: _Meta = msgspec.field(default_factory=_Meta, name="_meta")
    name: object = None


class _Structured(Struct, rename="camel"):
    thread_id: str = ""
    status: str = ""


class _Result(Struct, rename="camel"):
    is_error: bool = False
    result_type: str = ""
    structured_content: _Structured = msgspec.field(default_factory=_Structured)


class Tracing:
    def __init__(self, processor: SpanProcessor) -> None:
        # OTEL_SERVICE_NAME and the like win over ours.
        self._provider = TracerProvider(resource=SERVICE.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("codex_mcp", __version__)

    def around(self, session: Session, request: Request, handle: Callable[[], object]) -> object:
        span = self._started(session, request)
        try:
            answer = handle()
        except Exception as exc:
            _end_failed(span, exc)
            raise
        if inspect.iscoroutine(answer):
            return _later(span, answer)
        _end_answered(span, answer)
        return answer

    def close(self) -> None:
        ending = Thread(target=self._provider.shutdown, name="last traces", daemon=True)
        ending.start()
        ending.join(FLUSH_TIME)

    def _started(self, session: Session, request: Request) -> Span:
        params = _read(request.params)
        attributes = {
            "rpc.system": "jsonrpc",
            "mcp.method.name": request.method,
            "mcp.session.id": session.id,
            "jsonrpc.request.id": str(request.id),
        }
        name = request.method
        if request.method == "tools/call" and isinstance(params.name, str):
            attributes["gen_ai.tool.name"] = params.name
            name = f"{name} {params.name}"
        parent = _parent(request, params.meta)
        return self._tracer.start_span(name, parent, SpanKind.SERVER, attributes)


def _read(params: Raw) -> _Params:
    try:
        return msgspec.json.decode(params, type=_Params)
    except msgspec.MsgspecError:
        return _Params()


def _parent(request: Request, meta: _Meta) -> Context:
    """The client's span. Starts from an empty context, so that no span of ours becomes the parent."""
    carrier = {"traceparent": request.traceparent}
    if isinstance(meta.traceparent, str):
        carrier = {"traceparent": meta.traceparent}
        if isinstance(meta.tracestate, str):
            carrier["tracestate"] = meta.tracestate
    return _propagator.extract(carrier, Context())


async def _later(span: Span, work: Coroutine[Any, Any, object]) -> object:
    try:
        answer = await work
    except BaseException as exc:
        _end_failed(span, exc)
        raise
    _end_answered(span, answer)
    return answer


def _end_answered(span: Span, answer: object) -> None:
    try:
        result = msgspec.convert(answer, _Result)
    except msgspec.ValidationError:
        result = _Result()
    found = {
        "mcp.result.type": result.result_type,
        "codex.thread.id": result.structured_content.thread_id,
        "codex.turn.status": result.structured_content.status,
    }
    span.set_attributes({name: value for name, value in found.items() if value})
    if result.is_error:
        span.set_attribute("error.type", "tool_error")
        span.set_status(StatusCode.ERROR)
    span.end()


def _end_failed(span: Span, exc: BaseException) -> None:
    """Record only the kind of error: its text may contain the client's data."""
    kind = str(exc.error.code) if isinstance(exc, RequestFailed) else type(exc).__name__
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
    span.end()


@contextlib.contextmanager
def traces_sent(endpoint: str) -> Iterator[Tracing]:
    """Send spans to this collector, by OTLP over HTTP, while inside."""
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    tracing = Tracing(BatchSpanProcessor(exporter))
    try:
        yield tracing
    finally:
        tracing.close()
