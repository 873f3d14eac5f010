"""Worker processes: they answer, stop when told, may die, and are bounded."""

import asyncio
import contextlib
import os
import signal
import threading

import pytest

from dotphase.explorer.answers.task import Branches, Task
from dotphase.explorer.server.jobs import Memory, _halving, _in_order, branches, grid
from dotphase.explorer.server.worker_pool import Busy, WorkerPool, WorkFailed, _ended

TRAINING = {"task": Task().model_dump(by_alias=True), "start": "random", "seed": 0, "seeds": 1}


@contextlib.asynccontextmanager
async def trainers(**options):
    pool = WorkerPool(
        "test",
        **{"size": 1, "waiting": 2, "seconds": 120, "patience": 20, "first": "warm_training"}
        | options,
    )
    pool.start()
    try:
        await asyncio.wait_for(pool.ready.wait(), 180)
        yield pool
    finally:
        await pool.stop()


async def killed_at_work(pool):
    async for message in pool.run("training", d=1000, optimiser="gd", **TRAINING):
        if message["event"] == "step":
            os.kill(pool.processes[0], signal.SIGKILL)


def test_a_crew_answers_stops_survives_and_refuses():
    """In one test, since a worker takes seconds to load."""

    async def story():
        async with trainers() as pool:
            ends = [
                m
                async for m in pool.run("training", d=60, optimiser="lbfgs", **TRAINING)
                if m["event"] == "end"
            ]
            assert ends[0]["outcome"] in ("converged", "stopped")

            with pytest.raises(WorkFailed, match="KeyError"):
                await pool.answer("no such work")

            # Whoever leaves early stops the work, and the worker goes on.
            before = pool.processes
            async with contextlib.aclosing(
                pool.run("training", d=600, optimiser="gd", **TRAINING)
            ) as messages:
                async for message in messages:
                    if message["event"] == "step":
                        break
            assert (await pool.answer("training", d=60, optimiser="lbfgs", **TRAINING))[
                "event"
            ] == "end"
            assert pool.processes == before

            # A worker that dies fails its own order only.
            with pytest.raises(WorkFailed, match="died"):
                await killed_at_work(pool)
            assert (await pool.answer("training", d=60, optimiser="lbfgs", **TRAINING))[
                "event"
            ] == "end"
            assert pool.processes != before

            # One that dies with nothing heard of its order fails none: another takes it.
            before = pool.processes
            os.kill(before[0], signal.SIGKILL)
            assert (await pool.answer("training", d=60, optimiser="lbfgs", **TRAINING))[
                "event"
            ] == "end"
            assert pool.processes != before

            # One that dies while it has nothing to do is replaced before anyone asks.
            before = pool.processes
            os.kill(before[0], signal.SIGKILL)
            for _ in range(600):
                if pool.processes != before:
                    break
                await asyncio.sleep(0.1)
            assert pool.processes != before

            # The queue has an end.
            long = [
                asyncio.create_task(pool.answer("training", d=1000, optimiser="gd", **TRAINING))
                for _ in range(4)
            ]
            done, _ = await asyncio.wait(long, return_when=asyncio.FIRST_COMPLETED)
            assert isinstance(done.pop().exception(), Busy)
            for task in long:
                task.cancel()
            await asyncio.gather(*long, return_exceptions=True)

    asyncio.run(story())


def test_cancelled_orders_do_not_pile_up():
    """Nobody takes an order here; every tenth one still waits in the end, in its place."""

    async def story():
        pool = WorkerPool("test", 1, waiting=400, seconds=1, patience=1, first="warm_training")
        kept = []
        for at in range(1000):
            asked = asyncio.create_task(pool.answer("count", priority=at % 3, text=str(at)))
            await asyncio.sleep(0)
            if at % 10 == 0:
                kept.append(asked)
                continue
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        assert pool.length == 100
        assert pool._queue.qsize() <= 2 * pool.length + 64
        waiting = [pool._queue.get_nowait() for _ in range(pool._queue.qsize())]
        left = [int(order.arguments["text"]) for order in waiting if not order.unwanted.is_set()]
        assert left == sorted(range(0, 1000, 10), key=lambda at: (at % 3, at))
        for asked in kept:
            asked.cancel()
        await asyncio.gather(*kept, return_exceptions=True)

    asyncio.run(story())


