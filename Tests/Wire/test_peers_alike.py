"""The Swift server and the server of Examples/python-peer respond alike to mutated frames. CAMPANILE_TEST_INPUTS sets their number."""

import json
import os
import random

from campanile_wire import Peer

INPUTS = int(os.environ.get("CAMPANILE_TEST_INPUTS", 150))
SERVICE = "campanile.rpc.v1.EchoService/"
FRAMES = [
    {"jsonrpc": "2.0", "id": 1, "method": SERVICE + "Echo", "params": {"payload": "a"}, "timeoutMs": 5000, "metadata": {"k": ["v"], "z": "w"}},
    {"jsonrpc": "2.0", "id": 2, "method": SERVICE + "Collect"},
    {"jsonrpc": "2.0", "id": 3, "method": SERVICE + "Fail", "params": {"code": 3, "message": "m"}},
    {"jsonrpc": "2.0", "id": 4, "method": "rpc.prove", "params": {"proof": "m"}},
    {"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 2, "messages": 1, "bytes": 7}},
    {"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": 2, "message": {"payload": "a"}}},
    {"jsonrpc": "2.0", "id": 0, "method": "rpc.hello", "params": {
        "versions": ["1"], "capabilities": ["a"], "maxFrameBytes": 70_000, "streamCredit": {"messages": 64, "bytes": 1 << 20}, "agent": "x"}},
    [{"jsonrpc": "2.0", "id": 5, "method": "rpc.ping"}, {"jsonrpc": "2.0", "id": 6, "method": SERVICE + "Fail", "params": {"code": 5}}],
]
VALUES = [None, 0, 1, -1, 1.5, 1e300, True, "", "x", "1", [], {}, [1], ["1"], {"a": 1}, "rpc.ping", "rpc.x", 1 << 53, (1 << 53) - 1, 1 << 31,
          (1 << 31) - 1, 65_536, 65_535, "x" * 65, "é" * 33]
NAMES = ["later", "id", "params", "timeoutMs", "method", "jsonrpc"]


def mutated(chance):
    """Returns a frame's text with one or two mutations."""
    frame = json.loads(json.dumps(chance.choice(FRAMES)))
    for _ in range(chance.randrange(1, 3)):
        node = frame
        while node:
            key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if isinstance(node[key], (dict, list)) and node[key] and chance.random() < 0.6:
                node = node[key]
                continue
            kind = chance.random()
            if kind < 0.2:
                del node[key]
            else:
                name = key if kind < 0.85 or isinstance(node, list) else chance.choice(NAMES)
                node[name] = json.loads(json.dumps(chance.choice(VALUES)))
            break
    text = json.dumps(frame, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.05:
        position = chance.randrange(len(text))
        text = text[:position] + chance.choice('{}[]",:\\\0') + text[position + 1:]
    return text


def outcome(response):
    """Returns what must be equal. The id of a frame that is not JSON may be null, and of several faults any may be reported."""
    if isinstance(response, list):
        return sorted(map(outcome, response))
    if response is None or response.get("method"):
        return json.dumps(response)
    if "result" in response:
        return json.dumps([response["id"], response["result"].get("version", response["result"])])
    error = response["error"]
    return json.dumps([response["id"] if error["code"] != -32700 else None, error["data"]["status"]])


def outcomes(port, text, delay_ms):
    """Sends the frame alone, and waits until a call that was sent later has ended."""
    found = []
    with Peer(port) as peer:
        peer.send(text)
        peer.send({"jsonrpc": "2.0", "id": "last", "method": SERVICE + "Echo", "params": {"delayMs": delay_ms}})
        while (response := peer.receive()) is not None:
            if isinstance(response, dict) and response.get("id") == "last":
                return found
            found.append(outcome(response))
    return [*found, "closed"]


def test_both_servers_respond_alike(echo, python_peer):
    chance = random.Random(int(os.environ.get("CAMPANILE_TEST_SEED", 1)))
    for _ in range(INPUTS):
        text = mutated(chance)
        # On a busy machine, a response may take longer than the short delay.
        if outcomes(echo.port, text, 20) != outcomes(python_peer.port, text, 20):
            assert outcomes(echo.port, text, 2000) == outcomes(python_peer.port, text, 2000), text
