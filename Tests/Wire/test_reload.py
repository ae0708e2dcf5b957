"""Changes to running processes: certificates, settings and the log level; and the addresses that processes refuse to listen on."""

import http.client
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from campanile_wire import Peer, reason
from wire_pki import ECHO, TOKEN, context, start_gateway
from wire_process import BINARIES, fixed_port


def eventually(condition, what, seconds=60):
    """Waits until `condition` returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def replace(pair, target):
    """Replaces a certificate and its key, one after the other, like a renewal tool."""
    for source, place in zip(pair, target):
        fresh = f"{place}.new"
        shutil.copy(source, fresh)
        pathlib.Path(fresh).chmod(0o600)
        pathlib.Path(fresh).rename(place)


def names(port):
    """Returns the names of the certificate that a new connection receives."""
    unverified = ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        with unverified.wrap_socket(plain) as encrypted:
            der = encrypted.getpeercert(binary_form=True)
    text = subprocess.run(
        ["openssl", "x509", "-inform", "DER", "-noout", "-ext", "subjectAltName"], input=der, capture_output=True,
        check=True).stdout.decode()
    return [word.strip() for word in text.splitlines()[-1].split(",")]


def log(process):
    return process.log_path.read_text()


@pytest.fixture
def pair(tmp_path, pki):
    """Creates a certificate and key that the test may replace."""
    target = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    replace(pki.server, target)
    return target


@pytest.fixture
def gateway(start, pair):
    backend = start("campanile-echo", internal_token=TOKEN)
    return start_gateway(start, backend, "--tls-cert-file", pair[0], "--tls-key-file", pair[1], "--log-format", "json")


@pytest.mark.parametrize("how", ["the files change", "SIGHUP"])
def test_new_certificates_are_shown_and_open_connections_go_on(gateway, pki, pair, how):
    ports = [gateway.port, gateway.ready["http"]]
    assert all("IP Address:127.0.0.1" in names(port) for port in ports)
    with Peer(gateway.port, tls=context(pki.authority)) as peer:
        assert "result" in peer.hello(TOKEN)
        renewed = pki.authority.issue("renewed", "IP:127.0.0.1,DNS:renewed.test")
        replace(renewed, pair)
        if how == "SIGHUP":
            gateway.process.send_signal(signal.SIGHUP)
        eventually(lambda: all("DNS:renewed.test" in names(port) for port in ports), "the new certificate is shown")
        # Open connections are not disturbed.
        assert peer.call(ECHO, {"payload": "still"}, timeoutMs=15_000)["result"] == {"payload": "still"}
    with Peer(gateway.port, tls=context(pki.authority), server_name="renewed.test") as peer:
        assert "result" in peer.hello(TOKEN)
        assert peer.call(ECHO, {"payload": "new"}, timeoutMs=15_000)["result"] == {"payload": "new"}


@pytest.mark.parametrize("broken", ["another key", "no PEM", "an empty key", "no certificate", "a key that others may read"])
def test_a_broken_pair_changes_nothing_and_is_told(gateway, pki, pair, broken):
    before = names(gateway.port)
    match broken:
        case "another key":
            replace([pair[0], pki.client[1]], pair)
        case "no PEM":
            pathlib.Path(pair[0]).write_text("this is no certificate")
        case "an empty key":
            pathlib.Path(pair[1]).write_text("")
        case "no certificate":
            pathlib.Path(pair[0]).unlink()
        case "a key that others may read":
            replace(pki.named_server, pair)
            pathlib.Path(pair[1]).chmod(0o644)
    gateway.process.send_signal(signal.SIGHUP)
    line = eventually(
        lambda: next((line for line in log(gateway).splitlines() if "the new configuration cannot be used" in line), None),
        "the failure is logged")
    assert json.loads(line)["level"] == "error"
    assert str(pathlib.Path(pair[0]).parent) in json.loads(line)["metadata"]["error"]
    assert [names(gateway.port), names(gateway.ready["http"])] == [before, before]
    # A valid pair is loaded without a restart.
    replace(pki.authority.issue("mended", "DNS:mended.test,IP:127.0.0.1"), pair)
    eventually(lambda: "DNS:mended.test" in names(gateway.port), "the mended pair is shown")


def test_connections_that_come_all_the_time_never_fail_while_certificates_change(gateway, pki, pair):
    stop, failures, count = threading.Event(), [], [0]

    def connect():
        while not stop.is_set():
            try:
                with Peer(gateway.port, tls=context(pki.authority)) as peer:
                    assert "result" in peer.hello(TOKEN)
                count[0] += 1
            except Exception as error:
                failures.append(repr(error))

    threads = [threading.Thread(target=connect) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for index in range(5):
            replace(pki.authority.issue(f"turn{index}", f"IP:127.0.0.1,DNS:turn{index}.test"), pair)
            gateway.process.send_signal(signal.SIGHUP)
            eventually(lambda: f"DNS:turn{index}.test" in names(gateway.port), "the next one is shown")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures and count[0] > 5


def test_settings_are_taken_up_whole_or_not_at_all(start, tmp_path):
    backend, other = (start("campanile-echo", internal_token=TOKEN) for _ in range(2))
    file = tmp_path / "gateway.json"

    def write(**settings):
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(settings))
        fresh.rename(file)

    def address(process):
        return f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{process.port}"

    write(backends=[address(backend)])
    gateway = start(
        "campanile-gateway", "--data-dir", str(tmp_path / "data"), "--config", str(file), "--log-format", "json",
        internal_token=TOKEN)
    admin = gateway.ready["admin"]

    def addresses():
        backends = json.loads(ask(admin, "GET", "/admin/backends")[1])["backends"]
        return [one["address"] for one in backends[0]["addresses"] if not one["isLeaving"]]

    assert addresses() == [f"127.0.0.1:{backend.port}"]
    # The second setting is invalid, so the first one is not applied either.
    for wrong in [{"principal-rate": "no rate"}, {"call-timeout-ms": 5}, {"unknown": 1}]:
        mark = log(gateway).count("the new configuration cannot be used")
        write(backends=[address(other)], **wrong)
        eventually(lambda: log(gateway).count("the new configuration cannot be used") > mark, "the failure is logged")
        assert addresses() == [f"127.0.0.1:{backend.port}"]
        status, body = ask(admin, "POST", "/admin/reload", b"{}")
        assert status == 409 and "nothing was changed" in body
    write(**{"backends": [address(other)], "principal-rate": "7:9", "log-level": "debug"})
    eventually(lambda: addresses() == [f"127.0.0.1:{other.port}"], "the other backend is used")
    assert json.loads(ask(admin, "GET", "/admin/limits")[1])["principalRate"] == "7:9"
    assert json.loads(ask(admin, "GET", "/admin/log-level")[1]) == {"level": "debug"}
    with Peer(gateway.port) as peer:
        assert "result" in peer.hello(TOKEN)
        assert peer.call(ECHO, {"payload": "moved"}, timeoutMs=15_000)["result"] == {"payload": "moved"}


def ask(port, method, path, body=None, host="127.0.0.1", **headers):
    """Sends a request to the operator's port. Returns the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    given = {"Host": f"{host}:{port}", **({"Content-Type": "application/json"} if body is not None else {}), **headers}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


