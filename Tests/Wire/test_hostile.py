"""Hostile and broken peers of a real server: it responds as documented, keeps running, and its memory stays bounded."""

import json
import os
import random
import signal
import socket
import struct
import threading
import time

import pytest

from campanile_wire import Peer, reason
from wire_process import Process

ECHO = "campanile.rpc.v1.EchoService/Echo"
EXPAND = "campanile.rpc.v1.EchoService/Expand"
COLLECT = "campanile.rpc.v1.EchoService/Collect"
CHAT = "campanile.rpc.v1.EchoService/Chat"


@pytest.fixture(autouse=True)
def stays_up_and_small(echo):
    before = echo.rss_bytes()
    yield
    assert echo.is_running()
    with Peer(echo.port) as peer:
        assert peer.call(ECHO, {"payload": "still here"})["result"] == {"payload": "still here"}
    assert echo.rss_bytes() - before < 96 * 1024 * 1024


def test_zero_length(echo):
    with Peer(echo.port) as peer:
        peer.send_bytes(b"\0\0\0\0")
        answer = peer.receive()
        assert answer["id"] is None and reason(answer) == "FRAME_EMPTY"
        assert peer.receive() is None


def test_largest_frame_is_served_and_one_byte_more_is_not(echo):
    limit = 4 * 1024 * 1024
    head = '{"jsonrpc":"2.0","id":1,"method":"' + ECHO + '","params":{"payload":"'
    tail = '"}}'
    with Peer(echo.port) as peer:
        # The response to a frame of the maximum size would itself be too large, so the payload is in an unknown member,
        # which is ignored.
        peer.send('{"jsonrpc":"2.0","id":1,"method":"' + ECHO + '","ignored":"' + "x" * (limit - 83) + '"}')
        answer = peer.receive()
        assert answer["result"] == {}, answer
        payload = "x" * (limit - 1024)
        peer.send(head + payload + tail)
        assert peer.receive()["result"]["payload"] == payload
    with Peer(echo.port) as peer:
        peer.send_bytes(struct.pack(">I", limit + 1) + b"{")
        assert reason(peer.receive()) == "FRAME_TOO_LARGE"
        assert peer.receive() is None


@pytest.mark.parametrize("head, expected", [
    (b"\x00\xff\xff\xff", "FRAME_TOO_LARGE"), (b"\x01\0\0\x02", "FRAME_FLAGS_UNKNOWN"), (b"\xff\xff\xff\xff", "FRAME_FLAGS_UNKNOWN")])
def test_lengths_and_flags_that_are_not_accepted(echo, head, expected):
    with Peer(echo.port) as peer:
        peer.send_bytes(head + b"x" * 100)
        assert reason(peer.receive()) == expected
        assert peer.receive() is None


def test_a_clients_own_limit_of_frames_is_kept(echo):
    limit = 64 * 1024
    with Peer(echo.port) as peer:
        assert peer.hello(maxFrameBytes=limit)["result"]["maxFrameBytes"] == 4 * 1024 * 1024
        fits, long = "x" * (limit - 1024), "x" * limit
        assert peer.call(ECHO, {"payload": fits})["result"]["payload"] == fits
        assert reason(peer.call(ECHO, {"payload": long})) == "RESULT_TOO_LARGE"
        assert reason(peer.call(EXPAND, {"payload": long, "count": 2})) == "RESULT_TOO_LARGE"
        peer.send([{"jsonrpc": "2.0", "id": f"b{i}", "method": ECHO, "params": {"payload": "x" * 20_000}} for i in range(4)])
        body = peer.receive_raw()
        assert len(body) <= limit
        assert {reason(answer) for answer in json.loads(body) if "error" in answer} == {"RESULT_TOO_LARGE"}


@pytest.mark.parametrize("params, expected", [
    ({"versions": ["2", "3"]}, "VERSION_UNSUPPORTED"), ({"versions": []}, "VERSION_UNSUPPORTED"),
    ({"versions": "1"}, "HELLO_INVALID"), ({"versions": [1]}, "HELLO_INVALID"), ({"versions": ["1"] * 101}, "HELLO_INVALID"),
    ({"capabilities": {"a": 1}}, "HELLO_INVALID"), ({"capabilities": [None]}, "HELLO_INVALID"),
    ({"maxFrameBytes": 65_535}, "HELLO_INVALID"), ({"maxFrameBytes": "1000000"}, "HELLO_INVALID"),
    ({"maxFrameBytes": 1e6}, "HELLO_INVALID"),
])
def test_hello_with_other_versions_or_forms(echo, params, expected):
    with Peer(echo.port) as peer:
        answer = peer.call("rpc.hello", params)
        assert answer["id"] == 1 and reason(answer) == expected
        if expected == "HELLO_INVALID":
            assert [v["field"] for v in answer["error"]["data"]["details"][1]["fieldViolations"]] == list(params)
        assert peer.receive() is None


