"""The Swift client: its export builds alone, and its tests, examples and articles work with a running suite."""

import json
import re
import subprocess

import pushed_screens
import pytest
from campanile import ROOT, environment
from cutting_proxy import CuttingProxy

PRODUCTS = ("CampanileClient", "CampanileNotifications", "CampanileActivities", "CampanileSync",
            "CampanileAttendance", "CampanileLodge", "CampanileGateway")
CLIENT = ROOT / "Clients" / "Swift"
EXPORT = ROOT / "scripts" / "export-swift-client"
BUILD_S = 1800
RESTART = "watchAndOutboxSurviveARestartOfTheService"

# Calls the examples of the README and the articles, which the test adds to the package.
EXAMPLES = """
import CampanileActivities
import CampanileLodge
import CampanileSync
import Foundation
import Testing

@MainActor @Test func examplesOfTheDocumentationWork() async throws {
  let variables = ProcessInfo.processInfo.environment
  let url = try #require(URL(string: variables["CAMPANILE_CLIENT_URL"] ?? ""))
  let key = try #require(variables["CAMPANILE_CLIENT_KEY"])
  #expect(try await example(url: url, key: key) == ["Build 1 passed"])
  #expect(try await firstWatch(url: url, key: key) == "Hello")
  let campanile = Campanile(url, credentials: FixedCredential(key: key))
  let bucket = try await campanile.notifications.service.createBucket(.init(bucket: .init(name: "Outbox"))).bucket
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let outbox = Outbox(path: folder.appendingPathComponent("outbox").path)
  try await queue(campanile, outbox, bucketID: bucket?.id ?? "")
  #expect(try outbox.entries().isEmpty && outbox.refusals().isEmpty)
  #expect(try await queueWithoutNetwork(campanile, bucketID: bucket?.id ?? "", folder: folder) == 0)
  #expect(Set(await showUnread(campanile, outbox)).isSuperset(of: ["Written offline", "Queued"]))

  let configuration = RegistrarConfiguration(app: "com.example.docs", environment: .development)
  let registrar = LiveActivityRegistrar(configuration, outbox: outbox)
  try await startUnread(campanile, configuration, activityID: "docs-unread-\\(UUID().uuidString)")
  let id = "docs-\\(UUID().uuidString)"
  #expect(try startFocus(registrar, activityID: id).duration == 1_800)
  try await pauseFromWidget(campanile, outbox, activityID: id)
  let room = RoomModel(
    campanile, outbox: outbox, registrar: configuration, roomID: String(repeating: "a1b2", count: 12))
  meet(in: room, activityID: "docs-room-\\(UUID().uuidString)")
  readNewest(UnreadModel(campanile, outbox: outbox))
  try await outbox.sendNow(through: campanile.caller)
  #expect(try outbox.entries().isEmpty && outbox.refusals().isEmpty)

  let sync = makeSyncModel(campanile, folder: folder, deviceID: "docs-\\(UUID().uuidString)")
  await sync.refresh()
  #expect(sync.error == nil && !sync.isStale)
  let time = SyncTime.text(.now)
  let note = SyncNotification(id: "n_docs", title: "Docs", createdAt: time, updatedAt: time, bucketId: "b_docs")
  #expect(try await addNotification(note, to: sync.zone) >= 1)
  let lodge = openLodge(url, folder: folder)
  #expect(lodge.needsSignIn && !confirmNext(lodge))
}
"""
BLOCK = re.compile(r"```swift\n(.*?)```", re.DOTALL)


def swift(folder, *arguments, **variables):
    """Runs swift in the exported package. Returns its output."""
    done = subprocess.run(["swift", *arguments], cwd=folder, text=True, capture_output=True, timeout=BUILD_S,
                          env=environment() | variables)
    failures = re.findall(r"(?m)^✘.*", done.stdout)
    assert done.returncode == 0, "\n".join([*failures[-20:], done.stdout[-6000:], done.stderr[-6000:]])
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The exported package, with the examples of its README as a test, built."""
    folder = tmp_path_factory.mktemp("swift") / "client"
    printed = subprocess.run([EXPORT, folder], text=True, capture_output=True, check=True)
    assert printed.stdout.strip() == str(folder)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    pages = [folder / "README.md", *sorted(folder.glob("Sources/Campanile*/*.docc/*.md"))]
    pages = [page for page in pages if page.parts[-3] in PRODUCTS or page.name == "README.md"]
    examples = [block for page in pages for block in BLOCK.findall(page.read_text())]
    assert len(examples) >= 13
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


def demo(running):
    """The sample's keys and PINs."""
    return json.loads((running.folder / "demo.json").read_text())


def address(running):
    return f"http://127.0.0.1:{running.endpoints['gateway']['http']}"


