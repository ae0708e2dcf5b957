"""The client and the servers of Examples/python-peer: against the Swift server, against each other, and against hostile peers."""

import asyncio
import json
import random
import re
import ssl
import subprocess
import sys

import pytest

from campanile_wire import Peer, reason
from wire_cases import ANY, ECHO, judged, named, path, requests, streams
from wire_pki import context
from wire_process import BINARIES, ROOT, Process, PythonPeer

sys.path.insert(0, str(PythonPeer.FOLDER))

import peer  # noqa: E402
from echo_server import HANDLERS  # noqa: E402
from peer import Connection, RPCError, Server  # noqa: E402
from strict_server import StrictConnection, StrictServer  # noqa: E402

SERVICE = "campanile.rpc.v1.EchoService/"
LINE_MAX = 132


def run(port, exchange, **hello):
    """Runs `exchange(client)` on a connection."""
    async def connected():
        async with Connection.to("127.0.0.1", port, **hello) as client:
            return await exchange(client)

    return asyncio.run(asyncio.wait_for(connected(), 60))


async def settled(value):
    """Waits until `value()` has not changed for 300 ms, and returns it."""
    before, now = None, value()
    while before != now:
        await asyncio.sleep(0.3)
        before, now = now, value()
    return now


def player(suite, case):
    """Returns the exchange of a case."""
    async def play(client):
        streams_requests, streams_responses = streams(case)
        params = None if streams_requests else requests(case)[0]
        timeout_s = case["timeoutMs"] / 1000 if "timeoutMs" in case else None
        call, responses = client.open(path(suite, case), params, timeout_s, case.get("metadata")), []

        async def receive():
            async for message in call:
                responses.append(message)
                if case.get("stop") == "first":
                    call.cancel()

        receiving = asyncio.create_task(receive())
        try:
            if streams_requests:
                for number, message in enumerate(requests(case)):
                    while case.get("turns") and len(responses) < number and not call.ended:
                        await asyncio.sleep(0.001)
                    await call.send(message)
                if not case.get("open") and "stop" not in case:
                    call.half_close()
            if case.get("stop") == "begin":
                call.cancel()
            result = await call.response
            await receiving
            judged(case, responses if streams_responses else [result], "OK")
        except RPCError as error:
            await asyncio.wait([receiving])
            receiving.exception()
            judged(case, responses, error.status, error.message if case["status"] == "UNKNOWN" else None)
        assert await client.call("rpc.ping") == {}

    return play


@pytest.mark.parametrize("case", named(ECHO["cases"]))
def test_cases_by_the_python_client(any_server, case):
    run(any_server.port, player(ECHO, case))


@pytest.mark.parametrize("server", ["echo", "python_peer", "plain_peer"])
@pytest.mark.parametrize("case", named(ANY["cases"]))
def test_cases_of_any_server_by_the_python_client(request, server, case):
    run(request.getfixturevalue(server).port, player(ANY, case))


def test_a_slow_reader_holds_back_only_its_own_stream(any_server):
    async def read_late(client):
        call = client.open(SERVICE + "Expand", {"payload": "x" * 100_000, "count": 60})
        while call.messages.qsize() < 11:  # 1 MiB, which the last message overdraws.
            await asyncio.sleep(0.01)
        assert await settled(call.messages.qsize) == 11
        assert await client.call(SERVICE + "Echo", {"payload": "other"}) == {"payload": "other"}
        assert [message.get("index", 0) async for message in call] == list(range(60))

    run(any_server.port, read_late)


def test_a_sender_waits_for_a_slow_reader(any_server):
    async def send_much(client):
        call, sent = client.open(SERVICE + "Chat"), []

        async def send():
            for number in range(60):
                await call.send({"payload": "x" * 100_000})
                sent.append(number)
            call.half_close()

        sending = asyncio.create_task(send())
        # Both directions have a credit of 1 MiB, and the server has granted what it has read.
        assert await settled(lambda: len(sent)) < 40
        assert len([message async for message in call]) == 60
        await sending

    run(any_server.port, send_much)


