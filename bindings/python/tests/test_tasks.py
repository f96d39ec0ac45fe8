# SPDX-License-Identifier: MIT
"""Scopes of tasks of asyncio, and of threads that do a part of the work of a scope.

The event loop's clock is a made one: it stands still while tasks run, and jumps to the next timer when all of them
sleep.  What they took on the library's clock is compared with sums of it, never with sleeps.
"""
import asyncio
import contextlib
import concurrent.futures
import contextlib
import contextvars
import json
import sys
import threading

import pytest

import resmon
from resmon._abi import PAGE_TABLES
from resmon.pages import page_of


@pytest.fixture
def monitor():
    """One that takes samples at its start and stop only."""
    with resmon.Monitor(interval=3600, domains="process") as one:
        yield one


def run(main):
    """asyncio.run() with a loop whose clock jumps over sleeps."""
    class Loop(asyncio.SelectorEventLoop):
        """Time passes when nothing is ready."""
        passed = 0.0

        def time(self):
            return self.passed

        def _run_once(self):
            if not self._ready and self._scheduled:
                self.passed = max(self.passed, self._scheduled[0].when())
            super()._run_once()
    loop = Loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()


def paths(monitor):
    return [scope.path for scope in monitor.scopes]


# ---- tasks -------------------------------------------------------------------------------------------


def test_tasks_that_failed_are_marked(monitor):
    async def fetch(is_bad):
        with resmon.scope("fetch"):
            await asyncio.sleep(1)
            if is_bad:
                raise OSError("no route")

    async def main():
        return await asyncio.gather(fetch(True), fetch(False), fetch(False), return_exceptions=True)
    assert [type(found) for found in run(main())] == [OSError, type(None), type(None)]
    assert (monitor.scopes["fetch"].calls, monitor.scopes["fetch"].failed) == (3, 1)


def test_tasks_at_the_same_time_are_beside_each_other(monitor):
    async def fetch(name, seconds):
        with resmon.scope(name):
            await asyncio.sleep(seconds)
            with resmon.scope("parse"):
                await asyncio.sleep(0)

    async def main():
        with resmon.scope("all"):
            await asyncio.gather(fetch("a", 3), fetch("b", 1), fetch("c", 2), fetch("a", 1))
    with resmon.scope("main"):
        run(main())
    assert paths(monitor) == ["main", "main/all", "main/all/a", "main/all/a/parse", "main/all/b", "main/all/b/parse",
                              "main/all/c", "main/all/c/parse"]
    scopes = monitor.scopes
    assert [scopes[f"main/all/{name}"].calls for name in "abc"] == [2, 1, 1]
    whole, slow = scopes["main/all"], scopes["main/all/a"]
    assert whole.calls == 1 and whole.open == 0 and slow.wall_max_s <= whole.wall_s
    for name in "abc":
        one = scopes[f"main/all/{name}"]
        assert one.concurrent_s == one.wall_s > 0 and one.energy_j != one.energy_j
        # Tasks beget nothing here: what is inside goes on in the same task.
        inner = scopes[f"main/all/{name}/parse"]
        assert inner.concurrent_s == 0 and one.self_s == pytest.approx(one.wall_s - inner.wall_s, abs=1e-9)
    assert whole.self_s == pytest.approx(whole.wall_s, abs=1e-9)
    assert scopes["main"].self_s == pytest.approx(scopes["main"].wall_s, abs=1e-9)


def test_wall_time_is_from_begin_to_end(monitor):
    """Of two that overlap like ((a) b): by what each had open, not by when it ran."""
    async def first(inside, done):
        with resmon.scope("first"):
            await asyncio.create_task(second(inside))
            await inside.wait()
            assert monitor.scopes["first"].open == 1 and monitor.scopes["first/second"].calls == 1
            await done.wait()

    async def second(inside):
        with resmon.scope("second"):
            await asyncio.sleep(1)
            assert [scope.open for scope in monitor.scopes] == [1, 1]
            inside.set()

    async def main():
        inside, done = asyncio.Event(), asyncio.Event()
        asyncio.get_running_loop().call_later(5, done.set)
        await first(inside, done)
    run(main())
    outer, inner = monitor.scopes
    assert outer.wall_s >= inner.wall_s > 0 and outer.open == inner.open == 0
    assert inner.concurrent_s == inner.wall_s and outer.self_s == outer.wall_s