def test_client_works_with_the_suite(exported, suite):
    folder, _ = exported
    sample = demo(suite)
    with CuttingProxy(suite.endpoints["gateway"]["http"], [1500, 2111, 1777, 3001]) as proxy:
        output = swift(folder, "test", "--skip-build", CAMPANILE_CLIENT_URL=address(suite),
                       CAMPANILE_CLIENT_KEY=sample["users"]["user/giulia"]["key"], CAMPANILE_CLIENT_PINS=json.dumps(sample["pins"]),
                       CAMPANILE_CLIENT_CUTTING_URL=f"http://127.0.0.1:{proxy.port}")
    assert set(re.findall(r"Test (\w+)\(\) skipped", output)) == {RESTART}
    assert int(re.search(r"Test run with (\d+) tests", output)[1]) >= 150


def test_states_decode_the_displayed_bytes(exported, start, tmp_path):
    folder, _ = exported
    screens = tmp_path / "screens.jsonl"
    screens.write_text(pushed_screens.record(start("screens", settings=pushed_screens.SETTINGS).wait_ready()))
    assert len(screens.read_text().splitlines()) == 15
    output = swift(folder, "test", "--skip-build", "--filter", "PushedStateTests", CAMPANILE_CLIENT_SCREENS=str(screens))
    assert "Test everyScreenIsDecoded() passed" in output


# The example, its arguments, and texts that it prints in this order.
COMMANDS = {
    "inbox": ["unread: Build 2 failed", "unread: Build 1 passed", "left: Build 2 failed", "Delete, Open", "left: none"],
    "room": ["Waiting for peer: #F7C948", "Peer connected: #34C759", "the server shows: Peer connected", "left"],
    "timer": ["paused here, 3 calls wait", "paused on the server", "remaining: 29 minutes", "stopped"],
    "lodge": ["\U0001f537 Marco Rossi", "29/33 meetings, 88 %: medium", "1 confirmation waits", ": present"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_example_prints_what_its_app_shows(exported, suite, name):
    folder, _ = exported
    sample = demo(suite)
    key = sample["users"]["user/giulia"]["key"]
    arguments = []
    if name == "lodge":
        suite.call("CreateMeeting", {"meeting": {"startTime": "2099-01-01T18:00:00Z", "discussion": "Example"}}, key)
        arguments = ["Marco Rossi", sample["pins"]["Marco Rossi"]]
    done = subprocess.run([folder / ".build" / "debug" / "campanile-example", name, *arguments], text=True, capture_output=True,
                          env=environment() | {"CAMPANILE_URL": address(suite), "CAMPANILE_KEY": key}, timeout=BUILD_S)
    assert done.returncode == 0, done.stdout + done.stderr
    rest = done.stdout
    for text in COMMANDS[name]:
        assert text in rest, done.stdout
        rest = rest.split(text, 1)[1]


def test_code_for_apple_systems_compiles_and_works_with_stand_ins(exported):
    folder, _ = exported
    arguments = ("--scratch-path", ".build-stubs")
    log = swift(folder, "build", "--build-tests", "-j", "2", *arguments, CAMPANILE_APPLE_STUBS="1")
    assert "warning:" not in log, log[-6000:]
    for app in ("InboxApp", "RoomApp", "TimerApp", "LodgeApp"):
        assert (folder / ".build-stubs" / "debug" / "Modules" / f"{app}.swiftmodule").exists()
    output = swift(folder, "test", "--skip-build", "--filter", "AppleStubTests", *arguments, CAMPANILE_APPLE_STUBS="1")
    assert "Test run with 6 tests" in output and "passed" in output


@pytest.mark.parametrize("product", PRODUCTS)
def test_links_of_the_articles_resolve(exported, product, tmp_path):
    folder, _ = exported
    target = json.loads(subprocess.run(["swift", "-print-target-info"], capture_output=True, text=True, check=True).stdout)
    symbols = tmp_path / "symbols"
    symbols.mkdir()
    subprocess.run(["swift", "symbolgraph-extract", "-module-name", product, "-target", target["target"]["unversionedTriple"],
                    "-I", folder / ".build" / "debug" / "Modules", "-minimum-access-level", "public", "-output-dir", symbols],
                   check=True, capture_output=True)
    done = subprocess.run(["docc", "convert", folder / "Sources" / product / f"{product}.docc", "--additional-symbol-graph-dir",
                           symbols, "--output-dir", tmp_path / "out", "--fallback-display-name", product,
                           "--fallback-bundle-identifier", product], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"warning: .*(doesn't exist|Can't resolve|ambiguous)", done.stderr), done.stderr[-3000:]


def test_watch_and_outbox_survive_a_restart_of_the_service(exported, start):
    folder, _ = exported
    running = start("restarted", "--demo").wait_ready()
    output = swift(folder, "test", "--skip-build", "--filter", RESTART, CAMPANILE_CLIENT_URL=address(running),
                   CAMPANILE_CLIENT_KEY=demo(running)["users"]["user/giulia"]["key"],
                   CAMPANILE_CLIENT_SERVICE_PID=str(running.children()["notifications"]))
    assert f"Test {RESTART}() passed" in output