def test_a_cancelled_task_cancels_its_call(any_server):
    async def cancel(client):
        calling = asyncio.create_task(client.call(SERVICE + "Echo", {"delayMs": 60_000}))
        await asyncio.sleep(0.05)
        calling.cancel()
        await asyncio.wait([calling])
        assert calling.cancelled() and not client.calls
        assert await client.call(SERVICE + "Echo", {"payload": "a"}) == {"payload": "a"}

    run(any_server.port, cancel)


def test_a_batch_returns_results_and_errors(either):
    async def batch(client):
        found = await client.batch([(SERVICE + "Echo", {"payload": "a"}), (SERVICE + "Fail", {"code": 5}), ("rpc.ping", None),
                                    (SERVICE + "Expand", {"count": 1})])
        assert [one if isinstance(one, dict) else one.status for one in found] == [{"payload": "a"}, "NOT_FOUND", {}, "INVALID_ARGUMENT"]
        assert found[1].reason == "FAILED_AS_ASKED" and found[1].processed and not found[3].processed

    run(either.port, batch)


def test_a_plain_server_responds_to_a_batch(plain_peer):
    async def batch(client):
        found = await client.batch([(SERVICE + "Echo", {"payload": "a"}), (SERVICE + "Fail", {"code": 5}), ("rpc.ping", None)])
        assert [one if isinstance(one, dict) else one.status for one in found] == [{"payload": "a"}, "NOT_FOUND", {}]

    run(plain_peer.port, batch)


def test_hello_is_checked(either):
    with pytest.raises(RPCError) as refused:
        run(either.port, None, versions=["2", "3"])
    assert refused.value.reason == "VERSION_UNSUPPORTED"
    with pytest.raises(RPCError) as refused:
        run(either.port, None, token="wrong")
    assert refused.value.status == "UNAUTHENTICATED"

    async def long_result(client):
        with pytest.raises(RPCError) as error:
            await client.call(SERVICE + "Echo", {"payload": "x" * 70_000})
        return error.value.reason

    assert run(either.port, long_result, maxFrameBytes=65_536, later={"unknown": True}) == "RESULT_TOO_LARGE"


@pytest.mark.parametrize("server", ["swift", "strict", "plain"])
def test_a_server_that_goes_away_finishes_its_calls(server, tmp_path):
    process = Process("campanile-echo", tmp_path) if server == "swift" else PythonPeer(tmp_path, server)

    async def drain(client):
        begun = client.open(SERVICE + "Echo", {"payload": "begun", "delayMs": 1000})
        stream = client.open(SERVICE + "Chat")
        await stream.send({"payload": "a"})
        responses = aiter(stream)
        assert await anext(responses) == {"payload": "a"}
        process.process.terminate()
        while not client.refusal:
            await asyncio.sleep(0.01)
        with pytest.raises(RPCError) as refused:
            client.open(SERVICE + "Echo", {"payload": "late"})
        assert refused.value.reason == "DRAINING" and not refused.value.processed
        # Other clients overlook the notification: the server refuses their calls in a way that lets them try elsewhere.
        client.refusal = None
        with pytest.raises(RPCError) as refused:
            await client.call(SERVICE + "Echo", {"payload": "late"})
        assert refused.value.reason == "DRAINING" and not refused.value.processed
        await stream.send({"payload": "b"})
        assert await anext(responses) == {"index": 1, "payload": "b"}
        stream.half_close()
        assert await begun.response == {"payload": "begun"} and await stream.response == {}
        await asyncio.wait([client.task])  # The connection ends.

    try:
        run(process.port, drain)
        assert process.process.wait(20) == 0
    finally:
        process.stop()


