"""Compares the imports between the targets of Sources with the table in scripts/imports.txt, and the table with the diagram of
docs/architecture.md and the layout of CONTRIBUTING.md. Run in the root of the project."""
import collections
import pathlib
import re
import sys

TABLE = "scripts/imports.txt"
DIAGRAM = "docs/architecture.md"
LAYOUT = "CONTRIBUTING.md"
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
    faults += cycles(used) + undrawn(allowed)
    layout = pathlib.Path(LAYOUT).read_text()
    faults += [f"{LAYOUT}: the layout lacks the folder {folder}" for folder in folders.values() if not re.search(rf"\b{folder}/", layout)]
    sys.exit("\n".join(faults) if faults else 0)


def reached(target, imports):
    """Returns the targets that a target imports, through others as well."""
    found, ahead = set(), list(imports.get(target, ()))
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += imports.get(name, ())
    return found


def cycles(used):
    """Returns a message for each target that imports itself through others."""
    return [f"{target} imports itself through others" for target in used if target in reached(target, used)]


def undrawn(allowed):
    """Returns a message for each difference between the table and the diagram, which omits what follows from other arrows."""
    drawn = collections.defaultdict(set)
    diagram = pathlib.Path(DIAGRAM).read_text().partition("flowchart TD")[2].partition("```")[0]
    for line in filter(lambda line: "-->" in line, diagram.splitlines()):
        # `id[target: remark]` stands for the target.
        sources, names = (re.split(r"\s*&\s*", re.sub(r"\w+\[([\w-]+)[^]]*\]", r"\1", side).strip()) for side in line.split("-->"))
        for source in sources:
            drawn[source].update(names)
    faults = []
    for target, names in allowed.items():
        direct = {name for name in names if not any(name in reached(other, allowed) for other in names)}
        faults += [f"{DIAGRAM}: the arrow from {target} to {name} is missing" for name in sorted(direct - drawn[target])]
        faults += [f"{DIAGRAM}: the arrow from {target} to {name} is in no line of {TABLE}, or follows from others"
                   for name in sorted(drawn[target] - direct)]
    return faults


main()
