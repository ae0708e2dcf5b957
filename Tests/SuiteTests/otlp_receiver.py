"""A receiver of OpenTelemetry traces over HTTP, which decodes them with OpenTelemetry's own messages."""

import base64
import http.server
import json
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def decoded(body):
    """The request as a message. OTLP's JSON is ProtoJSON, except that ids are hexadecimal instead of Base64."""
    def convert(value):
        if isinstance(value, list):
            return [convert(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        result = {key: convert(entry) for key, entry in value.items()}
        for key, size in IDS.items():
            if key in result:
                identifier = bytes.fromhex(result[key])
                assert len(identifier) == size and any(identifier), (key, result[key])
                result[key] = base64.b64encode(identifier).decode()
        return result

    return json_format.Parse(json.dumps(convert(json.loads(body))), ExportTraceServiceRequest())


class Found:
    """A span with the name of the service that recorded it, and its attributes as a dictionary."""

    def __init__(self, service, span):
        assert span.name and span.start_time_unix_nano <= span.end_time_unix_nano
        self.service, self.name, self.kind = service, span.name, Span.SpanKind.Name(span.kind)
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.failed = span.status.code == 2
        self.attributes = {entry.key: entry.value.string_value for entry in span.attributes}

    def __repr__(self):
        return f"{self.service}: {self.name} {self.id} in {self.parent} {self.attributes}"


class Receiver:
    """Listens until it is closed. The first requests receive the statuses in `answers`; later ones are accepted."""

    def __init__(self, answers=()):
        self.lock, self.spans, self.faults, self.answers = threading.Lock(), [], [], list(answers)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(self.path, self.headers["Content-Type"], body)
                answer = b"{}"
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, content_type, body):
        with self.lock:
            if self.answers:
                return self.answers.pop(0)
        try:
            assert (path, content_type) == ("/v1/traces", "application/json"), (path, content_type)
            found = []
            for resource in decoded(body).resource_spans:
                names = {entry.key: entry.value.string_value for entry in resource.resource.attributes}
                found += [Found(names["service.name"], span) for scope in resource.scope_spans for span in scope.spans]
        except Exception as fault:  # reported to the test, which fails
            self.faults.append(repr(fault))
            return 400
        with self.lock:
            self.spans += found
        return 200

    def of(self, trace):
        """The spans of a trace so far."""
        assert not self.faults, self.faults
        with self.lock:
            return [span for span in self.spans if span.trace == trace]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
