"""Callers that send requests but do not read: the data waiting for them stays within its limit, and they are disconnected."""

import json
import re
import time
import urllib.request

import pytest

from campanile_wire import Credit, Peer, reason
from wire_process import Process

MIB = 1024 * 1024
ECHO = "campanile.rpc.v1.EchoService/Echo"
EXPAND = "campanile.rpc.v1.EchoService/Expand"
COLLECT = "campanile.rpc.v1.EchoService/Collect"
CHAT = "campanile.rpc.v1.EchoService/Chat"
DESCRIPTORS = "campanile.rpc.v1.ReflectionService/GetFileDescriptorSet"
TOKEN = "internal-token-of-the-slow-consumer-test"


@pytest.fixture
def server(tmp_path):
    process = Process("campanile-echo", tmp_path)
    yield process
    assert process.stop() == 0


@pytest.fixture
def gateway(tmp_path):
    """Starts a gateway with an echo server as its backend, and creates a key."""
    backend = Process("campanile-echo", tmp_path, internal_token=TOKEN)
    process = Process(
        "campanile-gateway", tmp_path, "--data-dir", str(tmp_path), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{backend.port}", internal_token=TOKEN)
    with Peer(process.port) as peer:
        peer.hello(TOKEN)
        answer = peer.call("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": "user/slow"})
    process.key = answer["result"]["secret"]
    yield process
    assert process.stop() == 0
    assert backend.stop() == 0


def largest_rss(process, seconds):
    """Returns the maximum memory of the process during this time."""
    end = time.monotonic() + seconds
    largest = 0
    while time.monotonic() < end:
        largest = max(largest, process.rss_bytes())
        time.sleep(0.01)
    return largest


