"""Runs the commands of docs/seeds in order, page by page, against a demonstration suite, and checks what the pages name."""

import json
import os
import re
import shutil
import subprocess

import pytest
from campanile import BIN, CLI, ROOT, Suite, environment
from google.protobuf import descriptor_pb2

FOLDER = ROOT / "docs/seeds"
INDEX = (FOLDER / "README.md").read_text()
# Each row of the index: the page, and the numbers of the seed's requirements.
ROWS = re.findall(r"^\| \[.*?\]\((\S+\.md)\) \|.*\| ([\d, –]+) \|$", INDEX, re.MULTILINE)
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")
# Maximum time of one page, in seconds; far more than it needs.
PATIENCE_S = 600

# Runs before the page's first line, in its shell. An error reports the line of the page, also if a function has failed.
PREPARATION = r"""
# Not for scripts that the commands run.
unset BASH_ENV
set -eEuo pipefail
trap 'status=$? line=$LINENO; [ -z "${FUNCNAME-}" ] || line=${BASH_LINENO[${#FUNCNAME[@]} - 2]}
echo "line $line: $BASH_COMMAND: status $status" >&2; exit $status' ERR
field() { python3 -c 'import functools, json, sys
value = functools.reduce(lambda at, name: at[int(name) if isinstance(at, list) else name], sys.argv[1].split("."), json.load(sys.stdin))
print(value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False))' "$1"; }
eventually() { local end=$((SECONDS + 60)); until "$@"; do ((SECONDS < end)) || { echo "not within a minute: $*" >&2; return 1; }; sleep 0.1; done; }
"""


def numbers(text):
    """The numbers of a list such as `1–4, 7`."""
    found = set()
    for part in filter(None, re.split(r"[, ]+", text)):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def script(page):
    """The page's commands, each on its line of the page."""
    lines, runs = [], False
    for line in (FOLDER / page).read_text().split("\n"):
        if line.startswith("```"):
            runs = not runs and line == "```sh"
            lines.append("")
        else:
            lines.append(line if runs else "")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    """The environment of the pages. The suite is separate, because pages change its data."""
    suite = Suite(tmp_path_factory.mktemp("seeds") / "data", "--demo")
    try:
        suite.wait_ready()
        users = json.loads((suite.folder / "demo.json").read_text())["users"]
        keys = {principal.removeprefix("user/").upper(): user["key"] for principal, user in users.items()}
        phones = {f"{principal.removeprefix('user/').upper()}_PHONE": user["phone"]["token"] for principal, user in users.items()}
        gateway, simulator = suite.endpoints["gateway"], suite.endpoints["apns"]["simulator"]
        yield environment() | keys | phones | {
            "GATEWAY": f"http://127.0.0.1:{gateway['http']}", "KEY": gateway["adminKey"], "CAMPANILE": CLI,
            "CAMPANILE_ADDRESS": f"127.0.0.1:{gateway['rpc']}", "CAMPANILE_KEY": gateway["adminKey"],
            "SIMULATOR": f"http://127.0.0.1:{simulator['control']}/v1", "INTERNAL_TOKEN": suite.endpoints["internalToken"],
            "DATA_DIR": str(suite.folder), "ROOT": str(ROOT), "PATH": f"{BIN}:{os.environ['PATH']}"}
    finally:
        suite.stop()


@pytest.fixture(scope="module")
def contract(includes, tmp_path_factory):
    """The names of the methods, as `Method` and `Service/Method`, and those of all other definitions."""
    path = tmp_path_factory.mktemp("contract") / "set"
    protos = sorted(str(file.relative_to(ROOT / "protos")) for file in (ROOT / "protos/campanile").glob("*/v1/*.proto"))
    subprocess.run(["protoc", *[f"-I{folder}" for folder in includes], f"-o{path}", *protos], cwd=ROOT, check=True)
    methods, others = set(), set()
    for file in descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file:
        others |= {one.name for one in [*file.message_type, *file.enum_type, *file.service]}
        for service in file.service:
            methods |= {name for method in service.method for name in (method.name, f"{service.name}/{method.name}")}
    return methods, others


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_page_succeed(page, variables, tmp_path):
    (tmp_path / "preparation").write_text(PREPARATION)
    (tmp_path / page).write_text(script(page))
    (tmp_path / "work").mkdir()
    with open(tmp_path / "output", "w+b") as output:
        result = subprocess.run(
            [shutil.which("bash"), tmp_path / page], cwd=tmp_path / "work", env=variables | {"BASH_ENV": str(tmp_path / "preparation")},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=PATIENCE_S)
        output.seek(0)
        text = output.read().decode(errors="replace")
    assert result.returncode == 0, f"docs/seeds/{page}, status {result.returncode}:\n{text[-6000:]}"


@pytest.mark.parametrize("page", PAGES)
def test_page_names_every_requirement_of_its_seed(page):
    assert page in dict(ROWS), "the index has no row for this page"
    named = set().union(*map(numbers, re.findall(r"^\*\*([\d, –]+)\.\*\*", (FOLDER / page).read_text(), re.MULTILINE)))
    expected = numbers(dict(ROWS)[page])
    assert named == expected, f"missing: {sorted(expected - named)}; not in the index: {sorted(named - expected)}"


@pytest.mark.parametrize("page", PAGES)
def test_methods_that_a_page_names_exist(page, contract):
    methods, others = contract
    verbs = {re.match("[A-Z][a-z]*", name)[0] for name in methods if "/" not in name}
    text = (FOLDER / page).read_text()
    # Code in the text that looks like a method, and the arguments of `campanile call`.
    inline = re.findall(r"`([A-Za-z0-9_.]*/?[A-Za-z0-9]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    looks = {name for name in inline if re.fullmatch(r"([A-Za-z]+Service/)?[A-Z][a-z]+[A-Z][A-Za-z]+", name)
             and ("/" in name or re.match("[A-Z][a-z]*", name)[0] in verbs)}
    called = {name.rpartition("v1.")[2] for name in re.findall(r"\$\{?CAMPANILE\}?\"? call ([A-Za-z0-9./]+)", script(page))}
    assert called | {name for name in looks if name in methods}, "the page names no method"
    assert (looks | called) - methods - others == set()


def test_every_page_of_the_index_exists():
    assert sorted(page for page, _ in ROWS) == PAGES and PAGES
