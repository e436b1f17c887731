"""An OpenTelemetry collector that keeps what it gets: OTLP over HTTP, decoded by the protocol's own definitions."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Seen(NamedTuple):
    """A span as it came; ids in hexadecimal."""

    name: str
    trace: str
    span: str
    parent: str
    links: tuple[str, ...]
    attributes: dict[str, str]
    seconds: float


class Collector:
    """What came so far.

    Attributes:
        url: Where to send spans to.
        spans: Every one, in the order in which they came.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Seen] = []

    def named(self, name: str) -> list[Seen]:
        """Give the spans of one name."""
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> None:
        """Keep the spans of a request."""
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [
                    Seen(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        tuple(link.span_id.hex() for link in span.links),
                        {one.key: _text(one.value) for one in span.attributes},
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    )
                    for span in scope.spans
                ]


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector on a free port of this machine while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Collector(f"http://127.0.0.1:{server.server_port}/v1/traces")
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _text(value: object) -> str:
    kind = value.WhichOneof("value")  # type: ignore[attr-defined]
    return str(getattr(value, kind))
