"""Callers that send requests but do not read: the data waiting for them stays within its limit, and they are disconnected."""

import json
import re
import time
import urllib.request

import pytest

from campanile_wire import Peer, reason
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
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": i, "messages": 1 << 20}})
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
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 1, "messages": 1 << 31}})
        settles(server, "campanile_server_open_calls", 1, seconds=20)
        settles(server, "campanile_server_open_connections", 0, seconds=50)
        settles(server, "campanile_server_open_calls", 0, seconds=20)


@pytest.mark.parametrize("stream_count", [1, 60])
def test_forwarded_streams_of_a_caller_that_does_not_read_end(gateway, stream_count):
    """Messages for which the gateway has granted credit still arrive; beyond 8 MiB for all streams of a connection, the streams end."""
    with Peer(gateway.port, timeout_s=60, receive_buffer_bytes=1 << 16) as peer:
        assert "result" in peer.hello(gateway.key)
        open_streams(peer, stream_count, "x" * MIB, 2000 if stream_count > 1 else 0)
        before = gateway.rss_bytes()
        assert largest_rss(gateway, 5) - before < 64 * MIB
        ended, received = {}, 0
        while len(ended) < stream_count:
            answer = peer.receive()
            if "id" in answer:
                ended[answer["id"]] = reason(answer)
            else:
                received += 1
        assert set(ended.values()) == {"SLOW_CONSUMER"}
        # 8 MiB, the sockets' buffers, and the last message.
        assert 8 <= received < 20, received
        assert peer.call(ECHO, {"payload": "on we go"})["result"] == {"payload": "on we go"}


def test_messages_that_no_handler_takes_are_limited(server):
    """Chat waits for credit before it replies; messages sent to it in the meantime, within its own credit, must be buffered."""
    before = server.rss_bytes()
    count = 8
    with Peer(server.port, timeout_s=60) as peer:
        def message(i, payload):
            peer.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": i, "message": {"payload": payload}}})

        for i in range(count):
            peer.send({"jsonrpc": "2.0", "id": i, "method": CHAT})
            for _ in range(32):
                message(i, "x")
            for _ in range(32):
                while peer.receive()["method"] != "rpc.message":
                    pass
        for i in range(count):
            for _ in range(24):
                message(i, "x" * MIB)
        peer.send({"jsonrpc": "2.0", "id": "end", "method": "rpc.ping"})
        ended = []
        while (answer := peer.receive()).get("id") != "end":
            if "error" in answer:
                ended.append(reason(answer))
        # 64 MiB hold the backlog of two and a half streams.
        assert 4 <= len(ended) < count and set(ended) == {"STREAM_BACKLOG"}
        assert server.rss_bytes() - before < 160 * MIB
    with Peer(server.port, timeout_s=60) as peer:
        # A single stream may buffer messages for all of its credit.
        peer.send({"jsonrpc": "2.0", "id": 1, "method": COLLECT})
        for _ in range(32):
            message_of_one = {"id": 1, "message": {"payload": "x" * MIB}}
            peer.send({"jsonrpc": "2.0", "method": "rpc.message", "params": message_of_one})
        peer.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": 1}})
        while "id" not in (answer := peer.receive()):
            pass
        assert answer["result"] == {"messageCount": 32, "payloadSizeBytes": str(32 * MIB)}


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
