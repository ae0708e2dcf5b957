"""A server of the wire. A handler is a coroutine of a request and its call, or a generator of responses."""

import asyncio
import contextlib
import hmac
import inspect
import logging
import re
import time

from peer_connection import (CONNECTION_CREDIT, CREDIT_MAX, FRAME_MAX, STREAM_CREDIT, Call, ClosingError, Connection, Members,
                                  RPCError, an_object, decoded, encoded, invalid, is_id, is_integer)

CALLS_MAX, CONNECTIONS_MAX, FLOOD_MAX, FLOOD_S, UNREAD_MAX, TIMEOUT_MS, TIMEOUT_MAX_MS = 100, 1000, 200, 30, 8 << 20, 30_000, 600_000
MEMBERS, KEY = {"jsonrpc", "id", "method", "params", "timeoutMs", "metadata"}, re.compile(r"[0-9a-z_.-]+")
HELLO = {"version": "1", "agent": "python-peer", "capabilities": [], "maxFrameBytes": FRAME_MAX, "maxConcurrentCalls": CALLS_MAX,
         "maxControlFrames": FLOOD_MAX, "maxMalformedRequests": FLOOD_MAX, "floodWindowMs": FLOOD_S * 1000,
         "streamCredit": {"messages": STREAM_CREDIT[0], "bytes": STREAM_CREDIT[1]}, "connectionCredit": CONNECTION_CREDIT}


def refusal(status, reason, message, code=None, field=None, kind=RPCError, **metadata):
    """An error of a call that no handler has seen."""
    violation = {"field": field, "description": message, "reason": reason}
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}] if field else []
    return kind(status, reason, message, False, code, details, metadata)


class FieldError(ValueError):
    """A field of a request that has another form. Handlers raise it."""

    def __init__(self, field, expected, reason="WRONG_TYPE"):
        super().__init__(f"{field}: expected {expected}")
        self.field, self.reason = field, reason


def is_small(credit):
    """Returns whether a credit counts as a control frame."""
    return is_integer(credit.get("messages", 0), 0, 3) and is_integer(credit.get("bytes", 0), 0, (16 << 10) - 1)


def streams_requests(handler):
    """Marks a handler whose request is a stream: it iterates over the call."""
    handler.streams_requests = True
    return handler


class ServerCall(Call):
    """A call and its handler. `respond` sends the response, alone or in a batch."""

    def __init__(self, connection, id, respond, metadata, handler):
        super().__init__(connection, id)
        self.respond, self.metadata, self.handler, self.timer = respond, metadata, handler, None
        self.streams_responses, self.streams_requests = inspect.isasyncgenfunction(handler), hasattr(handler, "streams_requests")
        self.half_closed = not self.streams_requests

    def start(self, params, timeout_ms):
        self.connection.running += 1
        self.task = asyncio.create_task(self.handle(self if self.streams_requests else params))
        self.task.add_done_callback(self.connection.stopped)
        if timeout_ms is not None:
            late = RPCError("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "the deadline has passed")
            self.timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self.fail, late)

    async def handle(self, request):
        try:
            if not self.streams_responses:
                return self.finish(result=await self.handler(request, self))
            async with contextlib.aclosing(self.handler(request, self)) as responses:
                async for message in responses:
                    await self.send(message)
            self.finish(result={})
        except RPCError as error:
            self.fail(error)
        except FieldError as error:
            self.fail(refusal("INVALID_ARGUMENT", error.reason, str(error), None if self.streams_requests else -32602, error.field))
        except Exception:
            logging.exception("a handler has failed")
            self.fail(RPCError("INTERNAL", "INTERNAL", "the handler has failed"))

    def receive(self, message, size):
        if not self.half_closed:
            return super().receive(message, size)
        reason = "STREAM_HALF_CLOSED" if self.streams_requests else "STREAM_UNEXPECTED"
        self.fail(RPCError("INVALID_ARGUMENT", reason, "a message that the call does not expect"))

    def end_requests(self):
        if not self.half_closed:
            self.half_closed = True
            self.messages.put_nowait((None, None))

    def finish(self, reason=None, **outcome):
        """Responds at once, even if the handler is slow to stop."""
        if self.ended:
            return
        while not self.messages.empty():  # Unread messages no longer count against the connection.
            self.connection.consumed(self.messages.get_nowait()[1] or 0)
        self.end(reason)
        if self.timer:
            self.timer.cancel()
        self.respond(self.id, **outcome)

    def fail(self, error):
        self.finish(error, error=error.encoded())
        if self.task is not asyncio.current_task():
            self.task.cancel()