@pytest.mark.parametrize("params", [
    {}, {"versions": ["7", "1"]}, {"capabilities": ["compression", "fragments"]}, {"maxFrameBytes": 1 << 40}, {"future": [{}]}])
def test_hello_with_more_than_the_server_knows(echo, params):
    with Peer(echo.port) as peer:
        result = peer.call("rpc.hello", params)["result"]
        assert result["version"] == "1" and result["capabilities"] == []
        assert peer.call(ECHO, {"payload": "x"})["result"] == {"payload": "x"}


def test_a_frame_byte_by_byte(echo):
    with Peer(echo.port) as peer:
        for byte in Peer.frame({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"payload": "slow"}}):
            peer.send_bytes(bytes([byte]))
            time.sleep(0.001)
        assert peer.receive()["result"] == {"payload": "slow"}


def test_a_hundred_thousand_small_frames_in_one_write(echo):
    count = 100_000
    frames = b"".join(
        Peer.frame('{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"payload":"p"}}' % (i, ECHO)) for i in range(count))
    with Peer(echo.port, timeout_s=120) as peer:
        writer = threading.Thread(target=peer.send_bytes, args=(frames,))
        writer.start()
        seen = set()
        for _ in range(count):
            answer = peer.receive()
            assert answer["result"] == {"payload": "p"}, answer
            seen.add(answer["id"])
        writer.join()
        assert len(seen) == count


@pytest.mark.parametrize("depth", [64, 10_000, 1_000_000])
def test_deep_nesting(echo, depth):
    with Peer(echo.port) as peer:
        peer.send('{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + "[" * depth + "]" * depth + "}}")
        assert reason(peer.receive()) == "ENVELOPE_INVALID"
        peer.send("[" * depth)
        assert peer.receive()["error"]["code"] in (-32700, -32600)
        assert peer.call(ECHO)["result"] == {}


@pytest.mark.parametrize("text", [
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', '{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}',
    '{"jsonrpc":"2.0","id":1,"method":"a","\\u006d\\u0065thod":"b"}', '{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"a","timeoutMs":1,"timeoutM\\u0073":2}',
])
def test_duplicate_members(echo, text):
    with Peer(echo.port) as peer:
        peer.send(text)
        assert reason(peer.receive()) == "ENVELOPE_INVALID"


def test_malformed_requests_are_limited(echo):
    with Peer(echo.port) as peer:
        for _ in range(200):
            peer.send("nonsense")
            assert peer.receive()["error"]["code"] == -32700
        peer.send("nonsense")
        assert reason(peer.receive()) == "MALFORMED_FLOOD"
        assert peer.receive() is None


def test_a_slow_frame_is_cut_off(tmp_path):
    process = Process("campanile-echo", tmp_path)
    try:
        with Peer(process.port) as peer:
            started = time.monotonic()
            peer.send_bytes(struct.pack(">I", 100) + b"{")
            assert reason(peer.receive()) == "FRAME_TOO_SLOW"
            assert time.monotonic() - started < 15
            assert peer.receive() is None
    finally:
        assert process.stop() == 0


def test_trickled_bytes_do_not_extend_a_frames_time(tmp_path):
    process = Process("campanile-echo", tmp_path)
    try:
        with Peer(process.port) as peer:
            peer.send_bytes(struct.pack(">I", 1000))
            deadline = time.monotonic() + 16
            peer.socket.settimeout(0.5)
            while time.monotonic() < deadline:
                try:
                    peer.send_bytes(b"x")
                    answer = peer.receive()
                    assert answer is None or reason(answer) == "FRAME_TOO_SLOW"
                    break
                except (socket.timeout, BrokenPipeError, ConnectionResetError) as error:
                    if not isinstance(error, socket.timeout):
                        break
            else:
                pytest.fail("the connection was not closed")
    finally:
        assert process.stop() == 0


def test_calling_and_cancelling_in_a_loop(echo):
    with Peer(echo.port) as peer:
        closed = False
        try:
            for i in range(1000):
                peer.send({"jsonrpc": "2.0", "id": i, "method": ECHO, "params": {"payload": "x", "delayMs": 60000}})
                peer.send({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": i}})
        except (BrokenPipeError, ConnectionResetError):
            closed = True
        reasons = []
        while (answer := peer.receive()) is not None:
            reasons.append(reason(answer))
        assert closed or reasons[-1] == "CONTROL_FLOOD" or len(reasons) >= 200
        assert reasons.count("CANCELLED") <= 200


def test_executing_calls_are_limited(echo):
    with Peer(echo.port) as peer:
        for i in range(150):
            peer.send({"jsonrpc": "2.0", "id": i, "method": ECHO, "params": {"payload": "x", "delayMs": 500}})
        answers = [peer.receive() for _ in range(150)]
        refused = [a for a in answers if "error" in a]
        assert len(refused) == 50
        assert all(reason(a) == "TOO_MANY_CALLS" and a["error"]["data"]["processed"] is False for a in refused)


@pytest.mark.parametrize("method, params", [
    (ECHO, {"payload": "x", "delayMs": 600_000}), (EXPAND, {"payload": "x", "count": 1_000_000, "intervalMs": 600_000}),
    (EXPAND, {"payload": "x", "count": 1_000_000}), (COLLECT, None), (CHAT, None)])
def test_closing_the_sending_side_cancels_the_calls(echo, method, params):
    """The wire protocol does not support half-closed connections: calls are cancelled, because the caller may have disconnected."""
    peers = [Peer(echo.port) for _ in range(10)]
    for peer in peers:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params else {})})
        peer.send({"jsonrpc": "2.0", "id": 2, "method": "rpc.ping"})
        while peer.receive().get("id") != 2:
            pass
        peer.socket.shutdown(socket.SHUT_WR)
    for peer in peers:
        while "id" not in (answer := peer.receive()):
            pass
        assert answer["error"]["data"]["status"] == "CANCELLED" and reason(answer) == "CONNECTION_CLOSED"
        assert peer.receive() is None
        peer.close()