LATER = {"later": {"any": ["thing"]}}


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_swift_client_accepts_a_later_server_unless_it_chooses_another_version(version, monkeypatch):
    """A later server adds members to everything, capabilities and notifications. The errors are those of the command."""
    hello, send = StrictConnection.hello, Connection.send
    later = LATER | {"version": version, "capabilities": ["compression"]}
    monkeypatch.setattr(StrictConnection, "hello", lambda connection, params: hello(connection, params) | later)

    def send_later(connection, **members):
        send(connection, method="rpc.later", params={"id": members.get("id")})
        if "error" in members:
            members["error"] = members["error"] | LATER | {"data": members["error"]["data"] | LATER}
        return send(connection, **members, **LATER)

    monkeypatch.setattr(Connection, "send", send_later)

    def call(port, method, message):
        command = [str(BINARIES / "campanile"), "call", SERVICE + method, json.dumps(message), "--address", f"127.0.0.1:{port}"]
        return subprocess.run([*command, "--output", "json"], capture_output=True, text=True, timeout=25)

    def check(port):
        done = call(port, "Expand", {"payload": "a", "count": 2})
        if version == "2":
            assert done.returncode != 0 and "version" in done.stderr, done
        else:
            assert [json.loads(line) for line in done.stdout.splitlines()] == [{"payload": "a"}, {"index": 1, "payload": "a"}], done
            assert call(port, "Fail", {"code": 5}).returncode == 5

    served(check)


def hostile_server(*frames):
    """Runs a client against a server that responds to hello with `frames`. Returns the client's error."""
    async def exchange():
        async def serve(reader, writer):
            await reader.read(1 << 16)
            writer.write(b"".join(frames))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1")
        async with Connection.to("127.0.0.1", server.sockets[0].getsockname()[1]) as client:
            await client.call("rpc.ping", timeout_s=5)

    with pytest.raises((RPCError, OSError)) as failure:
        asyncio.run(asyncio.wait_for(exchange(), 20))
    return failure.value


def test_no_server_makes_the_client_fail_otherwise_than_by_an_error():
    hello = {"jsonrpc": "2.0", "id": 1, "result": {"version": "1"}}
    texts = ["", "[]", "7", "null", "{}", "[[[]]]", "{\"id\":{}}", "{\"id\":1}", "[" * 100_000, "\"\\ud800\"", "9" * 5000,
             json.dumps(hello | {"result": 7}), json.dumps(hello | {"result": {"version": "1", "streamCredit": 7, "maxFrameBytes": "x"}}),
             json.dumps(hello | {"error": {"data": {"status": [], "details": {}}}}), json.dumps({"method": "rpc.message", "params": []}),
             json.dumps({"method": "rpc.credit", "params": {"bytes": -1}}), json.dumps({"method": 7, "id": []})]
    for text in texts:
        assert hostile_server(Peer.frame(json.dumps(hello)), Peer.frame(text.encode())), text[:40]
        assert hostile_server(Peer.frame(text.encode())), text[:40]
    assert hostile_server(b"\1\0\0\1x") and hostile_server(b"\0\xff\xff\xff") and hostile_server(b"\0")


def test_a_stream_without_credit_ends_at_the_client():
    def frame(index):
        return Peer.frame(json.dumps({"method": "rpc.message", "params": {"id": 2, "message": {"index": index}}}))

    async def exchange():
        async def serve(reader, writer):
            await reader.read(1 << 16)
            writer.write(Peer.frame('{"id":1,"result":{"version":"1"}}'))
            await reader.read(1 << 16)
            writer.write(b"".join(map(frame, range(33))))
            await reader.read(1 << 16)

        server = await asyncio.start_server(serve, "127.0.0.1")
        async with Connection.to("127.0.0.1", server.sockets[0].getsockname()[1]) as client:
            with pytest.raises(RPCError) as failure:
                await client.open("s.S/M", {}).response
        return failure.value.reason

    assert asyncio.run(asyncio.wait_for(exchange(), 20)) == "CREDIT_EXCEEDED"


