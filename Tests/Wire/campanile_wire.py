"""A small, independent client of the wire protocol: blocking sockets, no dependencies except Python."""

import json
import socket
import struct


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
        self.send_bytes(self.frame(value))

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
        return self._exactly(struct.unpack(">I", head)[0])

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