@pytest.mark.parametrize("kind", ["with", "async with", "decorated"])
def test_kinds(monitor, kind):
    async def work():
        await asyncio.sleep(1)
        return resmon.here()

    async def use():
        if kind == "with":
            with resmon.scope("phase"):
                return await work()
        if kind == "async with":
            async with resmon.scope("phase") as opened:
                assert isinstance(opened, resmon.scope)
                return await work()
        return await resmon.scope("phase")(work)()

    async def main():
        return await asyncio.gather(use(), use())
    first, second = run(main())
    assert first == second != 0 and paths(monitor) == ["phase"] and monitor.scopes["phase"].calls == 2


def test_one_scope_object_in_many_tasks(monitor):
    phase, log = resmon.scope("phase"), []

    async def use(number):
        with phase:
            with phase:
                await asyncio.sleep(number)
            log.append(number)
            await asyncio.sleep(10 - number)

    async def main():
        await asyncio.gather(*(use(number) for number in (3, 1, 2)))
    run(main())
    assert log == [1, 2, 3] and paths(monitor) == ["phase"]
    assert monitor.scopes["phase"].calls == 3 and monitor.scopes["phase"].open == 0


def test_functions_that_tasks_call(monitor):
    @resmon.scope("parse")
    def parse(depth=2):
        with resmon.scope("inner"):
            return parse(depth - 1) if depth else resmon.here()

    @resmon.scope("numbers")
    def numbers():
        with resmon.scope("made"):
            yield 1
        yield 2

    async def main():
        with resmon.scope("request"):
            assert parse() != 0
            await asyncio.sleep(0)
            assert list(numbers()) == [1, 2]
        assert resmon.here() == 0
    run(main())
    scopes = monitor.scopes
    parsed = scopes["request/parse"]
    assert parsed.calls == 1 and parsed.concurrent_s == 0 and parsed.energy_j != 0
    numbered = scopes["request/numbers"]
    assert (numbered.calls, numbered.resumed, numbered.concurrent_s) == (1, 2, 0)
    assert scopes["request/parse/inner"].concurrent_s == 0
    assert all(scope.open == 0 for scope in scopes)
    inside = parsed.wall_s + scopes["request/numbers"].wall_s
    assert scopes["request"].self_s == pytest.approx(scopes["request"].wall_s - inside, abs=1e-9)


def test_wrappers_in_tasks(monitor):
    @resmon.timer(log=False)
    async def timed():
        with resmon.scope("inside"):
            await asyncio.sleep(1)

    async def main():
        await asyncio.gather(timed(), timed())
    run(main())
    assert [path.rpartition(".")[2] for path in paths(monitor)] == ["timed", "timed/inside"]
    assert monitor.scopes[1].calls == 2 and monitor.scopes[1].concurrent_s == 0


def test_asynchronous_generators(monitor):
    @resmon.scope("rows")
    async def rows(count):
        for number in range(count):
            with resmon.scope("query"):
                await asyncio.sleep(1)
            yield number

    async def main():
        with resmon.scope("request"):
            async for _ in rows(3):
                with resmon.scope("use"):
                    await asyncio.sleep(1)
    run(main())
    assert paths(monitor) == ["request", "request/rows", "request/rows/query", "request/use"]
    assert [scope.calls for scope in monitor.scopes] == [1, 4, 3, 3]  # a step ends it
    assert [scope.concurrent_s > 0 for scope in monitor.scopes] == [False] * 4


def test_an_asynchronous_generator_that_another_task_ends(monitor):
    async def rows():
        with resmon.scope("rows"):
            yield 1

    async def end(made):
        await made.aclose()

    async def main():
        made = rows()
        assert await made.__anext__() == 1
        await asyncio.create_task(end(made))
    run(main())
    assert paths(monitor) == ["rows"] and monitor.scopes["rows"].calls == 1 and monitor.scopes["rows"].open == 0


