"""The TypeScript client: its types, its runtime against fakes and a running suite, its tarball, and two browser engines."""

import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request

import pytest
from campanile import CLI, PATIENCE_S, ROOT, environment
from cutting_proxy import CuttingProxy

CLIENT = ROOT / "Clients" / "TypeScript"
TESTS = ROOT / "Tests" / "TypeScript"
DENO = shutil.which("deno") or pathlib.Path(sys.executable).parent / "deno"
SERVED = sorted(str(path.relative_to(CLIENT)) for path in CLIENT.rglob("*") if path.name.endswith((".js", ".d.ts")))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("deno")


def deno(cache, *arguments, cwd=TESTS, **variables):
    """Runs deno without access to the network beyond this machine. Returns its output."""
    extra = {"DENO_DIR": str(cache), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"} | variables
    result = subprocess.run([DENO, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, env=environment() | extra,
                            timeout=PATIENCE_S * 3)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-6000:]
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def key(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    def pack(name):
        printed = subprocess.run([ROOT / "scripts" / "pack-typescript", tmp_path_factory.mktemp(name)], check=True,
                                 capture_output=True, text=True)
        return pathlib.Path(printed.stdout.strip())

    first, second = pack("first"), pack("second")
    assert first.read_bytes() == second.read_bytes()
    return first


# Types and size


def test_everything_type_checks(cache, tmp_path):
    """Copies the tests and the client, because the implementation is checked without its link to the declarations."""
    shutil.copytree(CLIENT, tmp_path / "Clients" / "TypeScript")
    shutil.copytree(TESTS, tmp_path / "Tests" / "TypeScript")
    folder = tmp_path / "Tests" / "TypeScript"
    source = (CLIENT / "campanile.js").read_text()
    link, declarations = '// @ts-self-types="./campanile.d.ts"\n', '"./campanile.d.ts"'
    assert source.startswith(link) and source.count(declarations) == 2
    copied = source.removeprefix(link).replace(declarations, '"../../Clients/TypeScript/campanile.d.ts"')
    (folder / "implementation.js").write_text(copied)
    modules = [*folder.glob("*.ts"), *folder.rglob("*.js"), *(tmp_path / "Clients").rglob("*.js")]
    assert len(modules) > 15
    deno(cache, "check", "--no-remote", *modules, cwd=folder)


def test_runtime_is_small():
    assert len(gzip.compress((CLIENT / "campanile.js").read_bytes(), 9)) <= 6000


def test_version_is_the_version_of_the_suite():
    version = json.loads((CLIENT / "package.json").read_text())["version"]
    assert version in subprocess.run([CLI, "--version"], capture_output=True, text=True, check=True).stdout


# Behaviour


def test_runtime_behaves_with_fakes(cache):
    output = deno(cache, "test", "--no-remote", "call_test.ts", "stream_test.ts", "watch_test.ts")
    assert int(re.search(r"(\d+) passed", output)[1]) >= 53


def test_client_works_with_the_suite(cache, suite, base, key):
    with CuttingProxy(suite.endpoints["gateway"]["http"], [1500, 2111, 1777, 3001]) as proxy:
        output = deno(cache, "test", "--no-remote", "--allow-env", "--allow-net=127.0.0.1", "suite_test.ts", GATEWAY=base, KEY=key,
                      CUTTING=f"http://127.0.0.1:{proxy.port}")
    assert int(re.search(r"(\d+) passed", output)[1]) >= 5


def test_watch_survives_a_restart_of_its_service(cache, start):
    running = start("restarted", "--demo").wait_ready()
    key = json.loads((running.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    port = running.endpoints["gateway"]["http"]
    deno(cache, "run", "--no-remote", "--allow-env", "--allow-net=127.0.0.1", "--allow-run", "restart.ts",
         GATEWAY=f"http://127.0.0.1:{port}", KEY=key, PID=str(running.children()["notifications"]))


def test_tarball_runs_the_example_of_its_readme(cache, tarball, tmp_path, base, key):
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
        assert {member.name.split("/")[0] for member in members} == {"package"}
        assert {"package/LICENSE", "package/README.md", "package/package.json"} <= {member.name for member in members}
        assert all(member.uid == member.gid == 0 for member in members)
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "node_modules" / "@campanile").mkdir(parents=True)
    (tmp_path / "package").rename(tmp_path / "node_modules" / "@campanile" / "client")
    (tmp_path / "package.json").write_text('{"type": "module", "dependencies": {"@campanile/client": "*"}}')
    shutil.copy(TESTS / "deno.json", tmp_path)
    examples = re.findall(r"```ts\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)
    assert len(examples) == 2
    for number, example in enumerate(examples):
        (tmp_path / f"example{number}.ts").write_text(example)
    (tmp_path / "main.ts").write_text(
        'import { example } from "./example0.ts";\n'
        'console.log(JSON.stringify(await example(Deno.args[0] ?? "", Deno.args[1] ?? "")));\n')
    flags = ["--no-remote", "--node-modules-dir=manual"]
    deno(cache, "check", *flags, "main.ts", "example1.ts", cwd=tmp_path)
    output = deno(cache, "run", *flags, "--allow-net=127.0.0.1", "main.ts", base, key, cwd=tmp_path)
    assert "INVALID_ARGUMENT" in output and '["Build 1 passed"]' in output


# Files of the gateway


def get(url, method="GET", **headers):
    request = urllib.request.Request(url, method=method, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize("path", SERVED)
def test_gateway_serves_the_file(base, path):
    status, headers, body = get(f"{base}/sdk/{path}")
    content = (CLIENT / path).read_bytes()
    assert (status, body) == (200, content)
    kind = "application/typescript" if path.endswith(".d.ts") else "text/javascript"
    assert headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "public, max-age=300"
    assert headers["ETag"] == f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    assert get(f"{base}/sdk/{path}", If_None_Match=headers["ETag"])[0] == 304
    status, packed, body = get(f"{base}/sdk/{path}", Accept_Encoding="gzip")
    assert packed["Content-Encoding"] == "gzip" and gzip.decompress(body) == content
    status, head, body = get(f"{base}/sdk/{path}", "HEAD")
    assert (status, body, head["Content-Length"]) == (200, b"", str(len(content)))


def test_gateway_serves_no_other_files(base, key):
    for path in ("", "package.json", "README.md", "campanile.ts", "generated", "../openapi.json", "%2e%2e/openapi.json"):
        assert get(f"{base}/sdk/{path}")[0] in (400, 404), path
    status, headers, _ = get(f"{base}/sdk/campanile.js", "POST")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    # A wrong key is refused on every path.
    assert get(f"{base}/sdk/campanile.js", Authorization="Bearer cmp_" + "A" * 43)[0] == 401


def test_files_can_be_switched_off(start):
    running = start("off", settings={"CAMPANILE_SERVE_CLIENT": "false"}).wait_ready()
    assert get(f"http://127.0.0.1:{running.endpoints['gateway']['http']}/sdk/campanile.js")[0] == 404


# Browsers

# Follows a new bucket and publishes in it. Returns the titles received, and the error of an invalid call.
IN_A_PAGE = """
const [key, done] = arguments;
(async () => {
  const { CallError, Client } = await import("/sdk/campanile.js");
  const { NotificationsService } = await import("/sdk/generated/campanile.notifications.v1.js");
  const client = new Client("", { headers: () => ({ authorization: `Bearer ${key}` }) });
  const { bucket } = await client.call(NotificationsService.createBucket, { bucket: { name: "Page" } });
  const request = { bucketId: bucket.id };
  const error = await client.call(NotificationsService.createNotification, { notification: request }).catch((error) => error);
  const titles = [];
  for await (const event of client.watch(NotificationsService.watchNotifications, request)) {
    if (event.message.started) {
      for (const title of ["first", "à 🔔"]) {
        await client.call(NotificationsService.createNotification, { notification: { ...request, title } });
      }
    }
    const created = event.message.change?.notificationCreated;
    if (created) titles.push(created.title);
    if (titles.length === 2) break;
  }
  const abort = new AbortController();
  const waiting = client.watch(NotificationsService.watchNotifications, request, { signal: abort.signal });
  await waiting.next();
  setTimeout(() => abort.abort(), 50);
  const ended = await waiting.next().catch((error) => error.code);
  await client.call(NotificationsService.deleteBucket, request);
  return { titles, ended, isCallError: error instanceof CallError, code: error.code, fields: error.fieldViolations.map((v) => v.field) };
})().then(done, (error) => done({ failed: String(error) }));
"""


@contextlib.contextmanager
def chromium():
    webdriver = pytest.importorskip("selenium.webdriver")
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    try:
        yield driver
    finally:
        driver.quit()


@contextlib.contextmanager
def webkit():
    webdriver = pytest.importorskip("selenium.webdriver")
    browser = next(pathlib.Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"), None)
    programs = [shutil.which(name) for name in ("WebKitWebDriver", "Xvfb")]
    if browser is None or None in programs:
        pytest.skip("webkit2gtk-driver and xvfb are not installed")
    from selenium.webdriver.webkitgtk.options import Options
    from selenium.webdriver.webkitgtk.service import Service
    reading, writing = os.pipe()
    display = subprocess.Popen([programs[1], "-displayfd", str(writing), "-nolisten", "tcp"], pass_fds=[writing],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as numbers:
            name = f":{numbers.readline().strip()}"
        options = Options()
        options.binary_location = str(browser)
        options.add_argument("--automation")
        # Its sandbox needs privileges that containers lack.
        variables = environment() | {"DISPLAY": name, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "NO_AT_BRIDGE": "1"}
        driver = webdriver.WebKitGTK(options=options, service=Service(programs[0], env=variables))
        try:
            yield driver
        finally:
            driver.quit()
    finally:
        display.terminate()
        display.wait(PATIENCE_S)


@pytest.mark.parametrize("engine", [chromium, webkit])
def test_client_works_in_a_browser(engine, base, key):
    with engine() as driver:
        driver.set_script_timeout(PATIENCE_S)
        driver.get(base + "/openapi.json")
        found = driver.execute_async_script(IN_A_PAGE, key)
    assert found == {"titles": ["first", "à 🔔"], "ended": "CANCELLED", "isCallError": True, "code": "INVALID_ARGUMENT",
                     "fields": found.get("fields")}, found
    assert found["fields"]