# MARK: addresses that processes refuse to listen on

@pytest.mark.parametrize("name", ["campanile-gateway", "campanile-echo", "campanile-notifications", "campanile-attendance"])
def test_nothing_listens_beyond_loopback_in_plaintext_unless_it_is_meant(tmp_path, name):
    def run(*flags, **settings):
        return subprocess.run(
            [str(BINARIES / name), "--host", "0.0.0.0", "--port", "0", "--http-port", "0", "--data-dir", str(tmp_path),
             *flags],
            env={"CAMPANILE_INTERNAL_TOKEN": TOKEN, **settings}, capture_output=True, text=True, timeout=60)

    refused = run()
    assert refused.returncode == 78 and len(refused.stderr.splitlines()) == 1
    for way in ["refusing to listen on 0.0.0.0 in plaintext", "--tls-cert-file", "--insecure-plaintext", "127.0.0.1"]:
        assert way in refused.stderr


def test_plaintext_beyond_loopback_may_be_meant(start):
    flags = ["--host", "0.0.0.0"]
    for settings in [{"insecure_plaintext": "true"}, {}]:
        extra = [] if settings else ["--insecure-plaintext"]
        echo = start("campanile-echo", *flags, *extra, internal_token=TOKEN, **settings)
        with Peer(echo.port) as peer:
            assert peer.call(ECHO, {"payload": "x"})["result"] == {"payload": "x"}