def test_cancelled_and_failing_tasks(monitor):
    async def wait():
        async with resmon.scope("wait"):
            await asyncio.sleep(1000)

    @resmon.scope("fails")
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("mine")

    async def main():
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(KeyError, match="mine"):
            await fails()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 1)
        with resmon.scope("after"):
            pass
    run(main())
    assert [(scope.path, scope.calls, scope.open) for scope in monitor.scopes] == [
        ("wait", 2, 0), ("fails", 1, 0), ("after", 1, 0)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup is of Python 3.11")
def test_task_group(monitor):
    async def step(number):
        with resmon.scope("step"):
            await asyncio.sleep(number)

    async def main():
        with resmon.scope("group"):
            async with asyncio.TaskGroup() as group:
                for number in range(4):
                    group.create_task(step(number))
    run(main())
    assert paths(monitor) == ["group", "group/step"] and monitor.scopes["group/step"].calls == 4
    group = monitor.scopes["group"]
    assert group.self_s == group.wall_s


def test_tasks_that_outlive_a_monitor():
    async def work(began, goes_on):
        with resmon.scope("outer"):
            began.set()
            await goes_on.wait()
            with resmon.scope("inner"):
                return resmon.here()

    async def main():
        began, goes_on = asyncio.Event(), asyncio.Event()
        with resmon.Monitor(interval=3600, domains="process") as first:
            task = asyncio.ensure_future(work(began, goes_on))
            await began.wait()
        assert first.scopes["outer"].open == 1
        with resmon.Monitor(interval=3600, domains="process") as second:
            goes_on.set()
            assert await task != 0
        assert paths(second) == ["inner"] and second.scopes["inner"].calls == 1
        with resmon.scope("nothing is measured"):
            assert resmon.here() == 0
    run(main())


def test_coroutines_without_asyncio(monitor):
    class Step:
        def __await__(self):
            yield

    @resmon.scope("phase")
    async def phase():
        await Step()
    made = phase()
    made.send(None)
    with pytest.raises(StopIteration):
        made.send(None)
    assert (monitor.scopes["phase"].calls, monitor.scopes["phase"].resumed) == (1, 1)


# ---- threads -----------------------------------------------------------------------------------------


def test_threads_that_do_a_part_of_the_work(monitor):
    def work(here):
        with resmon.scope("work", under=here):
            with resmon.scope("step"):
                assert resmon.here() != here

    with resmon.scope("train"):
        here = resmon.here()
        assert here != 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(work, [here] * 8))
        work(here)
    assert paths(monitor) == ["train", "train/work", "train/work/step"]
    train, work_of_all, _ = monitor.scopes
    assert train.calls == 1 and train.threads == 1 and work_of_all.calls == 9
    inside = work_of_all.wall_s - work_of_all.concurrent_s
    assert 0 < inside < work_of_all.wall_s
    assert train.self_s == pytest.approx(train.wall_s - inside, abs=1e-9)


def test_threads_of_tasks(monitor):
    def load():
        with resmon.scope("load"):
            with resmon.scope("read"):
                return resmon.here()

    async def main():
        with resmon.scope("request"):
            # to_thread() is of Python 3.9; another way to the same:
            context = contextvars.copy_context()
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, context.run, load) != 0
            assert await asyncio.to_thread(load) != 0
    run(main())
    assert paths(monitor) == ["request", "request/load", "request/load/read"]
    _, load_of_both, read = monitor.scopes
    assert load_of_both.concurrent_s > 0 and read.concurrent_s == 0 and load_of_both.calls == read.calls == 2


def test_loops_in_threads_of_their_own(monitor):
    async def main():
        with resmon.scope("request"):
            await asyncio.sleep(0)

    def work():
        with resmon.scope("thread"):
            run(main())
    with contextlib.ExitStack() as stack:
        stack.enter_context(resmon.scope("main"))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(paths(monitor)) == ["main", "thread", "thread/request"]
    assert monitor.scopes["thread/request"].calls == 3


