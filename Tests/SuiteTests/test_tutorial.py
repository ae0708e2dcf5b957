"""Every block of the tutorial: its code is in Examples, its manifest is like theirs, and its commands run here."""

import itertools
import json
import pathlib
import re
import shlex
import subprocess
import textwrap
import urllib.parse
import urllib.request

from campanile import BIN, PATIENCE_S, ROOT, environment, eventually
from test_examples import EXAMPLES, run

TUTORIAL = ROOT / "Sources/CampanileRPC/CampanileRPC.docc/BuildingAService.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)


def block(language, part):
    """The only block in a language that contains `part`."""
    (found,) = [text for kind, text in BLOCKS if kind == language and part in text]
    return found


def commands(part):
    """The lines of the shell block that contains `part`."""
    return block("sh", part).replace("\\\n", " ").splitlines()


PACKAGE = block("swift", "swift-tools-version")
CALL = block("swift", "RPCClient.with")
TEST_TARGET = block("swift", ".testTarget(")
DOCKERFILE = block("dockerfile", "FROM")


def test_code_is_in_the_examples():
    code = "\n".join(path.read_text() for name in ("service", "server", "tests") for path in (ROOT / "Examples" / name).glob("*.*"))
    tested = [PACKAGE, CALL, TEST_TARGET]
    for kind, text in BLOCKS:
        if kind not in ("sh", "dockerfile") and text not in tested:
            assert text.strip() in code, text
    assert sum(kind in ("sh", "dockerfile") for kind, _ in BLOCKS) == 4
    # The example continues where the tutorial closes the brace.
    assert textwrap.indent(CALL.removesuffix("}\n"), "  ") in (ROOT / "Examples/hello/main.swift").read_text()


def manifest(folder, text):
    folder.mkdir()
    (folder / "Package.swift").write_text(text)
    command = ["bash", "-c", '. scripts/lib/common.sh && swift_run package --package-path "$0" dump-package', folder]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr
    package = json.loads(done.stdout)
    return package, {target["name"]: target for target in package["targets"]}


def packages(package):
    found = []
    for dependency in package["dependencies"]:
        ((_, (fields,)),) = dependency.items()
        source = fields.get("location") or fields["nameForTargetDependencyResolutionOnly"]
        found.append((source, [trait["name"] for trait in fields["traits"]]))
    return found


def products(target):
    return {value[0] for dependency in target["dependencies"] for value in dependency.values()}


def test_the_manifest_is_that_of_the_examples(tmp_path):
    end = "\n  ]\n)\n"
    assert PACKAGE.endswith(end) and 'path: "…"' in PACKAGE
    text = PACKAGE.removesuffix(end).replace("…", str(ROOT)) + ",\n" + TEST_TARGET.rstrip() + end
    tutorial, targets = manifest(tmp_path / "hello", text)
    examples, theirs = manifest(tmp_path / "examples", (ROOT / "Examples/Package.swift").read_text())
    assert packages(tutorial) == packages(examples)
    assert tutorial["platforms"] == examples["platforms"] and tutorial["toolsVersion"] == examples["toolsVersion"]
    assert products(targets["hello"]) == products(theirs["service"])
    for field in ("type", "pluginUsages"):
        assert targets["hello"][field] == theirs["service"][field]
    assert products(targets["HelloTests"]) - {"hello"} == products(theirs["ExampleTests"]) - {"service", "interceptor"}


def test_the_service_describes_itself_and_ends_by_a_signal(tmp_path):
    with open(tmp_path / "out", "w") as out:
        service = subprocess.Popen([EXAMPLES / "service", "0"], stdout=out, stderr=out)
    try:
        address = eventually(lambda: re.search(r"address=(\S+) .*listening", (tmp_path / "out").read_text()), "the service's start")[1]
        lines = [line.replace("127.0.0.1:7600", address) for line in commands("campanile list")]
        listed, described, greeted, counted, health = [run(*shlex.split(line)) for line in lines]
        assert "hello.v1.HelloService/CountDown" in listed.stdout, listed.stderr
        assert "// Greet returns a greeting." in described.stdout, described.stderr
        assert json.loads(greeted.stdout) == {"greeting": "Hello, Ada!"}
        assert re.findall(r'"number": ?(\d)', counted.stdout) == ["3", "2", "1"], counted.stderr
        assert json.loads(health.stdout)["statuses"][""] == {"status": "SERVING"}
        assert run("campanile", "call", "Greet", "{}", "--address", address).returncode == 3
        service.terminate()
        assert service.wait(PATIENCE_S) == 0
    finally:
        service.kill()
        service.wait(PATIENCE_S)
    assert "code=INVALID_ARGUMENT" in (tmp_path / "out").read_text()


