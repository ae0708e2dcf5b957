"""An HTTP server for tests of outgoing requests. Prints its port, then one JSON line for each request it receives.

Usage: action_server.py [CERTIFICATE KEY]; exits after a line of standard input, or at its end, and prints an empty line.

/status/N responds with N; /redirect/N?to=URL redirects; /chain/N redirects N times; /slow never responds; /drip sends
headers but never a body; /large sends a body of 10 MiB; /later responds with 429 and Retry-After; /garbage sends no
HTTP; /close closes the connection; all others respond with 200.
"""

import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        told = {"method": self.command, "path": self.path, "headers": headers, "body": body.decode()}
        print(json.dumps(told), flush=True)
        words = parts.path.strip("/").split("/")
        if words[0] == "status":
            self.reply(int(words[1]))
        elif words[0] == "redirect":
            self.reply(int(words[1]), {"Location": parse_qs(parts.query)["to"][0]})
        elif words[0] == "chain":
            left = int(words[1])
            self.reply(302 if left else 200, {"Location": f"/chain/{left - 1}"} if left else {})
        elif words[0] == "slow":
            time.sleep(3600)
        elif words[0] == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.flush()
            time.sleep(3600)
        elif words[0] == "large":
            self.reply(200, {}, b"x" * (10 << 20))
        elif words[0] == "later":
            self.reply(429, {"Retry-After": "120"})
        elif words[0] == "garbage":
            self.wfile.write(b"SSH-2.0-nonsense\r\n\r\n")
            self.close_connection = True
        elif words[0] == "close":
            self.close_connection = True
        else:
            self.reply(200)

    def reply(self, status, headers=None, body=b"ok"):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.readline()
    print(flush=True)


if __name__ == "__main__":
    main()