def test_no_client_makes_the_server_fail(python_peer):
    """Mutated frames. `python_peer` checks at the end that no traceback was logged."""
    chance = random.Random(7)
    frames = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": SERVICE + "Echo", "params": {"payload": "a"}, "timeoutMs": 5, "metadata": {"k": ["v"]}}),
              json.dumps({"jsonrpc": "2.0", "id": "s", "method": SERVICE + "Chat"}), json.dumps({"method": "rpc.end", "params": {"id": "s"}}),
              json.dumps({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": "s", "message": {"payload": "a"}}}),
              json.dumps({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": "s", "messages": 1, "bytes": 7}}),
              json.dumps({"jsonrpc": "2.0", "id": 0, "method": "rpc.hello", "params": {"versions": ["1"], "streamCredit": {"messages": 64}, "token": "t"}}),
              json.dumps([{"jsonrpc": "2.0", "id": 2, "method": "rpc.ping"}, {"jsonrpc": "2.0", "id": 3, "method": SERVICE + "Expand"}])]
    values = ["null", "7", "-1", "1.5", "1e999", "true", '""', "[]", "{}", '"\\ud800"', "9" * 400, "[[]]", '{"a":1,"a":2}']
    for _ in range(60):
        with Peer(python_peer.port) as peer:
            for _ in range(20):
                text = chance.choice(frames)
                for _ in range(chance.randrange(3)):
                    parts = text.split(chance.choice(['"', ":", ",", "1"]))
                    parts[chance.randrange(len(parts))] = chance.choice(values)
                    text = chance.choice(['"', ":", ","]).join(parts) if chance.random() < 0.3 else text.replace(
                        chance.choice(['"s"', "1", '"a"', '"2.0"', "7"]), chance.choice(values))
                try:
                    peer.send(text.encode())
                except OSError:
                    break  # The server has closed the connection.
    with Peer(python_peer.port) as peer:
        assert peer.call(SERVICE + "Echo", {"payload": "still here"})["result"] == {"payload": "still here"}


@pytest.mark.parametrize("frame, expected", [
    ({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": 9}}, "CONTROL_FLOOD"), ({"jsonrpc": "2.0", "method": 7}, "MALFORMED_FLOOD")])
def test_floods_end_the_connection(either, frame, expected):
    with Peer(either.port) as peer:
        for _ in range(201):
            peer.send(frame)
        answer = peer.receive()
        while answer and reason(answer) == "ENVELOPE_INVALID":
            answer = peer.receive()
        assert reason(answer) == expected and answer["id"] is None and peer.receive() is None


def served(check, token=None, kind=StrictServer):
    """Runs `check(port)` in a thread, against a server in this process."""
    async def serve():
        server = kind(HANDLERS, token)
        port = await server.start()
        await asyncio.wait_for(asyncio.to_thread(check, port), 30)
        await server.drain()

    asyncio.run(serve())


def test_a_credit_of_no_open_call_is_ignored(either):
    with Peer(either.port) as peer:
        for members in ({}, {"params": {}}, {"params": {"messages": -1}}, {"params": {"bytes": 7}}, {"params": {"id": 9}}):
            peer.send({"jsonrpc": "2.0", "method": "rpc.credit"} | members)
            assert peer.call(SERVICE + "Echo", {"payload": "a"})["result"] == {"payload": "a"}


def test_an_unknown_extension_does_not_concern_an_open_call(either):
    with Peer(either.port) as client:
        client.send({"jsonrpc": "2.0", "id": 1, "method": SERVICE + "Chat"})
        for method in ["rpc.drain", "rpc.unheard-of"]:
            client.send({"jsonrpc": "2.0", "method": method, "params": {"id": 1}})
            client.send({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"id": 1}})
            assert reason(client.receive()) == "METHOD_UNKNOWN"
        client.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": 1}})
        assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert client.call("rpc.ping")["result"] == {}


def test_a_plain_server_with_a_token_serves_only_its_owners():
    async def echoed(client):
        return await client.call(SERVICE + "Echo", {"payload": "a"})

    def check(port):
        with pytest.raises(RPCError) as refused:
            run(port, echoed)
        assert refused.value.reason == "CREDENTIAL_MISSING" and not refused.value.processed
        with pytest.raises(RPCError) as refused:
            run(port, echoed, token="another secret")
        assert refused.value.reason == "TOKEN_INVALID"
        assert run(port, echoed, token="secret") == {"payload": "a"}

    served(check, "secret", Server)


def test_peer_py_is_short_and_complete():
    """The documents promise a client and a server in fewer than 300 lines, with the standard library alone."""
    source = (PythonPeer.FOLDER / "peer.py").read_text()
    lines = source.splitlines()
    assert len(lines) < 300 and max(map(len, lines)) <= LINE_MAX
    assert set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE)) <= sys.stdlib_module_names
    for page in ["docs/wire-protocol.md", "Examples/README.md"]:
        text = " ".join((ROOT / page).read_text().split())
        assert "python-peer/peer.py" in text and "fewer than 300 lines" in text, page


def test_a_server_with_a_token_serves_only_its_owners():
    def check(port):
        with Peer(port) as peer:
            answer = peer.call(SERVICE + "Echo", {"payload": "a"})
            assert answer["error"]["data"]["status"] == "UNAUTHENTICATED" and answer["error"]["data"]["processed"] is False
            peer.send_bytes((70_000).to_bytes(4, "big"))
            assert reason(peer.receive()) == "FRAME_NEEDS_CREDENTIAL" and peer.receive() is None
        with Peer(port) as peer:
            assert reason(peer.hello("another secret")) == "TOKEN_INVALID" and peer.receive() is None
        with Peer(port) as peer:
            assert peer.hello("secret")["result"]["version"] == "1"
            assert peer.call(SERVICE + "Echo", {"payload": "x" * 70_000})["result"]["payload"]

    served(check, "secret")


def test_a_server_drains_while_it_ends_a_connection():
    def check(port):
        # Stays open, so that the server still reads what may arrive after its error.
        ended.append(Peer(port))
        ended[0].send_bytes(b"\1\0\0\1x")
        assert reason(ended[0].receive()) == "FRAME_FLAGS_UNKNOWN" and ended[0].receive() is None

    ended = []
    served(check)
    ended[0].close()


def test_both_sides_speak_over_tls(pki):
    trusted = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trusted.load_cert_chain(*pki.server)

    async def exchange(authority):
        server = Server(HANDLERS)
        port = await server.start(tls=trusted)
        try:
            async with Connection.to("127.0.0.1", port, tls=context(authority)) as client:
                return await client.call(SERVICE + "Echo", {"payload": "a" * 100_000})
        finally:
            await server.drain()

    assert asyncio.run(exchange(pki.authority)) == {"payload": "a" * 100_000}
    with pytest.raises(ssl.SSLError):
        asyncio.run(exchange(pki.stranger))


def test_quiet_connections_are_pinged_and_silent_ones_closed(monkeypatch):
    monkeypatch.setattr(peer, "PING_S", 1)
    # The client must respond within this time, on a busy machine, too.
    monkeypatch.setattr(peer, "SILENCE_S", 6)

    def check(port):
        with Peer(port) as silent, Peer(port) as quiet:
            for _ in range(3):
                ping = quiet.receive()
                assert ping == {"jsonrpc": "2.0", "id": "ping", "method": "rpc.ping"}
                quiet.send({"jsonrpc": "2.0", "id": "ping", "result": {}})
            assert silent.receive()["method"] == "rpc.ping" and silent.receive() is None
            assert quiet.call("rpc.ping")["result"] == {}

    served(check)


def test_the_client_responds_to_pings():
    async def exchange():
        answers = asyncio.Queue()

        async def serve(reader, writer):
            await reader.read(1 << 16)
            writer.write(Peer.frame('{"id":1,"result":{"version":"1"}}') + Peer.frame('{"id":"ping","method":"rpc.ping"}'))
            await answers.put(await reader.read(1 << 16))

        server = await asyncio.start_server(serve, "127.0.0.1")
        async with Connection.to("127.0.0.1", server.sockets[0].getsockname()[1]):
            return json.loads((await answers.get())[4:])

    assert asyncio.run(asyncio.wait_for(exchange(), 20)) == {"jsonrpc": "2.0", "id": "ping", "result": {}}