class Batch:
    """The responses of a batch, which are sent together."""

    def __init__(self, connection, count):
        self.connection, self.count, self.responses, self.ids, self.size = connection, count, [], set(), 0

    def respond(self, id, **outcome):
        size, most = len(encoded(outcome)), self.connection.peer_frame_max
        if self.size + size > most - min(max(most // 8, 51_200), most // 2):  # The rest is reserved for errors.
            outcome = {"error": RPCError("RESOURCE_EXHAUSTED", "RESULT_TOO_LARGE", "longer than the rest of the frame").encoded()}
        else:
            self.size += size
        self.responses.append({"jsonrpc": "2.0", "id": id, **outcome})
        if len(self.responses) == self.count:
            self.connection.write(encoded(self.responses))


class ServerConnection(Connection):
    """A client's connection."""

    def __init__(self, server, reader, writer):
        super().__init__(reader, writer)
        self.server, self.running, self.greeted, self.trusted = server, 0, False, server.token is None
        self.incoming, self.freed, self.floods = CONNECTION_CREDIT, 0, {}
        self.frame_max = FRAME_MAX if self.trusted else 64 << 10

    def stopped(self, _):
        self.running -= 1

    def lost(self):
        for call in list(self.calls.values()):
            call.fail(RPCError("CANCELLED", "CONNECTION_CLOSED", "the connection was closed"))

    def consumed(self, size):
        self.freed += size
        if self.freed >= 1 << 20:
            self.send(method="rpc.credit", params={"bytes": self.freed})
            self.incoming, self.freed = self.incoming + self.freed, 0

    def count(self, reason):
        """Counts an event of a window of time. One too many ends the connection."""
        now, (began, number) = time.monotonic(), self.floods.get(reason, (0, 0))
        self.floods[reason] = began, number = (began, number + 1) if now - began < FLOOD_S else (now, 1)
        if number > FLOOD_MAX:
            raise refusal("RESOURCE_EXHAUSTED", reason, f"more than {FLOOD_MAX} in {FLOOD_S} s", kind=ClosingError)

    def respond(self, id, **outcome):
        if "result" in outcome and self.writer.transport.get_write_buffer_size() > UNREAD_MAX:
            outcome = {"error": RPCError("RESOURCE_EXHAUSTED", "SLOW_CONSUMER", "earlier responses are unread").encoded()}
        try:
            self.send(id=id, **outcome)
        except RPCError as error:
            self.send(id=id, error=error.encoded())

    def receive(self, body):
        try:
            value = decoded(body)
            if not isinstance(value, list):
                return self.request(value, len(body), self.respond)
            if not 1 <= len(value) <= 100:
                raise invalid("a batch has 1 to 100 entries")
        except ClosingError:
            raise
        except RPCError as error:
            return self.refuse(None, error, self.respond)
        batch = Batch(self, len(value))
        for entry in value:
            self.request(entry, 0, batch.respond, batch)

    def refuse(self, id, error, respond):
        if error.code in (-32700, -32600):
            self.count("MALFORMED_FLOOD")
        respond(id, error=error.encoded())

    def request(self, value, size, respond, batch=None):
        """Handles a frame, or an entry of a batch. Refusals of requests without a usable id carry none."""
        id = None
        try:
            if not isinstance(value, dict):
                raise invalid("a request must be an object")
            if "method" not in value and value.keys() & {"result", "error"}:
                if batch:
                    raise invalid("a batch contains requests")
                return  # The response to a ping.
            if "id" in value and not is_id(value["id"]):
                raise invalid("id must be an integer from 0 to 2^53 - 1 or a string of at most 64 bytes")
            id, method, params = value.get("id"), value.get("method"), value.get("params", {})
            for name in value.repeated & MEMBERS:
                raise invalid(f"the member {name} occurs twice")
            if value.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict):
                raise invalid("a request has jsonrpc 2.0, a method, and params that are an object")
            if not isinstance(value.get("metadata", {}), dict) or not is_integer(value.get("timeoutMs", 0), -1 << 63, (1 << 63) - 1):
                raise invalid("metadata must be an object, and timeoutMs an integer")
            if value.keys() & {"result", "error"}:
                raise invalid("a request has no result and no error")
            if batch and method.startswith("rpc.") and method != "rpc.ping":
                raise invalid("rpc.ping is the only rpc. method allowed in a batch")
            if id is None and (not method.startswith("rpc.") or method in ("rpc.hello", "rpc.prove", "rpc.ping")):
                raise invalid("without an id a call would get no response", "ID_MISSING")
            if batch and id in batch.ids or method[:4] != "rpc." and id in self.calls:
                shown, id = encoded(id).decode(), None
                raise invalid("the id is in use", "ID_IN_USE", {"id": shown})
            if batch:
                batch.ids.add(id)
            if method.startswith("rpc."):
                self.control(id, method, params, size, respond)
            else:
                self.call(id, method, params, value, respond, batch)
        except ClosingError:
            raise
        except RPCError as error:
            self.refuse(id, error, respond)

    def control(self, id, method, params, size, respond):
        call = self.call_of(params.get("id"))
        if method not in ("rpc.message", "rpc.end", "rpc.credit") or method == "rpc.credit" and is_small(params):
            self.count("CONTROL_FLOOD")
        if method == "rpc.ping":
            respond(id, result={})
        elif method == "rpc.hello":
            self.hello(id, params)
        elif method == "rpc.prove":
            raise refusal("FAILED_PRECONDITION", "CHALLENGE_MISSING", "rpc.hello has sent no challenge")
        elif method == "rpc.cancel" and call:
            call.fail(RPCError("CANCELLED", "CANCELLED", "the caller cancelled the call"))
        elif method == "rpc.end" and call:
            call.end_requests()
        elif method == "rpc.message" or method == "rpc.credit" and call:
            self.notified(method, params, size)
        elif id is not None and method not in ("rpc.cancel", "rpc.end", "rpc.credit"):
            raise refusal("UNIMPLEMENTED", "METHOD_UNKNOWN", "no such extension", -32601)

    def hello(self, id, params):
        if self.greeted:
            raise refusal("FAILED_PRECONDITION", "HELLO_REPEATED", "rpc.hello was already received")
        self.greeted = True
        try:
            self.adopt(params)
        except RPCError as error:
            self.respond(id, error=error.encoded())
            raise EOFError from None  # Closes the connection.
        self.respond(id, result=HELLO)

    def adopt(self, params):
        """Uses what the client has announced. Names that this side does not know are ignored."""
        def require(condition, field, reason="HELLO_INVALID"):
            if not condition:
                raise refusal("INVALID_ARGUMENT", reason, f"{field} has another form", field=field)

        versions, credit = params.get("versions", ["1"]), params.get("streamCredit", {})
        for name, texts in ("versions", versions), ("capabilities", params.get("capabilities", [])):
            require(isinstance(texts, list) and all(isinstance(one, str) for one in texts), name)
        credits = [an_object(credit).get(name, least) for name, least in zip(("messages", "bytes"), STREAM_CREDIT)]
        require(isinstance(credit, dict) and all(map(is_integer, credits, STREAM_CREDIT, (CREDIT_MAX,) * 2)), "streamCredit")
        require(is_integer(params.get("maxFrameBytes", FRAME_MAX), 1 << 16, 1 << 53), "maxFrameBytes")
        if "1" not in versions:
            raise refusal("FAILED_PRECONDITION", "VERSION_UNSUPPORTED", "this side has version 1", versions="1")
        if "token" in params:
            if self.server.token is None or not hmac.compare_digest(str(params["token"]).encode(), self.server.token.encode()):
                raise refusal("UNAUTHENTICATED", "TOKEN_INVALID", "the token is invalid")
            self.trusted, self.frame_max = True, FRAME_MAX
        require("nonce" not in params or re.fullmatch("[A-Za-z0-9_-]{43}", str(params["nonce"])), "nonce", "NONCE_INVALID")
        self.peer_frame_max, self.peer_credit = min(FRAME_MAX, params.get("maxFrameBytes", FRAME_MAX)), credits

    def call(self, id, name, params, value, respond, batch):
        handler, timeout_ms, metadata = self.server.handlers.get(name), value.get("timeoutMs"), value.get("metadata", Members(()))
        if timeout_ms is not None and timeout_ms <= 0:
            raise refusal("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "the deadline passed before the call arrived")
        values = [one for found in metadata.values() for one in (found if isinstance(found, list) else [found])]
        if metadata.repeated or not all(map(KEY.fullmatch, metadata)):
            raise refusal("INVALID_ARGUMENT", "METADATA_KEY_INVALID", "a key has other characters or occurs twice", field="metadata")
        if not all(isinstance(one, str) for one in values):
            raise refusal("INVALID_ARGUMENT", "METADATA_VALUE_INVALID", "a value must be text", field="metadata")
        if len(values) > 128 or sum(map(len, map(str.encode, [*metadata, *values]))) > 8192:
            raise refusal("INVALID_ARGUMENT", "METADATA_TOO_LARGE", "more than 8 KiB or 128 values", field="metadata")
        if not self.trusted:
            raise refusal("UNAUTHENTICATED", "CREDENTIAL_MISSING", "rpc.hello has presented no token")
        if self.server.draining:
            raise refusal("UNAVAILABLE", "DRAINING", "the server is shutting down")
        if self.running >= CALLS_MAX:
            raise refusal("RESOURCE_EXHAUSTED", "TOO_MANY_CALLS", f"{CALLS_MAX} calls are running")
        if handler is None:
            raise refusal("UNIMPLEMENTED", "METHOD_UNKNOWN", f"the method {name} is unknown", -32601)
        metadata = {key: found for key, found in metadata.items() if not key.startswith("campanile-")}  # Reserved for the suite.
        call = ServerCall(self, id, respond, metadata, handler)
        if call.streams_requests and params:
            call.end()
            raise refusal("INVALID_ARGUMENT", "PARAMS_UNEXPECTED", "a call that streams its requests has no params", -32602, "params")
        if batch and (call.streams_requests or call.streams_responses):
            call.end()
            raise invalid("a batch contains unary calls", "STREAM_NOT_ALLOWED")
        default_ms = None if call.streams_requests or call.streams_responses else TIMEOUT_MS
        call.start(params, default_ms if timeout_ms is None else min(timeout_ms, TIMEOUT_MAX_MS))


class Server:
    """Serves `handlers`, by names such as `package.Service/Method`. With a `token`, clients present it in `rpc.hello`."""

    def __init__(self, handlers, token=None):
        self.handlers, self.token, self.draining, self.connections = handlers, token, False, set()

    async def start(self, host="127.0.0.1", port=0, tls=None):
        """Listens. Returns the port."""
        self.listener = await asyncio.start_server(self.accepted, host, port, ssl=tls)
        return self.listener.sockets[0].getsockname()[1]

    async def accepted(self, reader, writer):
        connection = ServerConnection(self, reader, writer)
        if len(self.connections) >= CONNECTIONS_MAX:
            connection.send(id=None, error=refusal("RESOURCE_EXHAUSTED", "TOO_MANY_CONNECTIONS", "the server is full").encoded())
            return writer.close()
        self.connections.add(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)

    async def drain(self, timeout_s=10):
        """Finishes the calls that have begun, refuses others, and ends."""
        self.draining = True
        self.listener.close()
        for connection in list(self.connections):
            connection.send(method="rpc.drain")
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and any(connection.running for connection in self.connections):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)  # Clients close first.
        for connection in list(self.connections):
            connection.writer.transport.abort()
