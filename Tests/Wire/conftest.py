"""What the wire tests share."""

import pytest

from wire_process import Process


@pytest.fixture(scope="session")
def echo(tmp_path_factory):
    process = Process("campanile-echo", tmp_path_factory.mktemp("echo"))
    yield process
    assert process.is_running(), process.log_path.read_text()[-4000:]
    assert process.stop() == 0
