"""Signals of a queue during hearsay.sweep."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from bench.base import preemption
from hearsay.sweeps import preemptible
from tests.helpers.cli import ROOT


@pytest.fixture
def received():
    """The signals that a handler of the user has received, which lets the process live."""
    numbers = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGUSR1, before)


def preempted(error=preemption.Preempted):
    """A sweep that receives a signal and ends with this error."""
    with preemptible():
        signal.raise_signal(signal.SIGUSR1)
        assert preemption.requested() == signal.SIGUSR1
        raise error


def test_a_signal_has_its_usual_effect_after_the_checkpoint_and_none_on_later_sweeps(received):
    for times in (1, 2):
        with pytest.raises(SystemExit) as end:
            preempted()
        assert (end.value.code, received) == (128 + signal.SIGUSR1, [signal.SIGUSR1] * times)
        with preemptible():
            assert preemption.requested() is None
        assert len(received) == times


def test_a_signal_after_the_last_step_has_its_usual_effect(received):
    with preemptible():
        signal.raise_signal(signal.SIGUSR1)
        assert received == []
    assert received == [signal.SIGUSR1]


def test_a_signal_has_its_usual_effect_if_the_sweep_fails(received):
    with pytest.raises(ZeroDivisionError):
        preempted(ZeroDivisionError)
    assert received == [signal.SIGUSR1]


def test_a_signal_takes_effect_after_the_checkpoints_of_sweeps_in_other_threads(received):
    begun, effects = threading.Event(), []

    def other():
        with preemptible():
            begun.set()
            while not preemption.requested():
                time.sleep(0.01)
            time.sleep(0.2)
            effects.append(list(received))

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(10)
    with pytest.raises(SystemExit):
        preempted()
    thread.join()
    assert (effects, received) == ([[]], [signal.SIGUSR1])


@pytest.mark.parametrize("before", ["", "signal.signal(signal.SIGUSR1, print)"])
def test_a_handler_that_python_does_not_know_is_restored(before):
    script = f"""
import faulthandler, signal
{before}
faulthandler.register(signal.SIGUSR1)
from bench.base import preemption
with preemption.listening():
    pass
signal.raise_signal(signal.SIGUSR1)
"""
    end = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (end.returncode, end.stdout) == (0, "")
    assert "<module>" in end.stderr


def test_a_handler_of_an_embedding_program_is_accepted(monkeypatch):
    """Python returns None for it."""
    known = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGUSR2 else known(number))
    with preemptible():
        pass
    assert known(signal.SIGUSR2) == signal.SIG_DFL
