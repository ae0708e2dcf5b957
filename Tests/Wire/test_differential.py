"""Sends random and mutated envelopes directly to a service and through the gateway. Both must understand the same method, id and params,
or a request could be smuggled past the gateway. `CAMPANILE_TEST_INPUTS` sets the number of inputs."""

import itertools
import json
import os
import random
import time

import pytest

from campanile_wire import Peer
from wire_process import Process

INTERNAL = "internal-token-of-the-differential-test"
ECHO = "campanile.rpc.v1.EchoService/Echo"
INPUTS = int(os.environ.get("CAMPANILE_TEST_INPUTS", "2000"))
SEED = int(os.environ.get("CAMPANILE_SEED", time.time_ns() & 0xFFFFFFFF))
# The id of the last call of each input. Mutated ids are different.
LAST = 999_999_999_999


class Maker:
    """Creates envelopes, most of them almost valid."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        # Ids are unique: the order of the end of a first call and the start of a second with the same id would be
        # undefined.
        self.ids = itertools.count(1)

    def text(self):
        parts = ["a", "Z", " ", '\\"', "\\\\", "\\/", "\\u0061", "\\u0000", "\\ud83d\\ude08", "\\n", "é", "😈", "{", "}", "[", "]", ":", ",", "\x7f",
                 "\u2028"]
        wrong = ["\\ud800", '"', "\\x", "\n", "\\u12"]
        return "".join(self.random.choice(wrong if self.random.random() < 0.01 else parts) for _ in range(self.random.randrange(6)))

    def spelled(self, name):
        """Returns a member's name, sometimes with an escaped character."""
        if self.random.random() < 0.9:
            return f'"{name}"'
        position = self.random.randrange(len(name))
        escaped = f"\\u{ord(name[position]):04{self.random.choice('xX')}}"
        return f'"{name[:position]}{escaped}{name[position + 1:]}"'

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 4 else 6)
        if kind < 2:
            return f'"{self.text()}"'
        if kind < 4:
            return self.random.choice(["0", "-0", "1", "1.0", "1e2", "-1", "9007199254740991", "9007199254740992", "1" * 30, "01", "1.", ".5", "+1",
                                       "0x1", "NaN", "1e400", "2.5"])
        if kind < 6:
            return self.random.choice(["true", "false", "null", "nul", "True", "{}", "[]", '""'])
        inner = [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        if kind == 6:
            return "[" + ",".join(inner) + "]"
        return "{" + ",".join(f'"{self.text()}":{one}' for one in inner) + "}"

    def params(self):
        if self.random.random() < 0.15:
            return self.value()
        members = [f'{self.spelled("payload")}:"{self.text()}"'] * (self.random.random() < 0.9)
        delay = self.random.choice(["0", "null", "0.0", "{}", "[]", "-1", '"0"'])
        members += [f'"delayMs":{delay}'] * (self.random.random() < 0.2)
        members += [f'"{self.text()}":{self.value()}'] * (self.random.random() < 0.1)
        return "{" + ",".join(members) + "}"

    def members(self):
        number = next(self.ids)
        usual = {
            "jsonrpc": '"2.0"', "id": self.random.choice([f"{number}", f'"{number}"']),
            "method": f'"{self.random.choice([ECHO] * 8 + ["campanile.rpc.v1.EchoService/Nothing", "rpc.ping", "rpc.cancel", "rpc.other", ""])}"',
            "params": self.params()}
        if self.random.random() < 0.2:
            usual["timeoutMs"] = self.random.choice(["5000", "0", "-1", "1.5", '"5"', self.value()])
        if self.random.random() < 0.2:
            usual["metadata"] = self.random.choice(['{"a":"b"}', '{"a":["b","c"]}', '{"A B":"c"}', '{"a":1}', self.value()])
        pairs = list(usual.items())
        self.random.shuffle(pairs)
        for _ in range(self.random.choice([0, 0, 0, 0, 1, 2])):
            change = self.random.randrange(4)
            if change == 0:
                pairs.append(self.random.choice(pairs))
            elif change == 1:
                pairs.insert(self.random.randrange(len(pairs) + 1), (self.random.choice(["ID", "Method", "extra", "idx", "i", "result"]), self.value()))
            elif change == 2:
                position = self.random.randrange(len(pairs))
                pairs[position] = (pairs[position][0], self.value())
            elif len(pairs) > 1:
                pairs.pop(self.random.randrange(len(pairs)))
        return pairs

    def blank(self):
        return self.random.choice(["", "", "", " ", "\n", "\t\r", "\u00a0" if self.random.random() < 0.05 else ""])

    def envelope(self):
        body = ",".join(f"{self.blank()}{self.spelled(name)}{self.blank()}:{self.blank()}{value}{self.blank()}" for name, value in self.members())
        return f"{self.blank()}{{{body}}}{self.blank()}"

    def input(self):
        text = self.envelope()
        if self.random.random() < 0.1:
            text = "[" + ",".join(self.envelope() for _ in range(self.random.randrange(4))) + "]"
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(self.random.choice([0, 0, 0, 0, 1, 3])):
            position = self.random.randrange(len(data))
            change = self.random.randrange(4)
            if change == 0:
                data[position] = self.random.randrange(256)
            elif change == 1:
                del data[position:position + self.random.randrange(1, 4)]
            elif change == 2:
                data[position:position] = self.random.choice([b"\xff", b"\xef\xbb\xbf", b"\0", b'"', b"}", b"\\", b",", b"\xc0\xaf", b"\xed\xa0\x80"])
            else:
                data[position:position] = data[position:position + self.random.randrange(1, 20)]
            data = data or bytearray(b" ")
        return bytes(data)


class Side:
    """One of the two paths. Reconnects before 100 inputs, because a server limits malformed requests per connection."""

    def __init__(self, port):
        self.port, self.link, self.used = port, None, 0

    def told(self, data, patience_s=0.0):
        """Returns the sorted responses to an input. With `patience_s`, uses a new connection and waits for late responses."""
        if self.link is None or self.used >= 90 or patience_s:
            if self.link:
                self.link.close()
            self.link, self.used = Peer(self.port, timeout_s=60), 0
            self.link.hello(INTERNAL)
        self.used += 1
        self.link.send(data)
        time.sleep(patience_s)
        self.link.send({"jsonrpc": "2.0", "id": LAST, "method": ECHO, "params": {"payload": "last"}})
        frames, is_over = [], False
        while not is_over:
            frame = self.link.receive()
            if frame is None:
                self.link = None
                return ["closed"]
            if isinstance(frame, dict) and frame.get("id") == LAST:
                is_over = True
            else:
                frames.append(frame)
        return sorted(understood(one) for frame in frames for one in (frame if isinstance(frame, list) else [frame]))


def understood(frame):
    """Returns the parts of a frame that depend on the interpretation of the request, without messages."""
    if "result" in frame:
        return json.dumps(["result", frame["id"], frame["result"]])
    data = frame["error"].get("data") or {}
    return json.dumps(["error", frame.get("id"), frame["error"]["code"], data.get("status")])


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differential")
    echo = Process("campanile-echo", folder, internal_token=INTERNAL)
    gateway = Process(
        "campanile-gateway", folder, "--data-dir", str(folder / "data"), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{echo.port}", internal_token=INTERNAL)
    yield Side(echo.port), Side(gateway.port)
    assert gateway.is_running() and echo.is_running()
    gateway.stop()
    echo.stop()


def test_the_gateway_and_services_understand_the_same(sides):
    print(f"CAMPANILE_SEED={SEED} CAMPANILE_TEST_INPUTS={INPUTS}")
    direct, through = sides
    maker, answered, refused, silent, differences = Maker(SEED), 0, 0, 0, []
    for number in range(INPUTS):
        data = maker.input()
        here, there = direct.told(data), through.told(data)
        if here != there:
            # A late response may have been counted for another input.
            here, there = direct.told(data, 0.5), through.told(data, 0.5)
        if here != there:
            differences.append((number, data, here, there))
        answered += any(one.startswith('["result"') for one in here)
        refused += any(one.startswith('["error"') for one in here)
        silent += not here
    print(f"{answered} answered, {refused} refused, {silent} silent")
    assert not differences, "\n".join(f"{number}: {data!r}\n  directly {here}\n  through {there}" for number, data, here, there in differences[:8])
    assert answered > INPUTS / 10 and refused > INPUTS / 10


def test_a_lenient_gateway_would_be_seen(sides):
    """The control: a gateway that parses with Python's json, where the last of duplicate members wins, and serialises again."""
    direct, maker, seen = sides[0], Maker(SEED), 0
    for _ in range(INPUTS):
        data = maker.input()
        try:
            written = json.dumps(json.loads(data)).encode()
        except (ValueError, RecursionError):
            continue
        seen += direct.told(data) != direct.told(written)
    assert seen > 0