def test_plain_http_is_sent_to_https(start, pki):
    backend = start("campanile-echo", internal_token=TOKEN)
    port = fixed_port()
    certificate, key = pki.server
    tls = ["--tls-cert-file", certificate, "--tls-key-file", key, "--https-redirect-port", str(port)]
    gateway = start_gateway(start, backend, *tls)

    def redirect(method, path, host, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, answer.getheader("location")

    https = gateway.ready["http"]
    assert redirect("GET", "/notifications/v1/buckets?a=b", "api.example") == (308, f"https://api.example:{https}/notifications/v1/buckets?a=b")
    assert redirect("POST", "/notifications/v1/buckets", f"127.0.0.1:{port}") == (308, f"https://127.0.0.1:{https}/notifications/v1/buckets")
    assert redirect("GET", "/", "api.example/evil") == (400, None)
    assert redirect("GET", "/", "user@evil.example") == (400, None)
    status, location = redirect("GET", "/healthz", f"127.0.0.1:{port}")
    connection = http.client.HTTPSConnection("127.0.0.1", https, timeout=30, context=context(pki.authority))
    connection.request("GET", location.removeprefix(f"https://127.0.0.1:{https}"))
    assert connection.getresponse().read() == b"ok\n"


def test_a_redirect_needs_tls(tmp_path):
    result = subprocess.run(
        [str(BINARIES / "campanile-gateway"), "--port", "0", "--data-dir", str(tmp_path), "--https-redirect-port", "1"],
        capture_output=True, text=True, timeout=60)
    assert result.returncode == 78 and "needs TLS" in result.stderr


# MARK: the operator's port

@pytest.fixture
def plain(start, tmp_path):
    backend = start("campanile-echo", internal_token=TOKEN)
    return start_gateway(start, backend, "--log-format", "json", "--trusted-proxies", "127.0.0.1/32")


def test_peers_that_trickle_keep_neither_the_operator_nor_scrapes_out(start):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(start, backend)
    for port, count in ((gateway.ready["admin"], 32), (backend.ready["http"], 256)):
        tricklers = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for number, one in enumerate(tricklers):
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " if number % 2 else b"G")
        for path in ("/healthz", "/metrics", "/readyz"):
            assert ask(port, "GET", path)[0] == 200
        if port == gateway.ready["admin"]:
            top = subprocess.run(
                [str(BINARIES / "campanile"), "top", "--address", f"127.0.0.1:{port}", "--once"], capture_output=True, text=True,
                timeout=60)
            assert top.returncode == 0, top.stderr
        for one in tricklers:
            one.close()


def test_metrics_are_the_operators(start, tmp_path):
    backend = start("campanile-echo", internal_token=TOKEN)
    port = fixed_port()
    gateway = start_gateway(start, backend, "--metrics-address", f"127.0.0.1:{port}")
    for where in (gateway.ready["admin"], port, backend.ready["http"]):
        status, body = ask(where, "GET", "/metrics")
        assert status == 200 and "campanile_server_handled_total" in body
        assert ask(where, "GET", "/healthz") == (200, "ok\n")
        assert json.loads(ask(where, "GET", "/readyz")[1])["status"] == "ready"
    assert ask(gateway.ready["admin"], "POST", "/metrics", b"{}")[0] == 405
    assert ask(gateway.ready["http"], "GET", "/metrics")[0] == 404
    assert ask(gateway.ready["http"], "GET", "/healthz") == (200, "ok\n")
    assert ask(gateway.ready["http"], "GET", "/readyz")[0] == 200
    # The additional address does not serve the operator's paths.
    assert ask(port, "GET", "/admin/summary")[0] == 404


@pytest.mark.parametrize("flag, value, words", [
    ("--metrics-address", "7500", "is not HOST:PORT"), ("--metrics-address", "h:0", "is not HOST:PORT"),
    ("--allowed-hosts", "https://api.example", "without a scheme and a port"),
    ("--allowed-hosts", "api.example:443", "without a scheme and a port"),
])
def test_wrong_addresses_and_hosts_end_the_start(tmp_path, flag, value, words):
    result = subprocess.run(
        [str(BINARIES / "campanile-gateway"), "--port", "0", "--http-port", "0", "--data-dir", str(tmp_path), flag, value],
        capture_output=True, text=True, timeout=60)
    assert result.returncode != 0 and words in result.stderr and flag.lstrip("-") in result.stderr, result.stderr


def test_a_foreign_host_is_refused_on_loopback(start):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(start, backend, "--allowed-hosts", "api.example,other.example")
    port = gateway.ready["http"]
    for path in ["/healthz", "/openapi.json", "/notifications/v1/buckets", "/nothing"]:
        status, body = ask(port, "GET", path, host="evil.example")
        assert status == 403 and "HOST_NOT_ALLOWED" in body, path
        for host in ("127.0.0.1", "localhost", "api.example", "OTHER.example"):
            assert ask(port, "GET", path, host=host)[0] != 403, (path, host)


def test_any_host_may_be_named_beyond_loopback(start):
    backend = start("campanile-echo", internal_token=TOKEN)
    beyond = ["--host", "0.0.0.0", "--insecure-plaintext"]
    gateway = start_gateway(start, backend, *beyond)
    assert ask(gateway.ready["http"], "GET", "/healthz", host="any.example")[0] == 200


def test_the_operators_surface_is_for_programs_of_this_machine(plain):
    port = plain.ready["admin"]
    for path in ["/admin/summary", "/admin/routes", "/admin/backends", "/admin/calls", "/admin/limits", "/admin/log-level"]:
        status, body = ask(port, "GET", path)
        assert status == 200 and json.loads(body), path
    assert ask(port, "GET", "/admin/nothing")[0] == 404
    # A page whose host name was rebound to this machine, and one that posts across sites.
    assert ask(port, "GET", "/admin/summary", host="evil.example")[0] == 403
    assert ask(port, "GET", "/admin/summary", Origin="https://evil.example")[0] == 403
    assert ask(port, "GET", "/admin/summary", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    change = b'{"level":"trace"}'
    assert ask(port, "POST", "/admin/log-level", change, **{"Content-Type": "text/plain"})[0] == 415
    assert ask(port, "POST", "/admin/log-level", change, Origin="http://127.0.0.1")[0] == 403
    assert ask(port, "POST", "/admin/reload", b"{}", host="evil.example")[0] == 403
    assert json.loads(ask(port, "GET", "/admin/log-level")[1]) == {"level": "info"}
    assert ask(port, "DELETE", "/admin/summary", b"{}")[0] == 405
    assert ask(port, "POST", "/admin/reload", b"x" * 100_000)[0] == 413
    # The paths are not served on the public port, and the operator's port listens only on the loopback interface.
    assert get_status(plain.ready["http"], "/admin/summary") in (401, 404)
    listening = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True)
    if listening.returncode == 0:
        assert "127.0.0.1" in listening.stdout and "0.0.0.0:" + str(port) not in listening.stdout


def get_status(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_log_level_changes_at_run_time(plain):
    port = plain.ready["admin"]
    assert '"level":"debug"' not in log(plain)
    assert json.loads(ask(port, "PUT", "/admin/log-level", b'{"level":"debug"}')[1]) == {"level": "debug"}
    with Peer(plain.port) as peer:
        assert "result" in peer.hello(TOKEN)
        # A call that fails because a backend refuses connections is logged at debug level, the change itself at notice
        # level.
        peer.call(ECHO, {"payload": "x"}, timeoutMs=15_000)
    assert "the log level was changed" in log(plain)
    for wrong in [b'{"level":"loud"}', b"{}", b"debug", b"[]"]:
        assert ask(port, "PUT", "/admin/log-level", wrong)[0] == 400
    assert json.loads(ask(port, "GET", "/admin/log-level")[1]) == {"level": "debug"}


def test_callers_behind_a_proxy_are_told_apart(plain):
    def known():
        return {one["name"] for one in json.loads(ask(plain.ready["admin"], "GET", "/admin/limits")[1])["addresses"]}

    for caller in ["203.0.113.5", "6.6.6.6, 203.0.113.6", "203.0.113.7, 127.0.0.1"]:
        get_status(plain.ready["http"], "/notifications/v1/buckets", **{"X-Forwarded-For": caller})
    connection = http.client.HTTPConnection("127.0.0.1", plain.ready["http"], timeout=30)
    for caller in ["203.0.113.8", "203.0.113.9"]:
        # The proxy's connection carries the calls of several callers.
        connection.request(
            "POST", "/" + ECHO, '{"payload":"x"}', {"Content-Type": "application/json", "X-Forwarded-For": caller})
        assert connection.getresponse().read()
    connection.close()
    assert {f"203.0.113.{number}" for number in (8, 9)} <= known()
    assert "6.6.6.6" not in known()


def test_top_shows_what_goes_on(plain):
    stop = threading.Event()

    def load():
        with Peer(plain.port) as peer:
            assert "result" in peer.hello(TOKEN)
            while not stop.is_set():
                assert "result" in peer.call(ECHO, {"payload": "x"}, timeoutMs=15_000)
                assert "error" in peer.call(ECHO, {"payload": "x", "delayMs": -1}, timeoutMs=15_000)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        eventually(lambda: ECHO in ask(plain.ready["admin"], "GET", "/admin/summary")[1], "calls are counted")
        result = subprocess.run(
            [str(BINARIES / "campanile"), "top", "--address", f"127.0.0.1:{plain.ready['admin']}", "--once"],
            capture_output=True, text=True, timeout=60)
    finally:
        stop.set()
        thread.join()
    assert result.returncode == 0, result.stderr
    frame = json.loads(result.stdout)
    method = next(one for one in frame["methods"] if one["method"] == ECHO)
    assert method["rate"] > 0 and 0 < method["errorRate"] < method["rate"] and method["mostError"] == "INVALID_ARGUMENT"
    assert 0 < method["p50Ms"] <= method["p99Ms"]
    assert frame["backends"][0]["name"] == "echo" and frame["backends"][0]["isServing"]
    nobody = subprocess.run(
        [str(BINARIES / "campanile"), "top", "--address", f"127.0.0.1:{fixed_port()}", "--once"], capture_output=True,
        text=True, timeout=60)
    assert nobody.returncode == 14 and "is the gateway running" in nobody.stderr


def test_a_name_is_resolved_to_its_addresses(start, tmp_path):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start(
        "campanile-gateway", "--data-dir", str(tmp_path / "named"), "--backends",
        f"echo@campanile.rpc.v1.EchoService=localhost:{backend.port}", internal_token=TOKEN)
    with Peer(gateway.port) as peer:
        assert "result" in peer.hello(TOKEN)
        assert peer.call(ECHO, {"payload": "named"}, timeoutMs=15_000)["result"] == {"payload": "named"}
    backends = json.loads(ask(gateway.ready["admin"], "GET", "/admin/backends")[1])["backends"]
    assert [one["address"] for one in backends[0]["addresses"]] == [f"127.0.0.1:{backend.port}"]


def test_little_memory_refuses_calls_and_says_so(start, tmp_path):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(start, backend, "--max-memory-bytes", "1000000")

    def refused():
        with Peer(gateway.port) as peer:
            return reason(peer.call(ECHO, {"payload": "x"}, timeoutMs=15_000)) == "MEMORY_EXHAUSTED"

    eventually(refused, "calls are refused")
    with Peer(gateway.port) as peer:
        # The operator's own programs are still served.
        assert "result" in peer.hello(TOKEN)
        assert peer.call(ECHO, {"payload": "x"}, timeoutMs=15_000)["result"] == {"payload": "x"}
    assert json.loads(ask(gateway.ready["admin"], "GET", "/admin/limits")[1])["memoryPressure"] == "full"
