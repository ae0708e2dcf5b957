"""The software bill of materials. Run by scripts/sbom from the root of the repository."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid

import dependencies

# Approved licences: the SPDX identifier, and texts that identify each one.
LICENCES = [
    ("Apache-2.0 WITH Swift-exception", ["Apache License", "Runtime Library Exception"]),
    ("Apache-2.0", ["Apache License", "Version 2.0, January 2004"]),
    ("MIT", ["Permission is hereby granted, free of charge", "THE SOFTWARE IS PROVIDED \"AS IS\""]),
    ("BSD-3-Clause", ["Redistributions of source code must retain", "Neither the name"]),
    ("BSD-2-Clause", ["Redistributions of source code must retain"]),
]
# System libraries that the programs link: the Debian package, and the licence of its authors.
SYSTEM = [("libsqlite3-0", "blessing"), ("libssl3", "Apache-2.0"), ("zlib1g", "Zlib")]
# The namespace from which serial numbers are derived.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://campanile.invalid/sbom")


def licence(folder):
    """Returns the SPDX identifier of a checkout's licence, or `None`."""
    for file in sorted(folder.glob("LICEN[CS]E*")):
        text = re.sub(r"\s+", " ", file.read_text(errors="replace"))
        for identifier, signs in LICENCES:
            if all(sign in text for sign in signs):
                return identifier
    return None


def packages(root):
    """Yields the resolved Swift packages as components, ordered by name."""
    folders = {folder.name.lower(): folder for folder in (root / ".build" / "checkouts").iterdir()}
    for pin in sorted(json.loads((root / "Package.resolved").read_text())["pins"], key=lambda pin: pin["identity"]):
        location, version = pin["location"].removesuffix(".git"), pin["state"].get("version")
        host_and_path = re.sub(r"^\w+://|^git@", "", location).replace(":", "/")
        name = location.rpartition("/")[2]
        folder = folders.get(name.lower()) or folders.get(pin["identity"])
        found = licence(folder) if folder else None
        yield {
            "type": "library", "bom-ref": f"pkg:swift/{host_and_path}@{version}", "name": name, "version": version,
            "purl": f"pkg:swift/{host_and_path}@{version}", "scope": "required",
            "licenses": [{"expression": found}] if found else [],
            "externalReferences": [{"type": "vcs", "url": location, "comment": pin["state"]["revision"]}]}


def libraries():
    """Yields the system's libraries as components, if there is a package manager to query."""
    for name, identifier in SYSTEM:
        try:
            asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True)
        except FileNotFoundError:
            return
        version = asked.stdout.strip()
        if asked.returncode == 0 and version:
            yield {"type": "library", "bom-ref": f"pkg:deb/debian/{name}@{version}", "name": name, "version": version,
                   "purl": f"pkg:deb/debian/{name}@{version}", "scope": "required", "licenses": [{"license": {"id": identifier}}]}


def bill(root):
    components = [*packages(root), *libraries()]
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True).stdout.strip()
    version = re.search(r'"([0-9.]+)"', (root / "Sources/CampanileServer/CampanileVersion.swift").read_text())[1]
    suite = {"type": "application", "bom-ref": "campanile", "name": "campanile", "version": version}
    if described:
        suite["properties"] = [{"name": "campanile:commit", "value": described}]
    content = {
        "metadata": {"component": suite}, "components": components,
        "dependencies": [{"ref": "campanile", "dependsOn": [one["bom-ref"] for one in components]},
                         *({"ref": one["bom-ref"], "dependsOn": []} for one in components)]}
    number = uuid.uuid5(NAMESPACE, hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest())
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{number}", "version": 1, **content}


def main():
    root = pathlib.Path.cwd()
    made = bill(root)
    differences = list(dependencies.resolution_faults(root, dependencies.locked(root)))
    if differences:
        sys.exit("sbom: " + "\nsbom: ".join(differences))
    wrong = [one["name"] for one in made["components"] if not one["version"] or not one["licenses"]]
    if wrong:
        sys.exit(f"sbom: no version, or no licence that may be delivered: {', '.join(wrong)}")
    if sys.argv[1:] == ["--check"]:
        print(f"{len(made['components'])} components, each with a version and a licence", file=sys.stderr)
    else:
        print(json.dumps(made, indent=2))


if __name__ == "__main__":
    main()
