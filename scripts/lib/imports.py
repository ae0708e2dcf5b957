"""Compares the imports between the targets of Sources with the table in scripts/imports.txt. Run in the root of the project."""
import collections
import pathlib
import re
import sys

TABLE = "scripts/imports.txt"
IMPORT = re.compile(r"^[ \t]*(?:@\w+\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)", re.M)


def read_table(text):
    """Returns the folder and the allowed imports of each target."""
    folders, allowed = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w-]+)(?: \(([\w/-]+)\))?:((?: [\w-]+)*)", line)
        if not match or match[1] in folders:
            sys.exit(f"{TABLE}:{number}: must be one line `Target: Allowed …` or `Target (folder): Allowed …` per target")
        folders[match[1]] = match[2] or match[1]
        allowed[match[1]] = match[3].split()
    return folders, allowed


def main():
    folders, allowed = read_table(pathlib.Path(TABLE).read_text())
    owners = {folder: target for target, folder in folders.items()}
    used, faults = collections.defaultdict(dict), []
    for path in sorted(pathlib.Path("Sources").rglob("*.swift")):
        parents = [str(parent.relative_to("Sources")) for parent in path.parents if parent != pathlib.Path("Sources").parent]
        target = next((owners[parent] for parent in parents if parent in owners), None)
        if target is None:
            faults.append(f"{path}: does not belong to a target of {TABLE}; add a line for its target")
            continue
        for name in IMPORT.findall(path.read_text()):
            if name in folders:
                used[target].setdefault(name, path)
    for target in folders:
        for name, path in used[target].items():
            if name not in allowed[target]:
                faults.append(f"{path}: {target} must not import {name}; move the shared code below both, or list the import in {TABLE}")
        for name in allowed[target]:
            if name not in folders:
                faults.append(f"{TABLE}: {target} lists {name}, which is not a target; remove it")
            elif name not in used[target]:
                faults.append(f"{TABLE}: {target} lists {name} but does not import it; remove it")
    faults += cycles(used)
    sys.exit("\n".join(faults) if faults else 0)


def cycles(used):
    """Returns a message for each target that imports itself through others."""
    faults = []
    for target in used:
        reached, ahead = set(), list(used[target])
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead += used.get(name, {})
        if target in reached:
            faults.append(f"{target} imports itself through others")
    return faults


main()