def test_tables_say_what_is_beside(monitor, tmp_path):
    with resmon.scope("short"):
        here = resmon.here()
    with resmon.scope("middle"):
        pass
    with resmon.scope("long", under=here):
        pass
    monitor.stop()
    monitor.save(tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    short, middle = document["scopes"]
    for scope, wall_ns in ((short, 1e6), (middle, 2e6), (short["children"][0], 9e6)):
        scope["wall_ns"] = scope["self_ns"] = wall_ns
    assert short["children"][0]["concurrent_ns"] > 0 and short["concurrent_ns"] == 0
    run = resmon.parse(json.dumps(document))
    assert "long ||" in repr(run.scopes) and "short ||" not in repr(run.scopes)
    assert "||: runs in parallel to the scope above" in repr(run.summary)
    table = page_of([run], PAGE_TABLES).runs[0].table("scopes")
    assert [row[0].strip() for row in table.rows] == ["short", "long ||", "middle"]
    assert any("||: runs in parallel" in note for note in table.notes)


def test_a_handle_of_nothing(monitor):
    assert resmon.here() == 0
    with resmon.scope("top", under=0):
        pass
    with resmon.scope("stale", under=(1 << 63) + 5):
        pass
    assert paths(monitor) == ["top", "stale"]


# ---- what no task can interrupt ---------------------------------------------------------------------


def test_a_with_that_awaits_nothing_is_on_the_thread():
    """As in a notebook's cell, which runs in a task too: it has CPU time and energy."""
    def compute():
        with resmon.scope("compute"):
            with resmon.scope("inner"):
                return resmon.here()

    async def step(seconds):
        with resmon.scope("step"):
            await asyncio.sleep(seconds)
            assert compute()
            await asyncio.sleep(seconds)

    async def main():
        compute()
        await asyncio.gather(step(1), step(2))
    with resmon.Monitor(interval=3600, domains="process", scopes="wall+cpu") as monitor:
        run(main())
    assert paths(monitor) == ["compute", "compute/inner", "step", "step/compute", "step/compute/inner"]
    for scope in monitor.scopes:
        is_on_thread = scope.name != "step"
        assert (scope.cpu_s == scope.cpu_s) is is_on_thread
        assert scope.open == 0 and scope.concurrent_s == 0 or not is_on_thread
    step_, inside = monitor.scopes["step"], monitor.scopes["step/compute"]
    assert (step_.calls, inside.calls) == (2, 2) and inside.wall_s < step_.wall_s


class Phase:
    """Its methods are functions that are not async, and between them all may happen."""

    def __enter__(self):
        self._scope = resmon.scope("phase")
        self._scope.__enter__()

    def __exit__(self, *error):
        self._scope.__exit__(*error)


@contextlib.contextmanager
def phase():
    with resmon.scope("phase"):
        yield


@pytest.mark.parametrize("kind", [Phase, phase, "stack", "alone"])
def test_a_scope_that_is_entered_elsewhere_may_be_interrupted(monitor, kind):
    async def step(seconds):
        if kind == "stack":
            with contextlib.ExitStack() as stack:
                stack.enter_context(resmon.scope("phase"))
                await asyncio.sleep(seconds)
        elif kind == "alone":
            scope = resmon.scope("phase")
            scope.__enter__()
            await asyncio.sleep(seconds)
            scope.__exit__(None, None, None)
        else:
            with kind():
                await asyncio.sleep(seconds)

    async def main():
        await asyncio.gather(step(1), step(3), step(2))
    with resmon.scope("main"):
        run(main())
    assert paths(monitor) == ["main", "main/phase"]
    found = monitor.scopes["main/phase"]
    assert (found.calls, found.open) == (3, 0) and found.cpu_s != found.cpu_s


def test_errors_in_what_is_not_interrupted(monitor):
    def compute():
        with resmon.scope("compute"):
            raise OSError("no data")

    async def main():
        with pytest.raises(OSError):
            compute()
        with resmon.scope("after"):
            await asyncio.sleep(0)
    run(main())
    assert paths(monitor) == ["compute", "after"]
    assert (monitor.scopes["compute"].failed, monitor.scopes["after"].failed) == (1, 0)
