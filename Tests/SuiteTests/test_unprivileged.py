"""The suite without any Linux capability, as in containers and systemd units."""

import os
import shutil

import campanile
import pytest
from campanile import Suite
from test_devices import Phone


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_pushes_need_no_privilege(tmp_path, monkeypatch):
    command = tmp_path / "campanile"
    drop = "--inh-caps=-all --bounding-set=-all --no-new-privs" if os.getuid() == 0 else "--no-new-privs"
    command.write_text(f'#!/bin/sh\nexec setpriv {drop} -- {campanile.CLI} "$@"\n')
    command.chmod(0o755)
    monkeypatch.setattr(campanile, "CLI", str(command))
    suite = Suite(tmp_path / "data")
    try:
        phone = Phone(suite.wait_ready(), "anna", activity=None)
        phone.explained_as(phone.publish("Suona"), "PUSHED")
        assert suite.call("ListActivities", {}, phone.key) is not None
        status = open(f"/proc/{suite.children()['activities']}/status").read()
        assert "CapEff:\t0000000000000000" in status
    finally:
        suite.stop()