def test_work_that_takes_too_long_is_ended():
    async def story():
        async with trainers() as pool:
            pool.seconds = 0.5
            with pytest.raises(WorkFailed, match="more than"):
                await pool.answer("training", d=1000, optimiser="gd", **TRAINING | {"seeds": 20})

    asyncio.run(story())


def test_points_go_outwards_from_the_one_that_is_dragged():
    values = grid("alpha", 1.23)
    assert values[0] == 1.23
    assert len(values) == len(set(values)) == 26
    assert [abs(v - 1.23) for v in values] == sorted(abs(v - 1.23) for v in values)
    assert grid("lambda", 0.01).count(0.01) == 1
    assert sorted(_halving(list(range(11)))) == list(range(11))
    assert _halving(list(range(11)))[0] == 0


def test_branches_come_coarse_first_then_fine_then_by_the_other_theory():
    class AtOnce:
        """A pool whose workers need no time."""

        async def answer(self, work, priority, **arguments):
            return {"priority": priority}

    async def story():
        return [message async for message in branches(AtOnce(), Branches(along="omega"))]  # type: ignore[arg-type]

    told = asyncio.run(story())
    assert told[0]["event"] == "grid"
    assert {message["branch"] for message in told[1:3]} == {"semantic", "positional"}
    order = [(m["event"], m.get("stage"), m.get("minimum"), m["priority"]) for m in told[1:]]
    assert list(dict.fromkeys(order)) == [
        ("point", "coarse", "lowest", 0),
        ("point", "coarse", "lowest", 1),
        ("baseline", None, None, 1),
        ("point", "exact", "lowest", 2),
        ("point", "fine", "lowest", 2),
        ("point", "coarse", "reached", 2),
    ]
    assert len(order) == 26 * 2 * 3 + 26


def test_answers_come_in_order_and_what_is_left_is_cancelled():
    async def story():
        cancelled = []

        async def piece(k):
            try:
                await asyncio.sleep(0.01 * (5 - k))
                return k
            except asyncio.CancelledError:
                cancelled.append(k)
                raise

        assert [k async for k in _in_order([lambda k=k: piece(k) for k in range(5)], 3)] == list(
            range(5)
        )
        async with contextlib.aclosing(
            _in_order([lambda k=k: piece(k) for k in (4, -1000, -2000, 3)], 3)
        ) as answers:
            assert await anext(answers) == 4
        assert cancelled == [-1000, -2000]

    asyncio.run(story())


def test_remembered_answers_are_bounded_by_their_length():
    memory = Memory(most=100)
    for key in "abcd":
        memory.keep(key, {"point": list(range(8))})  # 36 characters with the key
        memory.keep(key, {"point": list(range(8))})
        assert memory.get("a") is not None
        assert memory.size <= 100
    assert [key for key in "abcd" if memory.get(key)] == ["a", "d"]
    memory.keep("long", "x" * 200)
    assert (memory.size, memory.get("long"), memory.get("a")) == (0, None, None)


def test_a_worker_whose_end_takes_long_does_not_hold_up_the_next_one():
    released = threading.Event()

    class Slow:
        ended = False

        def end(self):
            self.ended = released.wait(60)

    async def story():
        worker, began = Slow(), asyncio.get_running_loop().time()
        await _ended(worker, patience=0.2)
        assert asyncio.get_running_loop().time() - began < 30
        assert not worker.ended
        released.set()
        await _ended(worker)
        assert worker.ended

    asyncio.run(story())
