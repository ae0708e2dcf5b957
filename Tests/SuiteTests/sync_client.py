"""A client of Sync for tests: a device with the calls that the apps make."""

import base64
import gzip
import hashlib
import itertools
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from campanile_wire import Credit, Peer, reason  # noqa: E402

TOKEN = "internal-token-of-the-sync-tests"
CHUNK = 128 << 10
LAST_WRITE_WINS = "CONFLICT_POLICY_LAST_WRITE_WINS"


class Link(Peer):
    """A connection with the internal token, whose metadata names the caller."""

    def __init__(self, port, user="anna", token=TOKEN, timeout_s=60):
        super().__init__(port, timeout_s=timeout_s)
        self.hello(token)
        self.metadata = {"campanile-principal": f"user/{user}"}
        self.names = itertools.count()

    def answer(self, method, params=None):
        package = "notifications" if method.startswith("NotificationsService") else "sync"
        return self.call(f"campanile.{package}.v1.{method}", params or {}, metadata=self.metadata)

    def ask(self, method, params=None):
        answer = self.answer(method, params)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def refusal(self, method, params=None):
        """Status and reason of a refused call, such as `NOT_FOUND ASSET_NOT_FOUND`."""
        answer = self.answer(method, params)
        assert "error" in answer, answer
        return f"{answer['error']['data']['status']} {reason(answer)}"

    def open(self, method, params=None):
        """Opens a stream and returns its id."""
        identifier = f"s{next(self.names)}"
        frame = {"jsonrpc": "2.0", "id": identifier, "method": f"campanile.sync.v1.{method}", "metadata": self.metadata}
        self.send(frame if params is None else frame | {"params": params})
        return identifier

    def next(self, identifier):
        """The next message of a stream, or its last frame."""
        frame = self.receive()
        if frame.get("method") == "rpc.message":
            self.grant(identifier)
            return frame["params"]["message"]
        return frame

    def register(self, device, role):
        return self.ask("DevicesService/RegisterDevice", {"device": {"id": device, "role": f"DEVICE_ROLE_{role}"}})["device"]

    def put(self, device, name, content, **fields):
        data = base64.b64encode(content).decode()
        return self.ask("AssetsService/PutAsset", {
            "deviceId": device, "put": {"name": name, "recordType": "Note", "inlineContent": data, "onConflict": LAST_WRITE_WINS, **fields}})

    def put_upload(self, device, name, upload, **fields):
        return self.ask("AssetsService/PutAsset", {
            "deviceId": device, "put": {"name": name, "recordType": "Note", "uploadId": upload, "onConflict": LAST_WRITE_WINS, **fields}})

    def content(self, name, **fields):
        result = self.ask("AssetsService/GetAsset", {"name": name, "includeContent": True, **fields})
        return base64.b64decode(result["content"])

    def create_upload(self, device, content, **fields):
        return self.ask("UploadsService/CreateUpload", {
            "deviceId": device, "recordType": "Note", "sizeBytes": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(), **fields})["upload"]

    def send_chunks(self, upload, content, offset=0, packs=False, ends=True):
        """Sends a content from an offset and returns the last frame, or None if the stream stays open."""
        stream = self.open("UploadsService/UploadContent")
        credit = Credit()

        def message(value):
            credit.take(self.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": value}}))

        message({"start": {"uploadId": upload, "offset": str(offset)}})
        for start in range(offset, len(content), CHUNK):
            while not credit.allows:
                frame = self.receive()
                if frame.get("method") != "rpc.credit":
                    return frame
                if "id" in frame["params"]:
                    credit.add(frame["params"])
            piece = content[start:start + CHUNK]
            chunk = {"data": base64.b64encode(gzip.compress(piece) if packs else piece).decode()}
            message({"chunk": chunk | ({"encoding": "CHUNK_ENCODING_GZIP"} if packs else {})})
        if not ends:
            return None
        self.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": stream}})
        while (frame := self.receive()).get("method") == "rpc.credit":
            pass
        return frame

    def download(self, name, offset=0, stop_after=None, **fields):
        """The bytes of an asset from an offset, and the last frame, or None after `stop_after` bytes."""
        stream = self.open("AssetsService/DownloadAsset", {"name": name, "offset": str(offset), **fields})
        content = bytearray()
        while True:
            message = self.next(stream)
            if "jsonrpc" in message:
                return bytes(content), message
            data = base64.b64decode(message.get("data", ""))
            content += gzip.decompress(data) if message.get("encoding") == "CHUNK_ENCODING_GZIP" else data
            if stop_after and len(content) >= stop_after:
                return bytes(content), None
