"""Plays every transcript of docs/wire-protocol.md against the Swift server and against the server of Examples/python-peer."""

import itertools
import json
import re

import pytest

from campanile_wire import Peer
from wire_process import ROOT, Process

BLOCK = re.compile(r"```transcript ([^\n]+)\n(.*?)```", re.S)
LETTERS = re.compile(r'"x\*(\d+)"')
TRANSCRIPTS = BLOCK.findall((ROOT / "docs" / "wire-protocol.md").read_text())


def matches(expected, actual):
    """Returns whether both values are equal; the string … in `expected` matches any value."""
    if expected == "…":
        return True
    if isinstance(expected, dict):
        return isinstance(actual, dict) and expected.keys() == actual.keys() and all(matches(expected[k], actual[k]) for k in expected)
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(matches, expected, actual))
    return type(expected) is type(actual) and expected == actual


def in_any_order(expected, actual):
    """Returns whether two batches match. Other servers than Swift's may start a call later than they refuse another."""
    return any(matches(list(order), actual) for order in itertools.permutations(expected))


def received(peer, server):
    """Returns the next frame. Other servers than Swift's may send grants for the whole connection in between."""
    while True:
        frame = peer.receive()
        if is_swift(server) or not (isinstance(frame, dict) and frame.get("method") == "rpc.credit" and "id" not in frame["params"]):
            return frame


def is_swift(server):
    return type(server) is Process


def test_there_are_transcripts():
    assert len(TRANSCRIPTS) >= 15


@pytest.mark.parametrize("name,text", TRANSCRIPTS, ids=[name for name, _ in TRANSCRIPTS])
def test_transcript(either, name, text):
    with Peer(either.port) as peer:
        for line in LETTERS.sub(lambda found: f'"{"x" * int(found[1])}"', text).strip().splitlines():
            if line.startswith(">x "):
                peer.send_bytes(bytes.fromhex(line[3:]))
            elif line.startswith("> "):
                peer.send(line[2:])
            elif line == "< closed":
                assert received(peer, either) is None
            else:
                assert line.startswith("< "), line
                expected, actual = json.loads(line[2:]), received(peer, either)
                same = in_any_order if isinstance(expected, list) and not is_swift(either) else matches
                assert same(expected, actual), f"expected {line[2:1000]}, got {json.dumps(actual)[:1000]}"
