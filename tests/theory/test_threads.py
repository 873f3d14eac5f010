"""Threads: results in order, errors raised, and no threads within threads."""

import threading
import time

import pytest

from dotphase.numerics import threads
from dotphase.numerics.threads import at_once, in_parallel, one_of_many


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(threads, "available_cores", lambda: 2)


def _who(_):
    time.sleep(0.01)
    return threading.get_ident()


def test_results_come_in_the_order_of_the_jobs():
    slow_first = lambda k: time.sleep(0.02 / (k + 1)) or k
    assert at_once(slow_first, range(6)) == list(range(6))
    assert list(in_parallel(slow_first, range(6))) == list(range(6))


def test_an_error_in_any_thread_is_raised():
    def work(k):
        time.sleep(0.005)
        if k == 3:
            raise ValueError("the fourth")
        return k

    with pytest.raises(ValueError, match="the fourth"):
        at_once(work, range(6))


def test_short_jobs_share_the_calling_thread_and_another():
    assert threading.get_ident() in at_once(_who, range(6))
    assert len(set(at_once(_who, range(6)))) == 2


def test_a_thread_that_is_one_of_many_starts_no_others():
    assert len(set(one_of_many(lambda: at_once(_who, range(4)))())) == 1
    assert all(
        len(set(found)) == 1 for found in in_parallel(lambda _: at_once(_who, range(4)), range(2))
    )
    assert len(set(at_once(_who, range(4)))) == 2


def test_one_job_is_in_double_precision_too():
    import jax.numpy as jnp

    assert list(in_parallel(lambda _: jnp.ones(1).dtype.name, [0])) == ["float64"]
