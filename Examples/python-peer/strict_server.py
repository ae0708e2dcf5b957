"""The server of peer.py with all checks and limits of docs/wire-protocol.md, against clients that break its rules."""

import asyncio
import contextlib
import functools
import inspect
import json
import re
import time

from peer import CONNECTION_CREDIT, FRAME_MAX, FRAME_S, METADATA_KEY, STREAM_CREDIT, Connection, RPCError, Server, require

INT32_MAX, ID_MAX, NESTING_MAX, UNTRUSTED_FRAME_MAX, UNREAD_MAX = (1 << 31) - 1, (1 << 53) - 1, 64, 64 << 10, 8 << 20
CALLS_MAX, CONNECTIONS_MAX, FLOOD_MAX, FLOOD_S, BATCH_MAX = 100, 1000, 200, 30, 100
MEMBERS = {"jsonrpc", "id", "method", "params", "timeoutMs", "metadata"}
NOTIFICATIONS = {"rpc.message", "rpc.end", "rpc.credit", "rpc.cancel"}
INVALID = "INVALID_ARGUMENT"


def require_form(condition, message, reason="ENVELOPE_INVALID", **metadata):
    require(condition, INVALID, reason, message, -32600, metadata)


def field_error(reason, field, description, code=None):
    """The error of a field of a request."""
    violations = [{"field": field, "description": description, "reason": reason}]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    return RPCError(INVALID, reason, f"{field}: {description}", False, code, None, details)


def require_field(condition, reason, field, description="another form", code=None):
    if not condition:
        raise field_error(reason, field, description, code)


def streams(handler):
    """Returns whether a handler takes a stream of requests, and whether it yields a stream of responses."""
    return "requests" in inspect.signature(handler).parameters, inspect.isasyncgenfunction(handler)


def is_integer(value, least, most):
    """Returns whether JSON has this integer: 1.0 is none, and neither is true."""
    return type(value) is int and least <= value <= most


def is_id(value):
    return is_integer(value, 0, ID_MAX) or isinstance(value, str) and len(value.encode()) <= 64


class Members(dict):
    """A JSON object, and the names that occur twice in it."""

    def __init__(self, pairs=()):
        super().__init__(pairs)
        seen = set()
        self.repeated = {name for name, _ in pairs if name in seen or seen.add(name)} if len(self) < len(pairs) else seen


def decoded(body):
    """Parses JSON as strictly as the wire requires, which `json.loads` alone does not."""
    def refuse(constant):
        raise ValueError(constant)

    try:
        value = json.loads(body.decode(), object_pairs_hook=Members, parse_constant=refuse,
                           parse_int=lambda digits: int(digits) if len(digits) < 20 else float(digits))
        check(value, 1)
        return value
    except RecursionError:
        require_form(False, "nested too deeply")
    except ValueError:
        raise RPCError(INVALID, "FRAME_NOT_JSON", "the frame is not JSON", False, -32700) from None


