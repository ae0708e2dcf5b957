import pytest
from campanile import Suite


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """A suite with sample data, shared by the tests that do not stop or reconfigure it."""
    running = Suite(tmp_path_factory.mktemp("shared") / "data", "--demo")
    try:
        yield running.wait_ready()
    finally:
        running.stop()


@pytest.fixture
def start(tmp_path):
    """Starts suites for one test and stops them at its end."""
    started = []

    def make(name="data", *arguments, settings=None):
        started.append(Suite(tmp_path / name, *arguments, settings=settings))
        return started[-1]

    yield make
    for running in started:
        running.stop()