def gauge(process, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{process.ready.get('admin', process.ready['http'])}/metrics", timeout=20) as answer:
        line = next(line for line in answer.read().decode().splitlines() if line.startswith(name + " "))
    return float(line.split()[1])


def settles(process, name, value, seconds):
    """Waits until a gauge has a value, because the server reads and updates metrics asynchronously."""
    end = time.monotonic() + seconds
    while gauge(process, name) != value and time.monotonic() < end:
        time.sleep(0.05)
    assert gauge(process, name) == value


def still_serves(process):
    with Peer(process.port) as peer:
        assert peer.call("grpc.health.v1.Health/Check")["result"] == {"status": "SERVING"}


def test_pipelined_calls_with_long_answers_wait_for_the_reader(server):
    """Small requests with large, immediate responses: the server must not respond to everything it has read at once."""
    before = server.rss_bytes()
    count = 2000
    frames = b"".join(Peer.frame({"jsonrpc": "2.0", "id": i, "method": DESCRIPTORS}) for i in range(count))
    peers = [Peer(server.port) for _ in range(20)]
    for peer in peers:
        peer.send_bytes(frames)
    assert largest_rss(server, 3) - before < 64 * MIB
    still_serves(server)
    # A caller that reads later receives all responses.
    for expected in range(count):
        answer = peers[0].receive()
        assert answer["id"] == expected and answer["result"]["fileDescriptorSet"]
    for peer in peers:
        peer.close()
    still_serves(server)


def test_results_for_a_caller_that_does_not_read_are_dropped(server):
    """A hundred handlers finish while their caller does not read."""
    payload = "x" * 400_000
    with Peer(server.port, timeout_s=60) as peer:
        for i in range(100):
            peer.send({"jsonrpc": "2.0", "id": i, "method": ECHO, "params": {"payload": payload, "delayMs": 3000}})
        time.sleep(4)
        still_serves(server)
        answers = [peer.receive() for _ in range(100)]
        dropped = [answer for answer in answers if "error" in answer]
        assert {reason(answer) for answer in dropped} == {"SLOW_CONSUMER"}
        assert all(answer["error"]["data"]["status"] == "RESOURCE_EXHAUSTED" for answer in dropped)
        # 8 MiB, the sockets' buffers, and the last result.
        assert 8 * MIB // 400_000 <= 100 - len(dropped) < 60
        assert peer.call(ECHO, {"payload": "on we go"})["result"] == {"payload": "on we go"}


def open_streams(peer, count, payload, interval_ms):
    """Opens streams one after the other, and reads all messages until every stream is open."""
    for i in range(count):
        peer.send({"jsonrpc": "2.0", "id": i, "method": EXPAND,
                   "params": {"payload": payload, "count": 1_000_000, "intervalMs": interval_ms}})
        peer.grant_all(i)
        # Parses only as much of the other streams' messages as needed, so that this caller keeps up until all streams
        # are open.
        while int(re.match(rb'{"jsonrpc":"2.0","method":"rpc.(?:message|credit)","params":{"id":(\d+),', peer.receive_raw())[1]) != i:
            pass


def test_streams_wait_for_a_caller_that_does_not_read(server):
    peers = [Peer(server.port, timeout_s=60) for _ in range(4)]
    for peer in peers:
        open_streams(peer, 50, "x" * 200_000, 100)
    before = server.rss_bytes()
    assert largest_rss(server, 4) - before < 48 * MIB
    for peer in peers:
        peer.close()
    still_serves(server)


def test_a_caller_that_never_reads_is_closed(server):
    with Peer(server.port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x" * MIB, "count": 1_000_000}})
        peer.grant_all(1)
        settles(server, "campanile_server_open_calls", 1, seconds=20)
        settles(server, "campanile_server_open_connections", 0, seconds=50)
        settles(server, "campanile_server_open_calls", 0, seconds=20)


def test_forwarded_streams_of_a_caller_that_does_not_read_end(gateway):
    """Messages for which the gateway has granted credit still arrive; the streams whose messages exceed 8 MiB end, the others wait."""
    stream_count = 60
    with Peer(gateway.port, timeout_s=60, receive_buffer_bytes=1 << 16) as peer:
        assert "result" in peer.hello(gateway.key)
        open_streams(peer, stream_count, "x" * MIB, 2000)
        before = gateway.rss_bytes()
        assert largest_rss(gateway, 5) - before < 64 * MIB
        peer.send({"jsonrpc": "2.0", "id": "end", "method": "rpc.ping"})
        ended, received = {}, set()
        while (answer := peer.receive()).get("id") != "end":
            if "id" in answer:
                ended[answer["id"]] = reason(answer)
            else:
                received.add(answer["params"]["id"])
        assert set(ended.values()) == {"SLOW_CONSUMER"} and stream_count // 2 <= len(ended) < stream_count
        # 8 MiB, the sockets' buffers, and the last message.
        assert 8 <= len(received) < 24, received
        # The streams that remain continue.
        for _ in range(4):
            assert until(peer, lambda frame: frame.get("method") == "rpc.message")["params"]["id"] not in ended


def test_a_forwarded_stream_waits_for_a_caller_that_reads_later(gateway):
    """The byte credit of the backend is less than what a caller may leave unread, so a single stream waits."""
    with Peer(gateway.port, timeout_s=60, receive_buffer_bytes=1 << 16) as peer:
        assert "result" in peer.hello(gateway.key)
        before = gateway.rss_bytes()
        peer.send({"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x" * MIB, "count": 40}})
        peer.grant_all(1)
        assert largest_rss(gateway, 3) - before < 24 * MIB
        for index in range(40):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.receive()["result"] == {}


def until(peer, is_awaited):
    while not is_awaited(frame := peer.receive()):
        pass
    return frame


class Chat:
    """A stream whose handler waits: it must send responses, for which the caller grants no credit."""

    def __init__(self, peer, identifier):
        self.peer, self.identifier, self.credit = peer, identifier, Credit()
        peer.send({"jsonrpc": "2.0", "id": identifier, "method": CHAT})
        for _ in range(32):
            self.say("x")
        for _ in range(32):
            self.next()

    def say(self, payload):
        self.credit.take(self.peer.send(
            {"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": self.identifier, "message": {"payload": payload}}}))

    def next(self):
        """Returns the next response; credits on the way are counted."""
        while (frame := self.peer.receive()).get("method") == "rpc.credit":
            self.credit.add(frame["params"])
        return frame