def check(value, depth):
    """Refuses JSON that nests too deeply, and with a ValueError half of a surrogate pair."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, (dict, list)):
        require_form(depth <= NESTING_MAX, "nested too deeply")
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            check(inner, depth + 1)


class Batch:
    """The ids of a batch, and the room for results in the frame of its responses. Errors have the rest."""

    def __init__(self, frame_max):
        self.ids, self.room = set(), frame_max - min(max(frame_max // 8, 51_200), frame_max // 2)

    def respond(self, respond, **response):
        size = len(json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode())
        if size > self.room:
            error = RPCError("RESOURCE_EXHAUSTED", "RESULT_TOO_LARGE", "longer than the rest of the frame")
            return respond(id=response["id"], error=error.encoded)
        self.room -= size
        respond(**response)


class StrictConnection(Connection):
    """A connection of any client."""

    def __init__(self, reader, writer, server):
        super().__init__(reader, writer, server)
        self.batch_now, self.tasks, self.greeted, self.floods, self.closing = None, set(), False, {}, None
        self.unread_bytes = 0  # Of messages that handlers have not read, or whose bytes were not granted again yet.

    def send(self, *batch, **members):
        """Sends nothing after the end of the connection, which may already be written."""
        return 0 if self.closing else super().send(*batch, **members)

    def end(self, status, reason, message):
        """Sends an error without an id, and closes the connection."""
        self.send(id=None, error=RPCError(status, reason, message, False).encoded)
        raise EOFError

    async def run(self):
        try:
            await super().run()
        finally:
            await self.closing  # Until then, the connection counts.

    def close(self):
        for call in list(self.calls.values()):
            call.cancel(RPCError("CANCELLED", "CONNECTION_CLOSED", "the connection was closed"))
        self.closing = asyncio.create_task(self.linger())

    async def linger(self):
        """Sends the rest, and reads what still arrives. The system would otherwise discard what was sent."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(2):
                await self.writer.drain()
                if self.writer.can_write_eof():
                    self.writer.write_eof()
                while await self.reader.read(1 << 16):
                    pass
        super().close()

    async def frame(self, flags):
        try:
            async with asyncio.timeout(FRAME_S):
                length = int.from_bytes(await self.reader.readexactly(3))
                if flags != b"\0":
                    self.end(INVALID, "FRAME_FLAGS_UNKNOWN", "flags must be 0")
                if length == 0:
                    self.end(INVALID, "FRAME_EMPTY", "a frame must not be empty")
                if length > FRAME_MAX:
                    self.end("RESOURCE_EXHAUSTED", "FRAME_TOO_LARGE", f"above {FRAME_MAX} bytes")
                if length > UNTRUSTED_FRAME_MAX and not self.trusted:
                    self.end("UNAUTHENTICATED", "FRAME_NEEDS_CREDENTIAL", f"above {UNTRUSTED_FRAME_MAX} bytes")
                body = await self.reader.readexactly(length)
        except TimeoutError:
            self.end("DEADLINE_EXCEEDED", "FRAME_TOO_SLOW", f"a frame took more than {FRAME_S} s")
        try:
            frame = decoded(body)
            self.batch_now = Batch(self.frame_max) if isinstance(frame, list) else None
            require_form(self.batch_now is None or 1 <= len(frame) <= BATCH_MAX, f"a batch has 1 to {BATCH_MAX} entries")
            return frame, length
        except RPCError as error:
            self.refuse(None, error, self.send)
            return [], length

    def count(self, reason):
        """Counts an event in a window of time. One too many ends the connection."""
        now, (began, number) = time.monotonic(), self.floods.get(reason, (0, 0))
        self.floods[reason] = began, number = (began, number + 1) if now - began < FLOOD_S else (now, 1)
        if number > FLOOD_MAX:
            self.end("RESOURCE_EXHAUSTED", reason, f"more than {FLOOD_MAX} in {FLOOD_S} s")

    def refuse(self, id, error, respond):
        if error.encoded["code"] in (-32700, -32600):
            self.count("MALFORMED_FLOOD")
        respond(id=id, error=error.encoded)

    def respond_alone(self, **response):
        if "result" in response and self.writer.transport.get_write_buffer_size() > UNREAD_MAX:
            error = RPCError("RESOURCE_EXHAUSTED", "SLOW_CONSUMER", "earlier responses are unread")
            response = {"id": response["id"], "error": error.encoded}
        self.send(**response)

    def handle(self, frame, size, respond):
        """Checks a frame, or an entry of a batch. Refusals of requests without a usable id carry none."""
        id, batch = None, self.batch_now
        respond = functools.partial(batch.respond, respond) if batch else self.respond_alone
        try:
            require_form(isinstance(frame, dict), "a request must be an object")
            if "method" not in frame and frame.keys() & {"result", "error"} and not batch:
                return  # The response to a ping.
            require_form("method" in frame or not frame.keys() & {"result", "error"}, "a batch contains requests")
            require_form("id" not in frame or is_id(frame["id"]), "id must be an integer or a string of at most 64 bytes")
            id, method, params = frame.get("id"), frame.get("method"), frame.get("params", {})
            for name in frame.repeated & MEMBERS:
                require_form(False, f"the member {name} occurs twice")
            require_form(frame.get("jsonrpc") == "2.0" and isinstance(method, str) and isinstance(params, dict),
                         "a request has jsonrpc 2.0, a method, and params that are an object")
            require_form(isinstance(frame.get("metadata", {}), dict), "metadata must be an object")
            require_form(is_integer(frame.get("timeoutMs", 0), -1 << 63, (1 << 63) - 1), "timeoutMs must be an integer")
            require_form(not frame.keys() & {"result", "error"}, "a request has no result and no error")
            control = method.startswith("rpc.")
            require_form(not batch or not control or method == "rpc.ping", "rpc.ping is the only rpc. method in a batch")
            require_form(id is not None or control and method not in ("rpc.hello", "rpc.prove", "rpc.ping"),
                         "without an id a call would get no response", "ID_MISSING")
            if batch and id in batch.ids or not control and id in self.calls:
                shown, id = json.dumps(id, ensure_ascii=False), None
                require_form(False, "the id is in use", "ID_IN_USE", id=shown)
            if batch:
                batch.ids.add(id)
            if control:
                self.control(frame, method, params, size, respond)
            else:
                self.begin(frame, id, size, respond, batch)
        except RPCError as error:
            self.refuse(id, error, respond)

    def control(self, frame, method, params, size, respond):
        call = self.calls.get(params.get("id")) if is_id(params.get("id")) else None
        messages, more = params.get("messages", 0), params.get("bytes", 0)
        small = is_integer(messages, 0, 3) and is_integer(more, 0, (16 << 10) - 1)
        if method not in ("rpc.message", "rpc.end", "rpc.credit") or method == "rpc.credit" and small:
            self.count("CONTROL_FLOOD")
        require(method != "rpc.prove", "FAILED_PRECONDITION", "CHALLENGE_MISSING", "rpc.hello has sent no challenge")
        require(method != "rpc.hello" or not self.greeted, "FAILED_PRECONDITION", "HELLO_REPEATED", "rpc.hello was received")
        if method == "rpc.credit" and call:
            require_form(is_integer(messages, 0, INT32_MAX) and is_integer(more, 0, INT32_MAX) and messages + more,
                         "a credit has messages or bytes")
        if method == "rpc.message" and call:
            require_form("message" in params, "message is missing in rpc.message")
            if error := self.fault(call, params["message"]):
                return call.cancel(error)
            self.unread_bytes += size
        if method == "rpc.hello":
            # An `id` in its params is a later version's, and of no call.
            super().handle(frame | {"params": {name: one for name, one in params.items() if name != "id"}}, size, respond)
        elif method == "rpc.ping":
            respond(id=frame["id"], result={})
        elif method == "rpc.message" and not call:
            self.unread_bytes += size
            self.consume(size)
        elif method == "rpc.end" and call:
            if not call.half_closed:
                call.half_closed = True
                super().handle(frame, size, respond)
        elif method in NOTIFICATIONS and call:
            super().handle({"method": method, "params": params}, size, respond)
        elif frame.get("id") is not None and method not in NOTIFICATIONS:
            raise RPCError("UNIMPLEMENTED", "METHOD_UNKNOWN", "no such extension", False, -32601)
        if call and max(call.outgoing.values()) > INT32_MAX:
            call.cancel(RPCError(INVALID, "CREDIT_OVERFLOW", "a credit is at most 2^31 - 1"))

    def fault(self, call, message):
        """Returns the error of a message that the call cannot accept."""
        if not isinstance(message, dict):
            return RPCError(INVALID, "WRONG_TYPE", "expected an object")
        if call.half_closed:
            reason = "STREAM_HALF_CLOSED" if call.takes_stream else "STREAM_UNEXPECTED"
            return RPCError(INVALID, reason, "a message that the call does not expect")
        if self.unread_bytes >= CONNECTION_CREDIT:
            return RPCError("RESOURCE_EXHAUSTED", "CREDIT_EXCEEDED", "a message without credit of the connection")

    def consume(self, size):
        ungranted = self.consumed + size
        super().consume(size)
        self.unread_bytes -= ungranted - self.consumed

    def hello(self, params):
        self.greeted = True
        lists, credit = (params.get("versions", ["1"]), params.get("capabilities", [])), params.get("streamCredit", {})
        for name, texts in zip(("versions", "capabilities"), lists):
            require_field(isinstance(texts, list) and all(isinstance(one, str) for one in texts), "HELLO_INVALID", name)
        require_field(isinstance(credit, dict), "HELLO_INVALID", "streamCredit")
        for name, least in STREAM_CREDIT.items():
            require_field(is_integer(credit.get(name, least), least, INT32_MAX), "HELLO_INVALID", "streamCredit")
        require_field(is_integer(params.get("maxFrameBytes", FRAME_MAX), 1 << 16, 1 << 53), "HELLO_INVALID", "maxFrameBytes")
        token = {"token": str(params["token"])} if "token" in params else {}
        require(token.get("token") != "", "UNAUTHENTICATED", "TOKEN_INVALID", "the token is empty")
        result = super().hello({**params, **token})
        nonce = str(params.get("nonce", "A" * 43))
        require_field(re.fullmatch("[A-Za-z0-9_-]{43}", nonce), "NONCE_INVALID", "nonce")
        return result | {"maxConcurrentCalls": CALLS_MAX, "maxControlFrames": FLOOD_MAX, "maxMalformedRequests": FLOOD_MAX,
                         "floodWindowMs": FLOOD_S * 1000}

    def begin(self, frame, id, size, respond, batch):
        """Checks a call before its handler starts."""
        handler, metadata = self.server.handlers.get(frame["method"]), frame.get("metadata", Members())
        values = [one for found in metadata.values() for one in (found if isinstance(found, list) else [found])]
        require_field(not metadata.repeated and all(map(METADATA_KEY.fullmatch, metadata)), "METADATA_KEY_INVALID", "metadata",
                      "a key has other characters or occurs twice")
        require_field(all(isinstance(one, str) for one in values), "METADATA_VALUE_INVALID", "metadata", "a value must be text")
        require_field(len(values) <= 128 and sum(map(len, map(str.encode, [*metadata, *values]))) <= 8192,
                      "METADATA_TOO_LARGE", "metadata", "more than 8 KiB or 128 values")
        takes_stream, yields = streams(handler) if handler else (False, False)
        if self.trusted and not self.server.draining:
            require(len(self.tasks) < CALLS_MAX, "RESOURCE_EXHAUSTED", "TOO_MANY_CALLS", f"{CALLS_MAX} calls are running")
            require_field(not takes_stream or not frame.get("params"), "PARAMS_UNEXPECTED", "params", "the call has none", -32602)
            require_form(not batch or not takes_stream and not yields, "a batch contains unary calls", "STREAM_NOT_ALLOWED")
        super().handle(frame, size, respond)
        if call := self.calls.get(id):
            call.takes_stream, call.half_closed = takes_stream, not takes_stream
            # A handler counts until it has stopped, which may be after the response.
            self.tasks.add(call.task)
            call.task.add_done_callback(self.tasks.discard)


class StrictServer(Server):
    """A server for any client. It limits the number of connections."""

    def __init__(self, handlers, token=None):
        super().__init__(handlers, token, StrictConnection)

    async def accept(self, reader, writer):
        if len(self.connections) < CONNECTIONS_MAX:
            return await super().accept(reader, writer)
        error = RPCError("RESOURCE_EXHAUSTED", "TOO_MANY_CONNECTIONS", "the server is full", False)
        Connection(reader, writer).send(id=None, error=error.encoded)
        writer.close()
