"""A client of the wire: calls, streams, batches, deadlines and cancellation on one connection."""

import asyncio

from peer_connection import (CONNECTION_CREDIT, FRAME_MAX, STREAM_CREDIT, Call, Connection, RPCError, an_object, decoded, encoded,
                                  is_integer)


class ClientCall(Call):
    """A call. Await `response` for its result, iterate over the call for the messages of a stream."""

    def __init__(self, client, id, timeout_s):
        super().__init__(client, id)
        loop = asyncio.get_running_loop()
        self.response = loop.create_future()
        self.response.add_done_callback(lambda done: done.cancelled() or done.exception())  # It may stay unread.
        late = RPCError("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", f"no response within {timeout_s} s")
        self.timer = loop.call_later(timeout_s, self.fail, late) if timeout_s else None

    def half_close(self):
        """Ends the stream of requests."""
        if not self.ended:
            self.connection.send(method="rpc.end", params={"id": self.id})

    def cancel(self):
        self.fail(RPCError("CANCELLED", "CANCELLED", "the caller has cancelled the call"))

    def fail(self, error):
        """Ends the call without a response, and stops its handler."""
        if not self.ended:
            self.connection.send(method="rpc.cancel", params={"id": self.id})
            self.finish(error=error)

    def finish(self, result=None, error=None):
        self.end(error)
        if self.timer:
            self.timer.cancel()
        if not self.response.done():
            self.response.set_exception(error) if error else self.response.set_result(result)


class Client(Connection):
    """A connection to a server. After `rpc.drain` it ends with its last call; new calls need another connection."""

    @classmethod
    async def connect(cls, host, port, tls=None, **params):
        """Connects and says hello with `params`, such as `token`. Raises an RPCError or an OSError."""
        client = cls(*await asyncio.open_connection(host, port, ssl=tls))
        client.last_id, client.refusal, client.task = 0, None, asyncio.create_task(client.run())
        try:
            params = {"versions": ["1"], "agent": "python-peer", "maxFrameBytes": FRAME_MAX, **params}
            client.hello = await client.call("rpc.hello", params, timeout_s=10)
            client.adopt(an_object(client.hello))
        except BaseException:
            await client.close()
            raise
        return client

    def adopt(self, hello):
        """Uses the limits that the server has announced."""
        def announced(members, name, default):
            return members[name] if is_integer(members.get(name), 1, 1 << 53) else default

        if hello.get("version") != "1":
            raise RPCError("FAILED_PRECONDITION", "VERSION_UNSUPPORTED", "the server has chosen another version")
        credit = an_object(hello.get("streamCredit"))
        self.peer_credit = [announced(credit, name, least) for name, least in zip(("messages", "bytes"), STREAM_CREDIT)]
        self.peer_frame_max = announced(hello, "maxFrameBytes", FRAME_MAX)
        self.outgoing = announced(hello, "connectionCredit", CONNECTION_CREDIT)

    def prepare(self, method, params=None, timeout_s=None, metadata=None):
        """Returns a call and its request, which is not sent yet."""
        if self.refusal:
            raise self.refusal
        self.last_id += 1
        members = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params, "metadata": metadata,
                   "timeoutMs": timeout_s and max(1, int(timeout_s * 1000))}
        return ClientCall(self, self.last_id, timeout_s), {name: value for name, value in members.items() if value is not None}

    def open(self, method, params=None, timeout_s=None, metadata=None):
        """Starts a call. Give no `params` if the client streams: `send` and `half_close` follow."""
        call, request = self.prepare(method, params, timeout_s, metadata)
        try:
            self.write(encoded(request))
        except RPCError as error:
            call.finish(error=error)
        return call

    async def call(self, method, params=None, timeout_s=30, metadata=None):
        """Makes a unary call. It is cancelled with the task that awaits it."""
        call = self.open(method, params, timeout_s, metadata)
        try:
            return await call.response
        finally:
            call.cancel()

    async def batch(self, requests, timeout_s=30):
        """Makes several unary calls `(method, params)` in one frame. Returns a result or an RPCError for each."""
        prepared = [self.prepare(method, params, timeout_s) for method, params in requests]
        self.write(encoded([request for _, request in prepared]))
        return await asyncio.gather(*(call.response for call, _ in prepared), return_exceptions=True)

    def receive(self, body):
        value = decoded(body)
        for frame in map(an_object, value if isinstance(value, list) else [value]):
            method, call = frame.get("method"), self.call_of(frame.get("id"))
            if method == "rpc.ping":
                self.send(id=frame.get("id"), result={})
            elif method == "rpc.drain":
                self.refusal = RPCError("UNAVAILABLE", "DRAINING", "the server is shutting down", False)
            elif method:
                self.notified(method, an_object(frame.get("params")), len(body))
            elif call and "result" in frame:
                call.finish(frame["result"])
            elif call:
                call.finish(error=RPCError.decoded(frame.get("error")))
        if self.refusal and not self.calls:
            raise EOFError

    def lost(self):
        self.refusal = RPCError("UNAVAILABLE", "CONNECTION_CLOSED", "the connection has ended", False)
        for call in list(self.calls.values()):
            call.finish(error=RPCError("UNAVAILABLE", "CONNECTION_LOST", "the connection has ended before the response"))

    async def close(self):
        self.task.cancel()
        await asyncio.wait([self.task])
