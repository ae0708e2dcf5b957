"""The bill of materials lists every resolved package with version and licence, and refuses what may not be shipped."""

import json
import re
import subprocess
import sys

from campanile import ROOT

PROGRAM = ROOT / "scripts" / "lib" / "sbom.py"


def make(folder):
    return subprocess.run([sys.executable, str(PROGRAM)], cwd=folder, capture_output=True, text=True, timeout=60)


def test_every_resolved_package_is_listed():
    done = make(ROOT)
    assert done.returncode == 0, done.stderr
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    found = {one["purl"] for one in bill["components"] if one["purl"].startswith("pkg:swift/")}
    assert len(found) == len(pins) > 20
    for pin in pins:
        assert any(purl.endswith(f"@{pin['state']['version']}") and pin["identity"] in purl.lower() for purl in found), pin
    assert all(one["licenses"] and one["version"] for one in bill["components"])
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references)
    assert bill["dependencies"][0] == {"ref": "campanile", "dependsOn": references}
    assert make(ROOT).stdout == done.stdout


def test_packages_that_may_not_be_shipped_are_refused(tmp_path):
    checkout = tmp_path / ".build" / "checkouts" / "thing"
    checkout.mkdir(parents=True)
    version = tmp_path / "Sources" / "CampanileServer"
    version.mkdir(parents=True)
    (version / "CampanileVersion.swift").write_text('static let string = "1.2.3"')
    lock = tmp_path / "scripts" / "dependencies.lock"
    lock.parent.mkdir()
    lock.write_text("thing 1.0.0 https://example.com/owner/thing\n")
    (tmp_path / "Package.resolved").write_text(json.dumps({"pins": [{
        "identity": "thing", "location": "https://example.com/owner/thing.git", "state": {"version": "1.0.0", "revision": "abc"}}]}))
    for text in ("GNU GENERAL PUBLIC LICENSE Version 3", None):
        if text:
            (checkout / "LICENSE").write_text(text)
        else:
            (checkout / "LICENSE").unlink()
        done = make(tmp_path)
        assert done.returncode == 1 and "thing" in done.stderr and not done.stdout
    (checkout / "LICENSE").write_text('Permission is hereby granted, free of charge … THE SOFTWARE IS PROVIDED "AS IS"')
    assert make(tmp_path).returncode == 0
    # A version other than the locked one is refused.
    lock.write_text("thing 1.0.1 https://example.com/owner/thing\n")
    done = make(tmp_path)
    assert done.returncode == 1 and "thing: 1.0.0 of" in done.stderr and "1.0.1" in done.stderr and not done.stdout
