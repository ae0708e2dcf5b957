"""Checks the web console without a browser: sizes in bytes, the length of the view layer, and links between its files.

    console.py ROOT

The budgets are of compressed files, as the gateway serves them: the shell with everything that it loads before a page,
and each page with what it adds. A page includes one language and its styles; what loads on demand is not counted.
"""

import gzip
import pathlib
import re
import sys

SHELL_BYTES, PAGE_BYTES, ALL_BYTES = 45_000, 15_000, 150_000
VIEW_LINES = 250
ROOT = pathlib.Path(sys.argv[1])
WEB = ROOT / "Sources" / "Console" / "Web"
SDK = ROOT / "Clients" / "TypeScript"
STATIC = re.compile(r'^\s*(?:import|export)\b[^"\';]*?\bfrom\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"', re.MULTILINE)
DYNAMIC = re.compile(r'\bimport\("(\.[^"]+)"\)')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STYLES = re.compile(r'styles\(new URL\("([^"]+)"')


def resolve(file, link):
    """Returns the file of an import. The gateway serves the client as the neighbour `sdk` of the console's folder."""
    path = (file.parent / link).resolve()
    served = WEB.parent / "sdk"
    return SDK / path.relative_to(served) if path.is_relative_to(served) else path


def closure(files):
    """Returns the files with everything that they import without asking."""
    found, waiting = set(), list(files)
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        if not file.exists():
            raise SystemExit(f"{file.relative_to(ROOT)} does not exist")
        found.add(file)
        if file.suffix == ".js":
            text = COMMENT.sub("", file.read_text())
            waiting += [resolve(file, one or other) for one, other in STATIC.findall(text)]
            waiting += [file.parent / link for link in STYLES.findall(text)]
    return found


def size(files):
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)


def one_language(files):
    """Leaves out the smaller of two languages that a page imports."""
    left = set(files)
    for file in files:
        other = file.with_name(file.name.replace("en.js", "it.js"))
        if file.name.endswith("en.js") and other in files:
            left.discard(min(file, other, key=lambda each: size([each])))
    return left


def code_lines(file):
    lines = COMMENT.sub("", file.read_text()).splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("//"))


def main():
    failed = []

    def check(name, value, maximum, unit):
        print(f"{name:24} {value:7} of {maximum} {unit}")
        if value > maximum:
            failed.append(name)

    shell = closure([WEB / name for name in ("app.js", "texts/it.js", "worker.js", "index.html", "styles.css", "shell.css", "icons.svg", "logo.svg")])
    check("shell", size(shell), SHELL_BYTES, "bytes")
    everything = set(shell)
    for folder in sorted((WEB / "pages").iterdir()):
        files = closure([folder / f"{folder.name}.js"]) - shell
        everything |= files
        check(f"page {folder.name}", size(one_language(files)), PAGE_BYTES, "bytes")
    for file in list(everything):
        if file.suffix == ".js" and file.is_relative_to(WEB):
            everything |= closure(resolve(file, link) for link in DYNAMIC.findall(file.read_text()))
    check("all", size(one_language(everything)), ALL_BYTES, "bytes")
    check("view layer", sum(code_lines(WEB / name) for name in ("view.js", "signals.js")), VIEW_LINES, "lines of code")
    for file in WEB.rglob("*.js"):
        if file not in everything:
            failed.append(f"{file.relative_to(ROOT)}, which nothing imports")
    page = (WEB / "index.html").read_text()
    preloaded = {resolve(WEB / "index.html", link) for link in re.findall(r'rel="modulepreload" href="([^"]+)"', page)}
    if preloaded != closure([WEB / "app.js"]) - {WEB / "app.js"}:
        failed.append("index.html, which must preload the modules that app.js imports, and no others")
    if re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\bsrc=)", page):
        failed.append("index.html, which has an inline script or style")
    sys.exit(f"failed: {'; '.join(failed)}" if failed else 0)


main()
