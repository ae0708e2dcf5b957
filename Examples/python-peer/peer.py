"""A client and a server of the wire (docs/wire-protocol.md), for peers that follow it. strict_server.py checks them."""

import asyncio
import contextlib
import hmac
import inspect
import json
import re
from collections import Counter

FRAME_MAX, FRAME_S, PING_S, SILENCE_S, TIMEOUT_MS, TIMEOUT_MAX_MS = 4 << 20, 10, 60, 30, 30_000, 600_000
# The credit with which a stream begins, and what its receiver may consume before it grants the same again.
STREAM_CREDIT, UNGRANTED_MAX = Counter(messages=32, bytes=1 << 20), Counter(messages=15, bytes=(512 << 10) - 1)
CONNECTION_CREDIT, CONNECTION_GRANT, END, METADATA_KEY = 64 << 20, 1 << 20, (None, 0), re.compile("[0-9a-z_.-]+")
DEADLINE = "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "the deadline has passed"
STATUSES = """OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED
    FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED""".split()


class RPCError(Exception):
    """The error of a call. `processed` is False only if no handler has run, so that the call may be sent again."""
    def __init__(self, status, reason, message, processed=True, code=None, metadata=None, details=()):
        super().__init__(f"{status} {reason}: {message}")
        self.status, self.reason, self.message, self.processed = status, reason, message, processed
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "campanile"}
        data = {"status": status, "processed": processed, "details": [info | {"metadata": metadata or {}}, *details]}
        self.encoded = {"code": code or STATUSES.index(status), "message": message, "data": data}

    @classmethod
    def decoded(cls, error):
        data, (info, *more) = error["data"], error["data"]["details"]
        return cls(data["status"], info["reason"], error["message"], data["processed"], error["code"], info["metadata"], more)


def require(condition, status, reason, message, *code_metadata_details):
    if not condition:
        raise RPCError(status, reason, message, False, *code_metadata_details)


class Call:
    """A call on either side. Iterate over it for the messages that it receives. A client awaits its `response`."""
    def __init__(self, connection, id, timeout_s, stop):
        self.connection, self.id, self.stop, self.ended, self.error = connection, id, stop, False, None
        # Credit to send, to receive, and what was consumed but not granted again yet.
        self.outgoing, self.incoming, self.consumed = connection.credit.copy(), STREAM_CREDIT.copy(), Counter()
        self.messages, self.response = asyncio.Queue(), asyncio.get_running_loop().create_future()
        self.response.add_done_callback(lambda done: self.cancel() if done.cancelled() else done.exception())
        self.timer = asyncio.get_running_loop().call_later(timeout_s or 1e9, self.cancel, RPCError(*DEADLINE))
        connection.calls[id] = self

    async def send(self, message):
        """Sends a message of the stream once there is credit for it. Bytes may be overdrawn by one message."""
        while not self.ended and min(*self.outgoing.values(), self.connection.outgoing) <= 0:
            self.connection.changed.clear()
            await self.connection.changed.wait()
        if self.ended:
            raise self.error or RPCError("CANCELLED", "CALL_ENDED", "the call has ended")
        size = self.connection.send(method="rpc.message", params={"id": self.id, "message": message})
        self.outgoing.subtract(messages=1, bytes=size)
        self.connection.outgoing -= size
        with contextlib.suppress(OSError):  # The end of the connection also ends the call.
            await self.connection.writer.drain()

    def half_close(self):
        self.connection.send(method="rpc.end", params={"id": self.id})

    async def __aiter__(self):
        while (received := await self.messages.get()) != END:
            message, size = received
            self.connection.consume(size)
            self.consumed.update(messages=1, bytes=size)
            if not self.ended and not self.consumed <= UNGRANTED_MAX:
                self.connection.send(method="rpc.credit", params={"id": self.id, **self.consumed})
                self.incoming.update(self.consumed)
                self.consumed.clear()
            yield message
        if self.error:
            raise self.error

    def cancel(self, error=None):
        """Ends the call at once, even if its handler, on this side or the other, is slow to stop."""
        if not self.ended:
            self.stop()
            self.finish(error=error or RPCError("CANCELLED", "CANCELLED", "the caller has cancelled the call"))

    def finish(self, result=None, error=None):
        if not self.ended:
            self.ended, self.error = True, error
            self.timer.cancel()
            self.messages.put_nowait(END)
            self.connection.changed.set()
            self.connection.calls.pop(self.id, None)
            if not self.response.done():
                self.response.set_exception(error) if error else self.response.set_result(result)


