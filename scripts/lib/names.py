"""Fails if a top-level type name exists in two targets of Sources: a reader could not tell which one is meant."""

import collections
import pathlib
import re
import sys

MODIFIERS = r"(?:(?:public|package|internal|open|final|indirect|nonisolated|distributed)\s+)*"
TYPE = re.compile(rf"(?:@\w+(?:\([^)]*\))?\s+)*{MODIFIERS}(?:struct|class|enum|actor|protocol|typealias)\s+`?(\w+)")


def declarations(root: pathlib.Path):
    """Yields the target, name and place of each type that is declared at the top level and visible beyond its file."""
    for path in sorted(root.rglob("*.swift")):
        file = path.relative_to(root)
        if "Generated" in file.parts:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = TYPE.match(line)
            if found:
                yield file.parts[0], found[1], f"{path}:{number}"


def main(root: pathlib.Path) -> int:
    types = collections.defaultdict(lambda: collections.defaultdict(list))
    for owner, name, place in declarations(root):
        types[name][owner].append(place)
    shared = {name: owners for name, owners in types.items() if len(owners) > 1}
    for name, owners in sorted(shared.items()):
        places = " and ".join(places[0] for places in owners.values())
        print(f"{name} is declared in {len(owners)} targets: {places}", file=sys.stderr)
    return 1 if shared or not types else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "Sources")))
