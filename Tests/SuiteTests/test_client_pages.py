"""The lines of docs/python.md and docs/kotlin.md work with a running suite."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from campanile import ROOT, environment

# org.json, as Debian's libandroid-json-java installs it.
JSON_JARS = [pathlib.Path("/usr/share/java/com.android.json.jar"), pathlib.Path("/usr/share/java/android-json.jar")]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


@pytest.fixture
def variables(suite):
    url = f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"
    return environment() | {"CAMPANILE_URL": url, "CAMPANILE_KEY": suite.key("user/pages")}


def test_python_page(variables, tmp_path):
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks("python.md", "python")))
    done = subprocess.run([sys.executable, program], env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["invalid_argument ['notification.title']", "Build 2 passed"]


def test_kotlin_page(variables, tmp_path):
    jar = next((path for path in JSON_JARS if path.exists()), None)
    if not shutil.which("kotlinc") or not jar:
        pytest.skip("no Kotlin compiler: install kotlin and libandroid-json-java")
    source = tmp_path / "Page.kt"
    source.write_text("\n".join(blocks("kotlin.md", "kotlin")))
    program = tmp_path / "page.jar"
    done = subprocess.run(["kotlinc", source, "-cp", jar, "-include-runtime", "-d", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["java", "-cp", f"{program}:{jar}", "PageKt"], env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("invalid_argument") and lines[1:] == ["Build 2 passed"]
