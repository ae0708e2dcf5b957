"""A small, independent client of the wire protocol: blocking sockets, no dependencies except Python."""

import json
import socket
import struct


class Credit:
    """The credit of one direction of a stream: messages, and bytes of their frames, which may be overdrawn once."""

    def __init__(self, messages=32, size_bytes=1 << 20):
        self.messages, self.size_bytes = messages, size_bytes

    @property
    def allows(self):
        return self.messages > 0 and self.size_bytes > 0

    def take(self, size_bytes):
        self.messages, self.size_bytes = self.messages - 1, self.size_bytes - size_bytes

    def add(self, params):
        """Adds the params of a stream's `rpc.credit`."""
        self.messages, self.size_bytes = self.messages + params.get("messages", 0), self.size_bytes + params.get("bytes", 0)


class Peer:
    """One connection. Frames are JSON texts. `receive` returns the decoded value, or None if the server has closed the connection."""

    def __init__(self, port, host="127.0.0.1", timeout_s=20, tls=None, server_name=None, receive_buffer_bytes=None):
        """`tls` is an `ssl.SSLContext`; without it the connection is plaintext.

        `receive_buffer_bytes` limits the kernel's receive buffer, which otherwise grows while the peer does not read.
        """
        self.socket = socket.socket()
        self.socket.settimeout(timeout_s)
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.connect((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name or host)
        self.buffer = b""
        self.received_bytes = 0
        self.next_id = 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    @staticmethod
    def frame(value):
        body = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        return struct.pack(">I", len(body)) + body

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, value):
        """Sends a frame. Returns the length of its JSON."""
        frame = self.frame(value)
        self.send_bytes(frame)
        return len(frame) - 4

    def grant(self, identifier, messages=1, size_bytes=None):
        """Grants a stream what the last received message took, or what is given."""
        size_bytes = self.received_bytes if size_bytes is None else size_bytes
        self.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": identifier, "messages": messages, "bytes": size_bytes}})

    def grant_all(self, identifier):
        """Grants a stream as much as possible: a million messages, and 2 GiB."""
        self.grant(identifier, 1_000_000, (1 << 31) - 1 - (1 << 20))

    def _exactly(self, count):
        while len(self.buffer) < count:
            try:
                chunk = self.socket.recv(65536)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return None
            self.buffer += chunk
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive_raw(self):
        head = self._exactly(4)
        if head is None:
            return None
        self.received_bytes = struct.unpack(">I", head)[0]
        return self._exactly(self.received_bytes)

    def receive(self):
        body = self.receive_raw()
        return None if body is None else json.loads(body)

    def call(self, method, params=None, **members):
        """Makes a unary call. Returns its response frame, and discards all frames before it."""
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method, **members}
        self.next_id += 1
        if params is not None:
            request["params"] = params
        self.send(request)
        while True:
            answer = self.receive()
            if answer is None or answer.get("id") == request["id"]:
                return answer

    def hello(self, token=None, **members):
        return self.call("rpc.hello", {"versions": ["1"], "agent": "python", **({"token": token} if token else {}), **members})


def reason(answer):
    """Returns the stable reason of an error response."""
    return answer["error"]["data"]["details"][0]["reason"]
