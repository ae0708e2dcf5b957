"""Runs the simulated APNs as a real process, with clients that send to it."""

import base64
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import h2.config
import h2.connection
import h2.events
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from campanile import BIN, PATIENCE_S, environment
from wire_process import fixed_port

BUNDLE = "com.example.growth"
LIVE = BUNDLE + ".push-type.liveactivity"


class Key:
    """A signing key with its key id and team id."""

    def __init__(self, key_id="ABCDE12345", team_id="TEAM123456"):
        self.key_id, self.team_id = key_id, team_id
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.token = None

    @property
    def private_pem(self):
        return self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()

    @property
    def public_pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def public(self):
        return {"teamId": self.team_id, "keyId": self.key_id, "publicKeyPem": self.public_pem}

    def authorization(self, issued_at=None):
        """A provider token, signed without the project's code or a JWT library.

        Without a time, it is always the same token, because a connection may not receive too many different ones.
        """
        if issued_at is None:
            self.token = self.token or self.authorization(time.time())
            return self.token
        text = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        signed = b".".join(text(json.dumps(part).encode()) for part in (
            {"alg": "ES256", "kid": self.key_id}, {"iss": self.team_id, "iat": int(issued_at)}))
        r, s = utils.decode_dss_signature(self.private.sign(signed, ec.ECDSA(hashes.SHA256())))
        return "bearer " + (signed + b"." + text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()


class Simulator:
    """`campanile-apns-simulator` with its own data folder. It can be killed and restarted on the same port."""

    def __init__(self, folder, *arguments, keys=()):
        self.folder = folder
        self.arguments = arguments
        self.ready = {"rpc": fixed_port(), "http": fixed_port()}
        (folder / "keys").mkdir(parents=True, exist_ok=True)
        for key in keys:
            (folder / "keys" / f"{key.key_id}.json").write_text(json.dumps(key.public))
        self.process = None
        self.start()

    def start(self):
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [str(BIN / "campanile-apns-simulator"), "--port", str(self.ready["rpc"]),
                 "--http-port", str(self.ready["http"]), "--data-dir", str(self.folder),
                 "--keys-dir", str(self.folder / "keys"), "--journal", str(self.folder / "journal"),
                 "--ready-file", str(ready), "--drain-timeout-ms", "2000", *self.arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment())
        end = time.monotonic() + PATIENCE_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.01)
        self.ready = json.loads(ready.read_text())
        return self

    @property
    def port(self):
        return self.ready["rpc"]

    @property
    def trust(self):
        return str(self.folder / "apns-simulator" / "trust.pem")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def control(self, method, path, body=None):
        """Calls the control API and returns the parsed response; raises AssertionError with the text of an error."""
        return control(self.ready["http"], method, path, body)

    def fault(self, action, **members):
        return self.control("POST", "/faults", {"action": action, **members})["id"]

    def statistics(self):
        return self.control("GET", "/statistics")

    def screen(self, key):
        return self.control("GET", f"/screens?key={key}")

    def screens(self):
        """All screens, by key."""
        found, after = {}, ""
        while True:
            page = self.control("GET", f"/screens?limit=1000&after={after}")
            found |= {screen["key"]: screen for screen in page["screens"]}
            after = page.get("next")
            if not after:
                return found

    def context(self):
        context = ssl.create_default_context(cafile=self.trust)
        # Stricter than the default: reject certificates that deviate from RFC 5280.
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context


def control(port, method, path, body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1{path}", method=method, data=None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None


def fields(key, token="ab" * 32, **changes):
    """Header fields of a valid Live Activity push; a field whose value is None is omitted."""
    named = {":method": "POST", ":scheme": "https", ":authority": "api.push.apple.com", ":path": f"/3/device/{token}",
             "authorization": key.authorization(), "apns-push-type": "liveactivity", "apns-topic": LIVE,
             "apns-priority": "5", "apns-expiration": "0"}
    named |= {(":" + name[1:] if name.startswith("_") else name.replace("_", "-")): value for name, value in changes.items()}
    return [(name, value) for name, value in named.items() if value is not None]


def update(state, timestamp=None, event="update", **members):
    return json.dumps({"aps": {"event": event, "timestamp": int(timestamp or time.time()), "content-state": state, **members}})


class H2:
    """An HTTP/2 connection that exposes the event of every frame, with the h2 library."""

    def __init__(self, simulator, alpn=True):
        raw = socket.create_connection(("127.0.0.1", simulator.port), 10)
        context = simulator.context()
        if alpn:
            context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(raw, server_hostname="api.push.apple.com")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def open(self, headers, body=""):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, headers, end_stream=not body)
        if body:
            self.h2.send_data(stream, body.encode(), end_stream=True)
        self.flush()
        return stream

    def events(self):
        """Reads once. Returns the bytes and their events; both are empty if the connection has ended."""
        data = self.socket.recv(65_536)
        found = self.h2.receive_data(data) if data else []
        if data:
            self.flush()
        return data, found

    def answer(self, stream):
        """Status, headers and parsed body; the event if the stream was reset; None if the connection ended."""
        headers, body = {}, b""
        while True:
            data, found = self.events()
            for event in found:
                if getattr(event, "stream_id", None) == stream:
                    if isinstance(event, h2.events.ResponseReceived):
                        headers = dict(event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        body += event.data
                    elif isinstance(event, h2.events.StreamReset):
                        return event
                    elif isinstance(event, h2.events.StreamEnded):
                        return int(headers[":status"]), headers, json.loads(body or "null")
            if not data:
                return None

    def frames(self):
        """Every frame until the connection ends, as (type, flags, stream, payload).

        The frames are parsed here, because h2 treats GOAWAY as the end of all streams, contrary to RFC 9113 section 6.8.
        """
        data = bytearray()
        while received := self.socket.recv(65_536):
            data += received
        while len(data) >= 9:
            size = int.from_bytes(data[:3], "big")
            yield data[3], data[4], int.from_bytes(data[5:9], "big") & 0x7FFF_FFFF, bytes(data[9:9 + size])
            del data[:9 + size]

    def ask(self, headers, body=""):
        return self.answer(self.open(headers, body))

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def aioapns_led_to(port):
    """Redirects aioapns from Apple to a local port; the library has no setting for this."""
    from aioapns.connection import APNsProductionClientProtocol as protocol
    kept = protocol.APNS_SERVER, protocol.APNS_PORT
    protocol.APNS_SERVER, protocol.APNS_PORT = "localhost", port
    try:
        yield
    finally:
        protocol.APNS_SERVER, protocol.APNS_PORT = kept
