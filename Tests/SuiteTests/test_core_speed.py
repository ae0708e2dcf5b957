"""The benchmarks distinguish seconds in which other programs slowed the core from those with a slow server."""

import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Benchmarks" / "run"))
from bench import is_disturbed, whole_speed  # noqa: E402

SOURCE = ROOT / "Benchmarks" / "Sources" / "CoreSpeed" / "main.c"


@pytest.fixture(scope="module")
def core_speed(tmp_path_factory):
    program = tmp_path_factory.mktemp("core") / "CoreSpeed"
    subprocess.run(["clang", "-O2", "-Wall", "-Wextra", "-Werror", SOURCE, "-o", program], check=True)
    return program


def second(start, speeds):
    return [(start + index / len(speeds), speed) for index, speed in enumerate(speeds)]


def test_a_second_is_disturbed_by_more_than_one_slow_sample():
    speeds = {0: [18.0] * 50, 1: [17.0] * 50, 2: [18.0] * 49 + [11.0], 3: [18.0] * 48 + [11.0] * 2, 4: [11.0] * 50}
    samples = [sample for start, values in speeds.items() for sample in second(start, values)]
    assert whole_speed(samples) == 18
    assert [is_disturbed(start, start + 1, samples, 18) for start in speeds] == [False, False, False, True, True]


def test_a_second_without_samples_is_not_excused():
    assert not is_disturbed(5, 6, [], 18)
    assert not is_disturbed(5, 6, second(7, [11.0] * 50), 18)
    assert whole_speed([]) == 0


def test_few_fast_samples_do_not_set_the_whole_speed():
    assert whole_speed(second(0, [18.0] * 97 + [90.0] * 3)) == 18


def test_core_is_sampled_in_order_at_most_fifty_times_a_second(core_speed):
    begun = time.time()
    lines = subprocess.run([core_speed, "1"], check=True, stdout=subprocess.PIPE, text=True, timeout=30).stdout.splitlines()
    samples = [tuple(map(float, line.split())) for line in lines]
    assert 5 <= len(samples) <= 50 and all(speed > 0.1 for _, speed in samples)
    times = [when for when, _ in samples]
    assert times == sorted(times) and begun <= times[0] and times[-1] <= time.time() + 0.001


@pytest.mark.parametrize("arguments", [[], ["0"], ["-1"], ["nan"], ["x"], ["1s"], ["3601"], ["1", "2"]])
def test_invalid_lengths_are_refused(core_speed, arguments):
    ended = subprocess.run([core_speed, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=30)
    assert ended.returncode == 64 and "SECONDS" in ended.stderr and not ended.stdout
