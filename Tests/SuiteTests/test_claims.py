"""Every row of docs/reliability.md and every point of SECURITY.md names its proof, and the proof exists."""

import re

import pytest
from campanile import ROOT

SWIFT = {name for path in (ROOT / "Tests").glob("*/*.swift") for name in [
    path.stem, path.parent.name, *re.findall(r"\b(?:func|struct|class|enum|extension) (\w+)", path.read_text())]}
PYTHON = {path: path.read_text() for path in (ROOT / "Tests").glob("*/test_*.py")}
SCENARIOS, FAULTS = (
    re.findall(r'^    "([a-z-]+)": \(', (ROOT / "Tests" / path).read_text(), re.M) for path in ("Chaos/chaos.py", "Cluster/cluster_faults.py"))


def swift_is_there(name):
    """Whether a target, file, suite or test matches, as with `swift test --filter`."""
    last = name.rpartition(".")[2]
    return re.fullmatch(r"\w+", last) is not None and any(one.startswith(last) for one in SWIFT)


def missing(command):
    """The names in a command that do not exist."""
    command = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command.replace("\\|", "|"))
    found = []
    if match := re.search(r'(?:swift test|scripts/test --swift) --filter "?([^"]+?)"?$', command):
        text = match[1]
        # A group of alternatives after a target.
        for group in re.findall(r"\(([^)]*)\)", text):
            text = re.sub(r"[\w.]*\([^)]*\)", group, text, count=1)
        found = [one for one in text.split("|") if not swift_is_there(one)]
    elif match := re.match(r"(?:pytest|scripts/test --python) ?(.*)$", command):
        words = re.match(r'([^ ]+\.py)?(?: ?-k "?([^"]+?)"?)?$', match[1])
        if words is None:
            return [command]
        files = {path: text for path, text in PYTHON.items() if words[1] is None or path == ROOT / words[1] or path.name == words[1]}
        names = re.findall(r"def (test_\w+)", "".join(files.values())) + re.findall(r'"([^"\n]+)"', "".join(files.values()))
        found = [] if names else [words[1]]
        found += [one for one in (words[2] or "").split(" or ") if one and not any(one in name for name in names)]
    elif match := re.match(r"scripts/chaos ?(.*)$", command):
        words = [word for word in re.sub(r"--(?:seed|faults) \d+", "", match[1]).split() if word not in ("--full", "--quick", "--cluster")]
        found = [word for word in words if word not in (FAULTS if "--cluster" in command else SCENARIOS)]
    elif command.startswith("deno test "):
        found = [word for word in command.split()[2:] if not word.startswith("-") and not (ROOT / word).exists()]
    elif command.startswith("scripts/"):
        found = [] if (ROOT / command.split()[0]).exists() else [command]
    return found


def commands(text):
    return re.findall(r"`((?:[A-Z_]+=\S+ )*(?:swift test|pytest|deno test|scripts/)[^`]*)`", text)


def rows(name):
    lines = (ROOT / name).read_text().splitlines()
    return [line for line in lines if line.startswith("|") and not re.match(r"\|[ -]+\|", line) and "what shows it" not in line]


def test_every_row_names_its_proof():
    claims = rows("docs/reliability.md")
    assert len(claims) > 100
    wrong = [(missing(command), row[:100]) for row in claims for command in commands(row.rpartition(" | ")[2]) if missing(command)]
    wrong += [("no command", row[:100]) for row in claims if not commands(row)
              and not re.search(r"`(test_\w+\.py|scripts/|for i in )", row) and "the last row of" not in row]
    assert not wrong, wrong


def test_every_point_of_security_names_a_test():
    text = (ROOT / "SECURITY.md").read_text()
    points = [row for row in rows("SECURITY.md") if row.count(" | ") == 2 and re.search(r"`[\w/.]*[Tt]est", row)]
    assert len([row for row in points if re.match(r"\| \d+ ", row)]) == 10, "SECURITY.md must cover the ten points of OWASP's list"
    for name in re.findall(r"`([^`]+)`", "".join(row.rpartition(" | ")[2] for row in points)):
        if name.startswith("scripts/chaos"):
            assert not missing(name), name
        elif ".py" in name:
            assert not missing(f"pytest {name}"), name
        elif name.endswith("Tests") or "." in name and not name.startswith(("docs/", "scripts/")):
            assert swift_is_there(name), name
    assert "OWASP" in text


@pytest.mark.parametrize("command, gone", [
    ("swift test --filter noSuchTest", ["noSuchTest"]), ('swift test --filter "OutageTests|noSuchTest"', ["noSuchTest"]),
    ("swift test --filter OutageTests", []), ("pytest Tests/Wire/test_tls.py -k goodbye", []),
    ("pytest Tests/Wire/test_tls.py -k \"goodbye or nosuchtest\"", ["nosuchtest"]), ("pytest Tests/Wire/test_gone.py", ["Tests/Wire/test_gone.py"]),
    ("deno test --no-remote Tests/Console/gone.test.js", ["Tests/Console/gone.test.js"]),
    ("deno test --no-remote Tests/Console/texts.test.js", []), ("scripts/chaos --full kill gone", ["gone"]), ("scripts/gone", ["scripts/gone"]),
    ("scripts/chaos --cluster --faults 3 etcd kill", ["kill"]),
])
def test_missing_proofs_are_found(command, gone):
    assert missing(command) == gone