def test_messages_that_no_handler_takes_are_limited(server):
    """Chat waits for credit before it replies; messages sent to it in the meantime, within its own credit, must be buffered."""
    before = server.rss_bytes()
    with Peer(server.port, timeout_s=60) as peer:
        chats = [Chat(peer, i) for i in range(8)]
        for chat in chats:
            for _ in range(24):
                chat.say("x" * MIB)
        peer.send({"jsonrpc": "2.0", "id": "end", "method": "rpc.ping"})
        ended = []
        while (answer := peer.receive()).get("id") != "end":
            if "error" in answer:
                ended.append(reason(answer))
        assert len(ended) == 8 and set(ended) == {"CREDIT_EXCEEDED"}
        assert server.rss_bytes() - before < 64 * MIB
        assert peer.call(ECHO, {"payload": "on we go"})["result"] == {"payload": "on we go"}


def test_streams_beyond_the_connections_credit(server):
    """A caller that keeps the credit of its streams, and not that of its connection, loses only the streams beyond it."""
    before = server.rss_bytes()
    payload = "x" * 3_900_000
    with Peer(server.port, timeout_s=60) as peer:
        chats = [Chat(peer, f"chat {i}") for i in range(24)]
        for chat in chats:
            # The handler takes one message before it waits.
            chat.say("x")
        for chat in chats:
            chat.say(payload)
        ended = []
        peer.send({"jsonrpc": "2.0", "id": "q", "method": "rpc.ping"})
        while (frame := peer.receive()).get("id") != "q":
            if "error" in frame:
                ended.append((frame["id"], reason(frame)))
        # 18 messages are 67 MiB: the last one overdraws the credit.
        assert [one for one, _ in ended] == [chat.identifier for chat in chats[18:]] and {why for _, why in ended} == {"CREDIT_EXCEEDED"}
        assert peer.call(ECHO, {"payload": "on we go"})["result"] == {"payload": "on we go"}
        # The handlers that end give their bytes back.
        for chat in chats[:18]:
            peer.send({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": chat.identifier}})
        peer.send({"jsonrpc": "2.0", "id": "r", "method": "rpc.ping"})
        granted = 0
        while (frame := peer.receive()).get("id") != "r":
            granted += 0 if "id" in frame.get("params", {"id": 0}) else frame["params"]["bytes"]
        assert granted > 24 * len(payload) - 32 * MIB
        assert collect(peer, "x" * MIB, 8) == {"messageCount": 8, "payloadSizeBytes": str(8 * MIB)}
        assert server.rss_bytes() - before < 256 * MIB


def collect(peer, payload, count):
    """Sends messages as the stream's credit allows. Returns the result."""
    peer.send({"jsonrpc": "2.0", "id": "collect", "method": COLLECT})
    credit = Credit()
    for _ in range(count):
        while not credit.allows:
            frame = peer.receive()
            assert "error" not in frame, frame
            if frame.get("method") == "rpc.credit" and frame["params"].get("id") == "collect":
                credit.add(frame["params"])
        credit.take(peer.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": "collect", "message": {"payload": payload}}}))
    peer.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": "collect"}})
    return until(peer, lambda frame: frame.get("id") == "collect")["result"]


def test_a_caller_that_keeps_its_credit_sends_hundred_MiB(gateway):
    """Far more than waits anywhere, through the gateway, whose memory stays small."""
    with Peer(gateway.port, timeout_s=60) as peer:
        assert "result" in peer.hello(gateway.key)
        before = gateway.rss_bytes()
        assert collect(peer, "x" * 4_000_000, 26) == {"messageCount": 26, "payloadSizeBytes": "104000000"}
        assert gateway.rss_bytes() - before < 64 * MIB


def test_a_batch_is_answered_in_one_frame_that_the_caller_takes(tmp_path):
    """Results that do not fit into the frame become errors; the frame never exceeds its limit."""
    process = Process("campanile-echo", tmp_path, "--max-frame-bytes", str(256 * 1024))
    with Peer(process.port) as peer:
        peer.send([{"jsonrpc": "2.0", "id": i, "method": DESCRIPTORS} for i in range(100)])
        body = peer.receive_raw()
        assert len(body) <= 256 * 1024
        answers = json.loads(body)
        assert {answer["id"] for answer in answers} == set(range(100))
        refused = {reason(answer) for answer in answers if "error" in answer}
        assert refused == {"RESULT_TOO_LARGE"} and any("result" in answer for answer in answers)
        assert peer.call(ECHO)["result"] == {}
    assert process.stop() == 0
