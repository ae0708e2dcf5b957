"""The common part of clients and servers of the wire: frames, errors, calls with their streams, keepalive."""

import asyncio
import contextlib
import json
import math
import time

FRAME_MAX, FRAME_S, PING_S, SILENCE_S, NESTING_MAX = 4 << 20, 10, 60, 30, 64
STREAM_CREDIT, CONNECTION_CREDIT, GRANT, CREDIT_MAX = (32, 1 << 20), 64 << 20, (16, 512 << 10), (1 << 31) - 1
STATUSES = """OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED
              FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED""".split()


class RPCError(Exception):
    """The error of a call. `processed` is False only if no handler has run, so that the call may be sent again."""

    def __init__(self, status, reason, message="", processed=True, code=None, details=(), metadata=None):
        super().__init__(f"{status} {reason}: {message}")
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "campanile", "metadata": metadata or {}}
        self.status, self.reason, self.message, self.processed = status, reason, message, processed
        self.code, self.details = code or STATUSES.index(status), [info, *details]

    def encoded(self):
        return {"code": self.code, "message": self.message,
                "data": {"status": self.status, "processed": self.processed, "details": self.details}}

    @classmethod
    def decoded(cls, error):
        """Accepts whatever a peer has sent."""
        data = an_object(an_object(error).get("data"))
        details = [one for one in data["details"] if isinstance(one, dict)] if isinstance(data.get("details"), list) else []
        status = data["status"] if data.get("status") in STATUSES[1:] else "UNKNOWN"
        reason, message = an_object(details[0] if details else None).get("reason"), an_object(error).get("message")
        found = cls(status, str(reason), str(message), data.get("processed") is not False)
        found.details = details
        return found


class ClosingError(RPCError):
    """An error after which the connection closes."""


def invalid(message, reason="ENVELOPE_INVALID", metadata=None):
    return RPCError("INVALID_ARGUMENT", reason, message, False, -32600, metadata=metadata)


def an_object(value):
    return value if isinstance(value, dict) else {}


def is_integer(value, least, most):
    """Returns whether JSON has this integer: 1.0 is none, and neither is true."""
    return type(value) is int and least <= value <= most


def is_id(value):
    return is_integer(value, 0, (1 << 53) - 1) or isinstance(value, str) and len(value.encode()) <= 64


