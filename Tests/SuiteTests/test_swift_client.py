"""The Swift client: its export builds alone, and its tests and examples work with a running suite."""

import json
import re
import subprocess

import pytest
from campanile import ROOT, environment
from cutting_proxy import CuttingProxy

CLIENT = ROOT / "Clients" / "Swift"
EXPORT = ROOT / "scripts" / "export-swift-client"
BUILD_S = 900
RESTART = "watchAndOutboxSurviveARestartOfTheService"

# Calls the examples of the README, which the test adds to the package.
EXAMPLES = """
import CampanileClient
import Foundation
import Testing

@Test func examplesOfTheReadmeWork() async throws {
  let variables = ProcessInfo.processInfo.environment
  let url = try #require(URL(string: variables["CAMPANILE_CLIENT_URL"] ?? ""))
  let key = try #require(variables["CAMPANILE_CLIENT_KEY"])
  #expect(try await example(url: url, key: key) == ["Build 1 passed"])
  let campanile = Campanile(url, credentials: FixedCredential(key: key))
  let bucket = try await campanile.notifications.service.createBucket(.init(bucket: .init(name: "Outbox"))).bucket
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let outbox = Outbox(path: folder.appendingPathComponent("outbox").path)
  try await queue(campanile, outbox, bucketID: bucket?.id ?? "")
  #expect(try outbox.entries().isEmpty && outbox.refusals().isEmpty)
}
"""


def swift(folder, *arguments, **variables):
    """Runs swift in the exported package. Returns its output."""
    done = subprocess.run(["swift", *arguments], cwd=folder, text=True, capture_output=True, timeout=BUILD_S,
                          env=environment() | variables)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The exported package, with the examples of its README as a test, built."""
    folder = tmp_path_factory.mktemp("swift") / "client"
    printed = subprocess.run([EXPORT, folder], text=True, capture_output=True, check=True)
    assert printed.stdout.strip() == str(folder)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    examples = re.findall(r"```swift\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert len(examples) == 2
    for number, example in enumerate(examples):
        (folder / "Tests" / "CampanileClientTests" / f"Example{number}.swift").write_text(example)
    (folder / "Tests" / "CampanileClientTests" / "ExampleTests.swift").write_text(EXAMPLES)
    log = swift(folder, "build", "--build-tests", "-j", "2")
    assert "warning:" not in log, log[-6000:]
    return folder, files


def test_export_has_no_links_and_no_build_files(exported):
    folder, files = exported
    assert not [path for path in files if (folder / path).is_symlink()]
    names = {str(path) for path in files}
    assert {"LICENSE", "README.md", "Package.swift", "Sources/CampanileMessages/Generated"} <= names
    assert not [name for name in names if name.startswith(".build")]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_export_replaces_only_its_own_files(tmp_path):
    target = tmp_path / "target"
    (target / ".git").mkdir(parents=True)
    (target / ".git" / "config").write_text("kept")
    subprocess.run([EXPORT, target], check=True, capture_output=True)
    (target / "Sources" / "old.swift").write_text("")
    subprocess.run([EXPORT, target], check=True, capture_output=True)
    assert (target / ".git" / "config").read_text() == "kept"
    assert not (target / "Sources" / "old.swift").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("kept")
    assert subprocess.run([EXPORT, other], capture_output=True).returncode == 1
    assert (other / "notes.txt").read_text() == "kept"
    assert subprocess.run([EXPORT, CLIENT], capture_output=True).returncode == 1
    assert (CLIENT / "Sources" / "CampanileBase").is_symlink()


def test_package_has_no_dependencies(exported):
    folder, _ = exported
    assert json.loads(swift(folder, "package", "show-dependencies", "--format", "json"))["dependencies"] == []


def test_client_works_with_the_suite(exported, suite):
    folder, _ = exported
    port = suite.endpoints["gateway"]["http"]
    key = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    with CuttingProxy(port, [1500, 2111, 1777, 3001]) as proxy:
        output = swift(folder, "test", "--skip-build", CAMPANILE_CLIENT_URL=f"http://127.0.0.1:{port}", CAMPANILE_CLIENT_KEY=key,
                       CAMPANILE_CLIENT_CUTTING_URL=f"http://127.0.0.1:{proxy.port}")
    assert set(re.findall(r"Test (\w+)\(\) skipped", output)) == {RESTART}
    assert int(re.search(r"Test run with (\d+) tests", output)[1]) >= 100


def test_watch_and_outbox_survive_a_restart_of_the_service(exported, start):
    folder, _ = exported
    running = start("restarted", "--demo").wait_ready()
    key = json.loads((running.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    url = f"http://127.0.0.1:{running.endpoints['gateway']['http']}"
    output = swift(folder, "test", "--skip-build", "--filter", RESTART, CAMPANILE_CLIENT_URL=url, CAMPANILE_CLIENT_KEY=key,
                   CAMPANILE_CLIENT_SERVICE_PID=str(running.children()["notifications"]))
    assert f"Test {RESTART}() passed" in output
