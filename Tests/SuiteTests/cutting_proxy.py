"""A TCP proxy that cuts each connection after a number of bytes of the response."""

import itertools
import socket
import struct
import threading


class CuttingProxy:
    """Forwards connections to a port. The numbers of bytes are used in turn, so that cuts are at different places."""

    def __init__(self, port, sizes):
        self.target = port
        self.sizes = itertools.cycle(sizes)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.forward, args=(caller, server, None), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, caller, next(self.sizes)), daemon=True).start()

    @staticmethod
    def forward(source, sink, left):
        try:
            while data := source.recv(4096 if left is None else min(left, 4096)):
                sink.sendall(data)
                if left is not None:
                    left -= len(data)
                    if left == 0:
                        break
        except OSError:
            pass
        for end in (source, sink):
            try:
                if left == 0:
                    # Closing then resets the connection, as a network does.
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
