"""The rate that scripts/soak chooses at its start and the verdict at its end, without the half hour in between."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Soak"))
import soak  # noqa: E402


def answers(p99_ms):
    return {"read": {"latency": {"percentilesMs": {"99": p99_ms}}}, "write": {"latency": {"percentilesMs": {"99": 5.0}}}}


def test_rate_is_the_highest_that_can_be_sustained():
    asked = []

    def probe(rates):
        asked.append(rates)
        return answers(soak.KEPT_UP_P99_MS + 1 if rates["read"] > 800 else soak.KEPT_UP_P99_MS)

    assert soak.capacity({"read": 1000.0, "write": 100.0}, probe) == {"read": 800, "write": 80}
    assert [rates["read"] for rates in asked] == [1000, 950, 900, 850, 800]


def test_suite_that_sustains_no_rate_is_refused():
    with pytest.raises(RuntimeError, match="even at 25%"):
        soak.capacity({"read": 1000.0}, lambda rates: answers(1e3))


def minutes(count, **last):
    """Identical minutes, except that those of the last third have the values of `last`."""
    usual = {"rss": {"sync": 50 * soak.MIB}, "descriptors": {"sync": 40}, "wal": {"sync/wal": 16 * soak.MIB}, "p99": {"write": 20.0}, "failed": 0}
    return [usual | (last if number >= count - count // 3 else {}) for number in range(count)]


@pytest.mark.parametrize(("grown", "told"), [
    ({"rss": {"sync": 96 * soak.MIB}}, "rss of sync"),
    ({"descriptors": {"sync": 57}}, "descriptors of sync"),
    ({"wal": {"sync/wal": 41 * soak.MIB}}, "wal of sync/wal"),
    ({"p99": {"write": 40.1}}, "p99 of write"),
])
def test_growth_beyond_its_bound_is_reported(grown, told):
    assert soak.judge(minutes(9)) == []
    assert [text.partition(":")[0] for text in soak.judge(minutes(9, **grown))] == [told]


def test_one_failed_call_is_one_too_many():
    assert soak.judge(minutes(3, failed=1)) == ["minute 3: 1 failed calls"]
