"""The contents of Sync on a PostgreSQL server, and on the way there and back."""

import json
import pathlib
import subprocess

import pytest
from campanile import BIN, PATIENCE_S, environment
from postgresql_server import Server
from sync_client import TOKEN, Link
from test_sync import array

from wire_marks import on_sqlite  # noqa: E402  (sync_client added its folder to the path)
from wire_process import Process  # noqa: E402
from wire_store import DATABASES  # noqa: E402

pytestmark = on_sqlite


@pytest.fixture
def address(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    server.create(DATABASES[-1])
    yield f"postgresql://postgres@/{DATABASES[-1]}?host={server.folder}"
    server.stop()


@pytest.fixture
def start(tmp_path):
    started = []

    def run(name, *arguments):
        folder = tmp_path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        process = Process(
            "campanile-sync", folder, "--data-dir", str(folder), "--log-level", "warning", *arguments, internal_token=TOKEN)
        started.append(process)
        return process

    yield run
    for process in started:
        process.stop()


def move(source, *target):
    return subprocess.run(
        [str(BIN / "campanile-sync"), "--move-from", str(source), *map(str, target)],
        text=True, capture_output=True, env=environment(), timeout=PATIENCE_S)


def files(folder):
    return [path for path in (pathlib.Path(folder) / "sync-contents").rglob("*") if path.is_file()]


def test_contents_and_uploads_move_to_a_server_and_back(address, start, tmp_path):
    small, large, half = b'{"small":1}', array(2_500_000, seed=2), array(2_200_000, seed=3)
    sync = start("first")
    with Link(sync.port) as link:
        link.register("phone", "WRITER")
        done = link.create_upload("phone", large)
        link.send_chunks(done["id"], large)
        link.put_upload("phone", "large", done["id"])
        unfinished = link.create_upload("phone", half)["id"]
        answer = link.send_chunks(unfinished, half[:1_500_000])
        received = int(answer["result"]["upload"]["receivedBytes"])
        link.put("phone", "small", small)
    # The small content may still be in the journal of the database.
    sync.kill()
    moved = move(tmp_path / "first", "--data-dir", tmp_path / "second", "--store", address)
    assert moved.returncode == 0, moved.stderr
    assert "2 contents copied and verified" in moved.stdout + moved.stderr

    sync = start("second", "--store", address)
    with Link(sync.port) as link:
        assert link.content("small") == small and link.download("large")[0] == large
        assert link.download("large", 2_000_000)[0] == large[2_000_000:]
        kept = int(link.ask("UploadsService/GetUpload", {"uploadId": unfinished})["upload"]["receivedBytes"])
        # Whole blocks of 128 KiB are kept.
        assert kept == received // (128 << 10) * (128 << 10) > 0
        link.send_chunks(unfinished, half, kept)
        link.put_upload("phone", "half", unfinished)
        other = link.create_upload("phone", large + b" ")["id"]
        link.send_chunks(other, (large + b" ")[:1_400_000])
    assert files(tmp_path / "second") == []
    # A killed process has stored what earlier streams have sent.
    sync.kill()
    sync = start("second", "--store", address)
    with Link(sync.port) as link:
        assert link.download("half")[0] == half
        assert int(link.ask("UploadsService/GetUpload", {"uploadId": other})["upload"]["receivedBytes"]) == 10 * (128 << 10)
    sync.stop()

    moved = move(address, "--data-dir", tmp_path / "third")
    assert moved.returncode == 0, moved.stderr
    sync = start("third")
    with Link(sync.port) as link:
        assert [link.download(name)[0] for name in ["small", "large", "half"]] == [small, large, half]
        link.send_chunks(other, large + b" ", 10 * (128 << 10))
        link.put_upload("phone", "other", other)
        assert link.download("other")[0] == large + b" "
    assert len(files(tmp_path / "third")) == 4


def test_a_damaged_content_is_named_and_left_out(address, start, tmp_path):
    sync = start("first")
    with Link(sync.port) as link:
        link.register("phone", "WRITER")
        link.put("phone", "whole", array(400_000))
        damaged = link.put("phone", "damaged", array(400_000, seed=2))["asset"]["sha256"]
    sync.stop()
    path = next(path for path in files(tmp_path / "first") if path.name == damaged)
    path.write_bytes(path.read_bytes()[:-100])
    moved = move(tmp_path / "first", "--data-dir", tmp_path / "second", "--store", address)
    assert moved.returncode == 0, moved.stderr
    told = moved.stdout + moved.stderr
    assert "1 contents copied and verified" in told and f"left out: {damaged}" in told
    sync = start("second", "--store", address)
    with Link(sync.port) as link:
        assert link.content("whole") == array(400_000)
        assert link.refusal("AssetsService/GetAsset", {"name": "damaged", "includeContent": True}) == "DATA_LOSS CONTENT_DAMAGED"
        # Storing it again repairs it.
        link.put("phone", "again", array(400_000, seed=2))
        assert link.content("damaged") == array(400_000, seed=2)