class Server:
    """The program of step 7 with ports that the system chooses."""

    def __init__(self, folder, *options, **settings):
        self.log, self.ready = folder / "log", folder / "ready.json"
        command = [pathlib.Path(BIN) / "hello-server", *options, "--port", "0", "--http-port", "0", "--ready-file", self.ready]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, env=environment() | settings, stdout=log, stderr=log)

    def __enter__(self):
        try:
            eventually(lambda: self.ready.exists() or self.process.poll() is not None, "the server's start")
            assert self.ready.exists(), self.log.read_text()
            ports = json.loads(self.ready.read_text())
        except BaseException:
            self.kill()
            raise
        self.address, self.http = f"127.0.0.1:{ports['rpc']}", ports["http"]
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)


def test_the_service_is_configured_and_watched(tmp_path):
    shown, started, *pages = commands("swift run hello --help")
    program = ["swift", "run", "hello"]
    assert shlex.split(shown) == [*program, "--help"] and "--greeting" in run("hello-server", "--help").stdout
    setting, *words = shlex.split(started)
    assert setting == "HELLO_GREETING=Ciao" and words[:3] == program
    with Server(tmp_path, *words[3:], HELLO_GREETING="Ciao", CAMPANILE_GREETING="Hi") as server:
        greeting = run("campanile", "call", "Greet", '{"name":"Ada"}', "--address", server.address)
        assert json.loads(greeting.stdout) == {"greeting": "Ciao, Ada!"}, greeting.stderr
        texts = []
        for line in pages:
            curl, url = line.split()
            path = urllib.parse.urlsplit(url).path
            assert curl == "curl" and url == f"http://127.0.0.1:7700{path}"
            texts.append(urllib.request.urlopen(f"http://127.0.0.1:{server.http}{path}", timeout=30).read().decode())
        ready, metrics = texts
        assert json.loads(ready)["status"] == "ready"
        assert 'campanile_server_handled_total{code="OK",method="Greet",service="hello.v1.HelloService"} 1' in metrics
        server.process.terminate()
        assert server.process.wait(PATIENCE_S) == 0
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert lines[-1]["message"] == "ended" and any(line.get("metadata", {}).get("code") == "OK" or line.get("code") == "OK" for line in lines)
    assert run("hello-server", "--version").stdout == "hello 1.0.0\n"


def test_the_container_has_settings_that_the_server_accepts(tmp_path):
    """The program runs here without a container; `scripts/lint compose` checks the Dockerfile."""
    made, started, called = commands("docker run")
    subprocess.run(["bash", "-c", made.replace("; chown 65532 token", "")], cwd=tmp_path, check=True)
    assert (tmp_path / "token").stat().st_mode & 0o77 == 0
    words = shlex.split(started)
    given = [value for option, value in itertools.pairwise(words) if option == "-e"]
    settings = dict(pair.split("=") for pair in re.search(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)[1].split() + given)
    assert words[words.index("-v") + 1] == f"$PWD/token:{settings['HELLO_INTERNAL_TOKEN_FILE']}:ro"
    settings["HELLO_INTERNAL_TOKEN_FILE"] = str(tmp_path / "token")
    with Server(tmp_path, **settings) as server:
        call = [word.replace("127.0.0.1:7600", server.address) for word in shlex.split(called)]
        assert call[-2:] == ["--internal-token-file", "token"]
        assert json.loads(run(*call[:-1], tmp_path / "token").stdout) == {"greeting": "Hello, Ada!"}
        (tmp_path / "wrong").write_text("0" * 64)
        (tmp_path / "wrong").chmod(0o600)
        assert run(*call[:-1], tmp_path / "wrong").returncode != 0
        check = json.loads(re.search(r"^HEALTHCHECK CMD (.*)$", DOCKERFILE, re.MULTILINE)[1])
        assert "/7700" in check[-1]
        subprocess.run([*check[:-1], check[-1].replace("7700", str(server.http))], check=True)
    refused = Server(tmp_path, **{name: value for name, value in settings.items() if name != "HELLO_INSECURE_PLAINTEXT"})
    try:
        assert refused.process.wait(PATIENCE_S) == 78 and "in plaintext" in refused.log.read_text()
    finally:
        refused.kill()
