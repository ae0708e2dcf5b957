"""A client imports the messages, the codec and the call types, and builds and links nothing else of the project or of other packages."""
import pathlib
import re
import subprocess

import pytest
from campanile import ROOT

APP = ROOT / "Tests" / "Support" / "client-app"
LIBRARIES = {"CampanileBase", "CampanileCall", "CampanileCodec", "CampanileMessages"}
BUILD_S = 900


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Builds the program of Tests/Support/client-app as a package of its own, and returns the folder of the build."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "Package.swift").write_text((APP / "Package.swift.in").read_text().replace("@ROOT@", str(ROOT)))
    (folder / "Sources" / "app").mkdir(parents=True)
    (folder / "Sources" / "app" / "main.swift").write_text((APP / "main.swift").read_text())
    command = ["swift", "build", "--package-path", folder, "--scratch-path", folder / "build", "--product", "app"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=BUILD_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build"


def test_generated_clients_work_over_any_caller(build):
    done = subprocess.run([build / "debug" / "app"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'campanile.notifications.v1.NotificationsService/CreateNotification '
        '{"notification":{"bucketId":"b_1","title":"Hello"},"requestId":"r1"}',
        "n_1", "1", "2", "cancelled: CANCELLED", "3", "cancelled: REPLY_INVALID", "cancelled: CANCELLED", "REPLY_INVALID"]


def test_no_other_package_is_resolved(build):
    fetched = [path for name in ("checkouts", "repositories") for path in (build / name).glob("*")]
    assert fetched == []


def test_no_other_module_is_compiled_or_linked(build):
    debug = build / "debug"
    assert {path.stem for path in debug.glob("Modules/*.swiftmodule")} == LIBRARIES | {"app"}
    objects = (debug / "app.product" / "Objects.LinkFileList").read_text().split()
    owners = {part.removesuffix(".build") for path in objects for part in pathlib.Path(path.strip("'\"")).parts if part.endswith(".build")}
    assert owners == LIBRARIES | {"app"}
    linked = subprocess.run(["ldd", debug / "app"], text=True, capture_output=True, check=True).stdout
    assert not re.search(r"Foundation|crypto|ssl|sqlite", linked), linked