def test_what_is_answered_before_the_sending_side_closes_still_arrives(echo):
    for _ in range(50):
        with Peer(echo.port) as peer:
            peer.send({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"payload": "x" * 100_000}})
            peer.socket.shutdown(socket.SHUT_WR)
            assert len(peer.receive()["result"]["payload"]) == 100_000
            assert peer.receive() is None


def test_calls_without_an_id_do_not_run(echo):
    """Alone or in a batch; each gets an error, and the batch's other calls run."""
    fail = {"jsonrpc": "2.0", "method": "campanile.rpc.v1.EchoService/Fail", "params": {"code": 5}}
    unknown = {"jsonrpc": "2.0", "method": "no.such/Method"}
    undecodable = {"jsonrpc": "2.0", "method": ECHO, "params": {"payload": 1}}
    stream = {"jsonrpc": "2.0", "method": EXPAND, "params": {"payload": "x", "count": 3}}
    slow = {"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"payload": "slow", "delayMs": 200}}
    with Peer(echo.port) as peer:
        for call in (fail, unknown, undecodable, stream):
            peer.send(call)
            alone = peer.receive()
            assert alone["id"] is None and reason(alone) == "ID_MISSING" and not alone["error"]["data"]["processed"]
            peer.send([call])
            assert peer.receive() == [alone]
        peer.send([fail, unknown, slow, undecodable, stream])
        assert peer.receive() == [alone] * 4 + [{"jsonrpc": "2.0", "id": 1, "result": {"payload": "slow"}}]
        assert peer.call(ECHO)["result"] == {}


def test_resets_in_the_middle(echo):
    for i in range(200):
        peer = Peer(echo.port)
        peer.send({"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x" * 1000, "count": 100000}})
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()


def test_a_client_that_never_reads(echo):
    """Sends until the socket blocks: the server stops reading, and its memory stays bounded."""
    peer = Peer(echo.port, timeout_s=3)
    sent = 0
    before = echo.rss_bytes()
    try:
        for i in range(20_000):
            peer.send_bytes(Peer.frame('{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"payload":"%s"}}' % (i, ECHO, "x" * 50_000)))
            sent += 1
    except (socket.timeout, ConnectionResetError, BrokenPipeError):
        pass
    assert sent < 20_000
    assert echo.rss_bytes() - before < 64 * 1024 * 1024
    peer.close()


def test_a_stream_waits_for_credit(echo):
    with Peer(echo.port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x", "count": 100}})
        for index in range(32):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        peer.socket.settimeout(0.3)
        with pytest.raises(socket.timeout):
            peer.receive()
        peer.socket.settimeout(20)
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 1, "messages": 68}})
        for index in range(32, 100):
            assert peer.receive()["params"]["message"]["index"] == index
        assert peer.receive()["result"] == {}


def test_a_stream_waits_for_bytes(echo):
    with Peer(echo.port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x" * 300_000, "count": 8}})
        for index in range(4):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.call("rpc.ping")["result"] == {}
        # Messages alone do not help, and neither do bytes that only make up for the overdraft.
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 1, "messages": 100}})
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 1, "bytes": 100_000}})
        assert peer.call("rpc.ping")["result"] == {}
        peer.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 1, "bytes": 1_000_000}})
        for index in range(4, 8):
            assert peer.receive()["params"]["message"]["index"] == index
        assert peer.receive()["result"] == {}