def encoded(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


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
        raise invalid("nested too deeply") from None
    except ValueError:
        raise RPCError("INVALID_ARGUMENT", "FRAME_NOT_JSON", "the frame is not JSON", False, -32700) from None


class Members(dict):
    """A JSON object, and the names that occur twice in it."""

    def __init__(self, pairs):
        super().__init__(pairs)
        seen = set()
        self.repeated = {name for name, _ in pairs if name in seen or seen.add(name)} if len(self) < len(pairs) else seen


def check(value, depth):
    """Refuses JSON that nests too deeply, and with a ValueError half of a surrogate pair."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, (dict, list)):
        if depth > NESTING_MAX:
            raise invalid("nested too deeply")
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            check(inner, depth + 1)


class Call:
    """A call on either side, with its streams. Iteration yields the received messages."""

    def __init__(self, connection, id):
        self.connection, self.id, self.error, self.ended = connection, id, None, False
        # Credit is messages and bytes: to send, to receive, and consumed but not granted again yet.
        self.outgoing, self.incoming, self.consumed = list(connection.peer_credit), list(STREAM_CREDIT), [0, 0]
        self.messages = asyncio.Queue()
        connection.calls[id] = self

    async def send(self, message):
        """Sends a message of the stream once there is credit for it. Bytes may be overdrawn by one message."""
        while not self.ended and min(*self.outgoing, self.connection.outgoing) <= 0:
            await self.connection.changed.wait()
        if self.ended:
            raise self.error or RPCError("CANCELLED", "CALL_ENDED", "the call has ended")
        size = self.connection.send(method="rpc.message", params={"id": self.id, "message": message})
        self.outgoing[0] -= 1
        self.outgoing[1] -= size
        self.connection.outgoing -= size
        try:
            await self.connection.writer.drain()
        except OSError:
            raise RPCError("UNAVAILABLE", "CONNECTION_LOST", "the connection has ended") from None

    def receive(self, message, size):
        """Queues a message until the application reads it. The credit limits the queue."""
        if min(*self.incoming, self.connection.incoming) <= 0:
            return self.fail(RPCError("RESOURCE_EXHAUSTED", "CREDIT_EXCEEDED", "a message without credit"))
        self.incoming[0] -= 1
        self.incoming[1] -= size
        self.connection.incoming -= size
        self.messages.put_nowait((message, size))

    def granted(self, messages, size):
        self.outgoing[0] += messages
        self.outgoing[1] += size
        if max(self.outgoing) > CREDIT_MAX:
            self.fail(RPCError("INVALID_ARGUMENT", "CREDIT_OVERFLOW", "a credit is at most 2^31 - 1"))

    def __aiter__(self):
        return self

    async def __anext__(self):
        message, size = await self.messages.get()
        if size is None:
            self.messages.put_nowait((None, None))
            raise self.error or StopAsyncIteration
        self.connection.consumed(size)
        self.consumed = [self.consumed[0] + 1, self.consumed[1] + size]
        if not self.ended and (self.consumed[0] >= GRANT[0] or self.consumed[1] >= GRANT[1]):
            self.connection.send(method="rpc.credit", params={"id": self.id, "messages": self.consumed[0], "bytes": self.consumed[1]})
            self.incoming, self.consumed = [have + more for have, more in zip(self.incoming, self.consumed)], [0, 0]
        return message

    def end(self, error=None):
        """Forgets the call. Its sender and its reader learn of the end."""
        self.ended, self.error = True, error
        self.connection.calls.pop(self.id, None)
        self.messages.put_nowait((None, None))
        self.connection.wake()


class Connection:
    """One side of a connection. Subclasses define `receive` and `lost`."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.calls = reader, writer, {}
        self.frame_max, self.peer_frame_max, self.peer_credit = FRAME_MAX, FRAME_MAX, STREAM_CREDIT
        self.outgoing = self.incoming = math.inf  # The connection's credit in bytes, which limits a client's messages only.
        self.changed, self.heard, self.pinged = asyncio.Event(), time.monotonic(), False

    def wake(self):
        """Wakes the senders that wait for credit."""
        self.changed.set()
        self.changed = asyncio.Event()

    def send(self, **members):
        return self.write(encoded({"jsonrpc": "2.0", **members}))

    def write(self, body):
        """Queues a frame. Returns its length, which is what it takes from the credit."""
        if len(body) > self.peer_frame_max:
            raise RPCError("RESOURCE_EXHAUSTED", "RESULT_TOO_LARGE", f"{len(body)} bytes are longer than a frame may be")
        self.writer.write(len(body).to_bytes(4) + body)
        return len(body)

    def consumed(self, size):
        """Reports that a streamed message has left memory."""

    async def frame(self):
        flags = await self.reader.readexactly(1)
        try:
            async with asyncio.timeout(FRAME_S):
                length = int.from_bytes(await self.reader.readexactly(3))
                if flags != b"\0":
                    raise ClosingError("INVALID_ARGUMENT", "FRAME_FLAGS_UNKNOWN", "flags must be 0", False)
                if length == 0:
                    raise ClosingError("INVALID_ARGUMENT", "FRAME_EMPTY", "a frame must not be empty", False)
                if length > FRAME_MAX:
                    raise ClosingError("RESOURCE_EXHAUSTED", "FRAME_TOO_LARGE", f"above {FRAME_MAX} bytes", False)
                if length > self.frame_max:
                    raise ClosingError("UNAUTHENTICATED", "FRAME_NEEDS_CREDENTIAL", f"above {self.frame_max} bytes", False)
                return await self.reader.readexactly(length)
        except TimeoutError:
            raise ClosingError("DEADLINE_EXCEEDED", "FRAME_TOO_SLOW", f"a frame took more than {FRAME_S} s", False) from None

    async def run(self):
        """Receives frames until the connection ends."""
        keeper = asyncio.create_task(self.keep_alive())
        self.writer.transport.set_write_buffer_limits(0)  # `drain` waits until everything is written.
        try:
            while True:
                body = await self.frame()
                self.heard, self.pinged = time.monotonic(), False
                self.receive(body)
                await self.writer.drain()  # The next requests of a peer that does not read its responses wait.
        except ClosingError as error:
            self.send(id=None, error=error.encoded())
        except (OSError, EOFError, RPCError):
            pass
        finally:
            keeper.cancel()
            self.lost()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(2):  # Unread bytes would make the system discard what was sent.
                    await self.writer.drain()
                    if self.writer.can_write_eof():
                        self.writer.write_eof()
                    while await self.reader.read(1 << 16):
                        pass
            self.writer.transport.abort()

    async def keep_alive(self):
        """Pings a quiet peer, and gives up one that neither responds nor reads."""
        while True:
            await asyncio.sleep(1)
            quiet_s = time.monotonic() - self.heard
            if quiet_s > PING_S + SILENCE_S:
                self.writer.transport.abort()
            elif quiet_s > PING_S and not self.pinged:
                self.pinged = True
                self.send(id="ping", method="rpc.ping")

    def call_of(self, id):
        return self.calls.get(id) if is_id(id) else None

    def notified(self, method, params, size):
        """Handles the notifications that both sides send."""
        call = self.call_of(params.get("id"))
        if method == "rpc.message" and not call:
            self.consumed(size)
        elif method == "rpc.message" and "message" not in params:
            raise invalid("message is missing in rpc.message")
        elif method == "rpc.message" and not isinstance(params["message"], dict):
            call.fail(RPCError("INVALID_ARGUMENT", "WRONG_TYPE", "expected an object"))
        elif method == "rpc.message":
            call.receive(params["message"], size)
        elif method == "rpc.credit" and (call or "id" not in params):
            messages, more = params.get("messages", 0), params.get("bytes", 0)
            if not (is_integer(messages, 0, CREDIT_MAX) and is_integer(more, 0, CREDIT_MAX) and messages + more):
                raise invalid("a credit has messages or bytes")
            if call:
                call.granted(messages, more)
            else:
                self.outgoing += more
            self.wake()
