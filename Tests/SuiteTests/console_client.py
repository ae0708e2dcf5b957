"""The console's side of HTTP, for tests: requests as the page makes them, and as others would."""

import http.client
import json

from campanile import PATIENCE_S

OWN = {"x-campanile-console": "1", "Sec-Fetch-Site": "same-origin"}
COOKIE = "campanile_console"


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def reason(self):
        """The reason of an error; None for a success."""
        error = self.json.get("error", self.json)
        for detail in error.get("details", []):
            found = detail.get("reason") or detail.get("debug", {}).get("reason")
            if found:
                return found
        return None


class Page:
    """A browser's page of the console, with its cookie."""

    def __init__(self, port):
        self.port, self.cookie = port, None

    def send(self, method, path, body=None, headers=None, own=True):
        """Sends a request; `own` adds the headers of the page, which `headers` may replace or, with None, remove."""
        fields = dict(OWN) if own else {}
        if self.cookie:
            fields["Cookie"] = f"{COOKIE}={self.cookie}"
        if body is not None:
            fields["Content-Type"] = "application/json"
        fields |= headers or {}
        fields = {name: value for name, value in fields.items() if value is not None}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            data = body if isinstance(body, (bytes, str)) or body is None else json.dumps(body)
            link.request(method, path, body=data, headers=fields)
            return Answer(link.getresponse())
        finally:
            link.close()

    def sign_in(self, **body):
        answer = self.send("POST", "/console/session", body)
        if answer.status == 200:
            self.cookie = answer.headers["Set-Cookie"].split(";")[0].removeprefix(f"{COOKIE}=")
        return answer

    def call(self, method, request=None, **options):
        return self.send("POST", "/" + method, request or {}, **options)

    def caller(self):
        return self.send("GET", "/gateway/v1/caller")


class Events:
    """The server-sent events of a streaming method."""

    def __init__(self, port, method, request, headers):
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.link.request("POST", "/" + method, body=json.dumps(request),
                          headers={"Content-Type": "application/json", "Accept": "text/event-stream"} | headers)
        self.response = self.link.getresponse()
        assert self.response.status == 200, (self.response.status, self.response.read())

    def __iter__(self):
        return self

    def __next__(self):
        """The next message; raises StopIteration at the end of the stream, and AssertionError at its failure."""
        data, name = [], "message"
        while True:
            line = self.response.readline().decode()
            if not line:
                raise StopIteration
            line = line.rstrip("\r\n")
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].strip())
            elif not line and data:
                if name == "message":
                    return json.loads("\n".join(data))
                if name == "end":
                    raise StopIteration
                raise AssertionError("\n".join(data))

    def close(self):
        # A reader of the response keeps the socket open.
        self.response.close()
        self.link.close()