class Connection:
    """One side of a connection: a server's, or the client's if there is no `server`."""
    def __init__(self, reader, writer, server=None):
        self.reader, self.writer, self.server, self.calls, self.last_id, self.refusal = reader, writer, server, {}, 0, None
        self.frame_max, self.credit, self.changed, self.consumed = FRAME_MAX, STREAM_CREDIT, asyncio.Event(), 0
        self.outgoing, self.trusted = float("inf") if server else CONNECTION_CREDIT, server and server.token is None

    def send(self, batch=None, **members):
        """Queues a frame. Returns the length of its JSON, which is what a message takes from the credit."""
        body = json.dumps(batch or {"jsonrpc": "2.0", **members}, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > self.frame_max:
            raise RPCError("RESOURCE_EXHAUSTED", "RESULT_TOO_LARGE", f"{len(body)} bytes are longer than a frame")
        self.writer.write(len(body).to_bytes(4) + body)
        return len(body)

    async def run(self):
        """Receives frames. Pings a quiet peer, and gives up one that neither responds nor reads."""
        self.writer.transport.set_write_buffer_limits(0)  # `drain` waits until everything is written.
        with contextlib.closing(self), contextlib.suppress(OSError, EOFError, json.JSONDecodeError, RecursionError):
            while True:
                try:
                    flags = await asyncio.wait_for(self.reader.readexactly(1), PING_S)
                except TimeoutError:
                    self.send(id="ping", method="rpc.ping")
                    flags = await asyncio.wait_for(self.reader.readexactly(1), SILENCE_S)
                self.receive(*await self.frame(flags))
                await asyncio.wait_for(self.writer.drain(), SILENCE_S)

    def close(self):
        self.refusal = RPCError("UNAVAILABLE", "CONNECTION_CLOSED", "the connection has ended", False)
        for call in list(self.calls.values()):
            call.cancel(RPCError("UNAVAILABLE", "CONNECTION_LOST", "the connection has ended before the response"))
        self.writer.transport.abort()

    async def frame(self, flags):
        async with asyncio.timeout(FRAME_S):
            length = int.from_bytes(await self.reader.readexactly(3))
            if flags != b"\0" or not 0 < length <= FRAME_MAX:
                raise EOFError  # Closes the connection.
            return json.loads(await self.reader.readexactly(length)), length

    def receive(self, frame, size):
        responses = []
        def respond(**members):  # To a batch: together, after the last of them.
            responses.append({"jsonrpc": "2.0", **members})
            if len(responses) == len(frame):
                self.send(responses)
        for one in frame if isinstance(frame, list) else [frame]:
            self.handle(one, size, respond if isinstance(frame, list) else self.send)
        if self.refusal and not self.calls:
            raise EOFError  # Closes the connection.

    def handle(self, frame, size, respond):
        id, method, params = frame.get("id"), frame.get("method"), frame.get("params", {})
        call = self.calls.get(params.get("id") if method and method.startswith("rpc.") else id)
        if method is None and call and not self.server:
            call.finish(frame.get("result"), RPCError.decoded(frame["error"]) if "error" in frame else None)
        elif method == "rpc.ping":
            respond(id=id, result={})
        elif method == "rpc.drain":
            self.refusal = RPCError("UNAVAILABLE", "DRAINING", "the server is shutting down", False)
        elif method == "rpc.cancel" and call:
            call.cancel()
        elif method == "rpc.end" and call:
            call.messages.put_nowait(END)
        elif method == "rpc.message" and call and min(call.incoming.values()) <= 0:
            call.cancel(RPCError("RESOURCE_EXHAUSTED", "CREDIT_EXCEEDED", "a message without credit"))
        elif method == "rpc.message" and call:
            call.incoming.subtract(messages=1, bytes=size)
            call.messages.put_nowait((params["message"], size))
        elif method == "rpc.message":
            self.consume(size)
        elif method == "rpc.credit" and call:
            call.outgoing.update(messages=params.get("messages", 0), bytes=params.get("bytes", 0))
        elif method == "rpc.credit" and "id" not in params:
            self.outgoing += params["bytes"]
        elif method is not None and self.server and id is not None:
            try:
                respond(id=id, result=self.hello(params)) if method == "rpc.hello" else self.start(frame, respond)
            except RPCError as error:
                respond(id=id, error=error.encoded)
                if method == "rpc.hello":
                    raise EOFError from None
        self.changed.set()

    def consume(self, size):
        self.consumed += size  # The bytes of messages that have left memory. A server grants them again.
        if self.server and self.consumed >= CONNECTION_GRANT:
            self.send(method="rpc.credit", params={"bytes": self.consumed})
            self.consumed = 0

    def adopt(self, hello):
        try:
            self.credit = Counter({name: hello.get("streamCredit", {}).get(name, n) + 0 for name, n in STREAM_CREDIT.items()})
            self.frame_max = min(FRAME_MAX, hello.get("maxFrameBytes", FRAME_MAX))
            self.outgoing = self.outgoing if self.server else hello.get("connectionCredit", CONNECTION_CREDIT) + 0
        except (AttributeError, TypeError):
            raise RPCError("INVALID_ARGUMENT", "HELLO_INVALID", "a limit has another form", False) from None

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, host, port, tls=None, **params):
        """Connects a client and says hello with `params`, such as `token`. Raises an RPCError or an OSError."""
        with contextlib.closing(cls(*await asyncio.open_connection(host, port, ssl=tls))) as client:
            client.task = asyncio.create_task(client.run())
            hello = await client.call("rpc.hello", {"versions": ["1"], "maxFrameBytes": FRAME_MAX, **params}, timeout_s=10)
            client.adopt(hello)
            require(hello.get("version") == "1", "FAILED_PRECONDITION", "VERSION_UNSUPPORTED", "another version")
            yield client

    def open(self, method, params=None, timeout_s=None, metadata=None, batch=None):
        """Starts a call. Give no `params` if the client streams: `send` and `half_close` follow."""
        if self.refusal:
            raise self.refusal
        self.last_id = id = self.last_id + 1
        timeout_ms = timeout_s and max(1, int(timeout_s * 1000))
        request = {"id": id, "method": method, "params": params, "metadata": metadata, "timeoutMs": timeout_ms}
        request = {name: value for name, value in request.items() if value is not None}
        self.send(**request) if batch is None else batch.append({"jsonrpc": "2.0", **request})
        return Call(self, id, timeout_s, lambda: self.send(method="rpc.cancel", params={"id": id}))

    async def call(self, method, params=None, timeout_s=30, metadata=None):
        return await self.open(method, params, timeout_s, metadata).response  # Cancelled with the task that awaits it.

    async def batch(self, requests, timeout_s=30):
        """Makes several unary calls `(method, params)` in one frame. Returns a result or an RPCError for each."""
        frame = []
        calls = [self.open(method, params, timeout_s, batch=frame) for method, params in requests]
        self.send(frame)
        return await asyncio.gather(*(call.response for call in calls), return_exceptions=True)

    def hello(self, params):
        require("1" in params.get("versions", ["1"]), "FAILED_PRECONDITION", "VERSION_UNSUPPORTED", "the server has version 1",
                None, {"versions": "1"})
        self.trusted = hmac.compare_digest(params.get("token", "").encode(), (self.server.token or "").encode())
        require(self.trusted or "token" not in params, "UNAUTHENTICATED", "TOKEN_INVALID", "the token is invalid")
        self.adopt(params)
        return {"version": "1", "agent": "python-peer", "capabilities": [], "maxFrameBytes": FRAME_MAX,
                "streamCredit": STREAM_CREDIT, "connectionCredit": CONNECTION_CREDIT}

    def start(self, frame, respond):
        """Starts the handler of a call, with the call in place of its request if it takes `requests`."""
        handler, metadata = self.server.handlers.get(frame["method"]), frame.get("metadata", {})
        require(all(map(METADATA_KEY.fullmatch, metadata)), "INVALID_ARGUMENT", "METADATA_KEY_INVALID", "a key is invalid")
        require(self.trusted, "UNAUTHENTICATED", "CREDENTIAL_MISSING", "rpc.hello has presented no token")
        require(not self.server.draining, "UNAVAILABLE", "DRAINING", "the server is shutting down")
        require(handler, "UNIMPLEMENTED", "METHOD_UNKNOWN", "the method is unknown", -32601)
        takes_stream = "requests" in inspect.signature(handler).parameters
        timeout_ms = min(frame.get("timeoutMs", TIMEOUT_MS), TIMEOUT_MAX_MS)
        unlimited = "timeoutMs" not in frame and (takes_stream or inspect.isasyncgenfunction(handler))
        require(timeout_ms > 0, *DEADLINE)
        call = Call(self, frame["id"], None if unlimited else timeout_ms / 1000, lambda: call.task.cancel())
        call.metadata = {key: value for key, value in metadata.items() if not key.startswith("campanile-")}
        call.response.add_done_callback(lambda _: self.respond(call, respond))
        call.task = asyncio.create_task(self.serve(call, handler, call if takes_stream else frame.get("params", {})))

    async def serve(self, call, handler, request):
        try:
            if not inspect.isasyncgenfunction(handler):
                return call.finish(await handler(request, call))
            async for message in handler(request, call):
                await call.send(message)
            call.finish({})
        except RPCError as error:
            call.finish(error=error)
        finally:
            call.finish(error=RPCError("INTERNAL", "INTERNAL", "the handler has failed"))  # Unless it has ended.

    def respond(self, call, respond):
        while not call.messages.empty():  # Unread messages no longer count against the connection.
            self.consume(call.messages.get_nowait()[1])
        try:
            respond(id=call.id, result=call.response.result())
        except RPCError as error:  # The call's, or RESULT_TOO_LARGE.
            respond(id=call.id, error=error.encoded)


class Server:
    """Serves `handlers`, by names such as `package.Service/Method`. With a `token`, clients present it in hello."""
    def __init__(self, handlers, token=None, kind=Connection):
        self.handlers, self.token, self.kind, self.draining, self.connections = handlers, token, kind, False, set()

    async def start(self, host="127.0.0.1", port=0, tls=None):
        self.listener = await asyncio.start_server(self.accept, host, port, ssl=tls)
        return self.listener.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        self.connections.add(connection := self.kind(reader, writer, self))
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)

    async def drain(self, timeout_s=10):
        self.draining = True  # Refuses new calls. Those that have begun finish.
        self.listener.close()
        for connection in self.connections:
            connection.send(method="rpc.drain")
        if calls := [call.response for connection in self.connections for call in connection.calls.values()]:
            await asyncio.wait(calls, timeout=timeout_s)
        await asyncio.sleep(0.2)  # Clients close first.
        for connection in self.connections:
            connection.writer.transport.abort()
