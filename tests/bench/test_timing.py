"""How benchmarks choose the length of what they time."""

import pytest

from manymove.bench import harness


class Machine:
    """A clock, and a variant that takes 0.7 s for its start and 1 ms for a sweep."""

    def __init__(self, cycle):
        self.now, self.cycle, self.started = 0.0, cycle, False

    def run(self, sweeps):
        done = sweeps // self.cycle * self.cycle
        self.now += 0.001 * done + (0.0 if self.started else 0.7)
        self.started = True
        return 10 * done, done


@pytest.mark.parametrize("cycle", [1, 24])
def test_length_of_a_timed_run_does_not_count_the_start_of_a_device(monkeypatch, cycle):
    machine = Machine(cycle)
    monkeypatch.setattr(harness.time, "perf_counter", lambda: machine.now)
    variant = harness.Variant("", machine.run, {})
    variant.calibrate(0.5)
    assert variant.sweeps == pytest.approx(600, rel=0.02 + cycle / 100)
    variant.time()
    assert variant.rates == [pytest.approx(10_000)]


def test_length_of_a_timed_run_is_what_the_ranks_agree_on(monkeypatch):
    machine = Machine(1)
    monkeypatch.setattr(harness.time, "perf_counter", lambda: machine.now)
    variant = harness.Variant("", machine.run, {})
    variant.calibrate(0.5, lambda elapsed: 2 * elapsed)  # another rank is half as fast
    assert variant.sweeps == pytest.approx(300, rel=0.02)


def test_what_a_run_spends_on_its_beginning_is_not_counted(monkeypatch):
    """Of programs that spend 0.7 s on the beginning of each run."""
    machine = Machine(1)

    def run(sweeps):
        machine.started = False
        return machine.run(sweeps)

    monkeypatch.setattr(harness.time, "perf_counter", lambda: machine.now)
    variant = harness.Variant("", run, {}, sweeps=16, shortest=16)
    variant.calibrate(0.5)
    variant.time()
    assert variant.rates == [pytest.approx(10_000)]
    assert variant.sweeps == pytest.approx(600, rel=0.02)
    variant.calibrate(0.001)
    assert variant.sweeps == 16  # one more than the beginning has, at least