def test_a_stream_that_gets_no_bytes_ends_at_its_deadline(echo):
    with Peer(echo.port) as peer:
        request = {"jsonrpc": "2.0", "id": 1, "method": EXPAND, "params": {"payload": "x" * 600_000, "count": 8}}
        peer.send({**request, "timeoutMs": 300})
        for index in range(2):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.receive()["error"]["data"]["status"] == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("credit", [
    [], 1, {"messages": 31}, {"messages": "32"}, {"bytes": 1_048_575}, {"bytes": 1 << 31}, {"messages": 64, "bytes": -1},
])
def test_bad_stream_credit_in_hello(echo, credit):
    with Peer(echo.port) as peer:
        answer = peer.hello(streamCredit=credit)
        assert reason(answer) == "HELLO_INVALID"
        assert answer["error"]["data"]["details"][1]["fieldViolations"][0]["field"] == "streamCredit"


def test_announced_credit_of_messages_and_bytes(echo):
    with Peer(echo.port) as peer:
        assert "result" in peer.hello(streamCredit={"messages": 40, "bytes": 3 << 20})
        peer.send({"jsonrpc": "2.0", "id": "s", "method": EXPAND, "params": {"payload": "x", "count": 50}})
        for index in range(40):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.call("rpc.ping")["result"] == {}
        peer.send({"jsonrpc": "2.0", "id": "t", "method": EXPAND, "params": {"payload": "x" * 1_000_000, "count": 50}})
        for index in range(4):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.call("rpc.ping")["result"] == {}


def test_messages_beyond_the_credit(echo):
    with Peer(echo.port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "campanile.rpc.v1.EchoService/Chat"})
        # The replies take the server's own credit; without more from this side it stops reading the requests.
        for _ in range(200):
            peer.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": 1, "message": {"payload": "x"}}})
        while "error" not in (answer := peer.receive()):
            pass
        assert reason(answer) == "CREDIT_EXCEEDED"


def test_forged_principals_are_ignored(echo):
    with Peer(echo.port) as peer:
        answer = peer.call(ECHO, {"payload": "x"}, metadata={"campanile-principal": "user/root", "campanile-scopes": "admin"})
        assert answer["result"] == {"payload": "x"}


@pytest.mark.parametrize("metadata", [
    {"Upper": "x"}, {"a b": "x"}, {"k": 1}, {"k": None}, {"k": ["a", 1]}, {"k": "x" * 9000}, {"": "x"},
    {f"k{i}": "v" for i in range(200)},
])
def test_bad_metadata(echo, metadata):
    with Peer(echo.port) as peer:
        answer = peer.call(ECHO, {"payload": "x"}, metadata=metadata)
        assert answer["error"]["data"]["status"] == "INVALID_ARGUMENT"
        assert answer["error"]["data"]["details"][1]["fieldViolations"][0]["field"] == "metadata"


def test_random_bytes(echo):
    seed = int(os.environ.get("CAMPANILE_SEED", time.time_ns() & 0xFFFFFFFF))
    print(f"CAMPANILE_SEED={seed}")
    source = random.Random(seed)
    base = json.dumps({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"payload": "é😀", "delayMs": 0}, "metadata": {"k": ["a"]}}).encode()
    for _ in range(400):
        body = bytearray(base)
        for _ in range(source.randint(1, 6)):
            body[source.randrange(len(body))] = source.randrange(256)
        with Peer(echo.port) as peer:
            peer.send(bytes(body))
            peer.send({"jsonrpc": "2.0", "id": "end", "method": "rpc.ping"})
            while (answer := peer.receive()) is not None and answer.get("id") != "end":
                pass
            assert answer is not None, body


def test_a_stopped_server_finishes_its_calls(tmp_path):
    process = Process("campanile-echo", tmp_path)
    with Peer(process.port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": ECHO, "params": {"payload": "x", "delayMs": 1000}})
        time.sleep(0.2)
        process.process.send_signal(signal.SIGTERM)
        assert peer.receive() == {"jsonrpc": "2.0", "method": "rpc.drain"}
        peer.send({"jsonrpc": "2.0", "id": 2, "method": ECHO})
        refused = peer.receive()
        assert refused["id"] == 2 and reason(refused) == "DRAINING" and refused["error"]["data"]["processed"] is False
        assert peer.receive()["result"] == {"payload": "x"}
        # A frame that arrives in parts is refused as well before the connection closes.
        frame = Peer.frame({"jsonrpc": "2.0", "id": 3, "method": ECHO})
        peer.send_bytes(frame[:9])
        time.sleep(0.4)
        peer.send_bytes(frame[9:])
        late = peer.receive()
        assert late["id"] == 3 and reason(late) == "DRAINING" and late["error"]["data"]["processed"] is False
        assert peer.receive() is None
    assert process.process.wait(15) == 0
