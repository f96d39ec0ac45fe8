# SPDX-License-Identifier: MIT
"""profile_lines and profile_memory: whose time and memory a line gets, and that the function notices nothing."""
import asyncio
import contextlib
import functools
import inspect
import io
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import time
import types
import weakref

import pytest
from conftest import RSS_SLACK, needs_live

from resmon import line_trace, lines
from resmon.lines import print_lines, profile_lines, profile_memory

MIB = 1 << 20
HAS_MONITORING = hasattr(sys, "monitoring")
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(lines.__file__)))


@pytest.fixture(params=["monitoring", "settrace"], autouse=True)
def backend(request, monkeypatch):
    if request.param == "settrace":
        monkeypatch.setattr(line_trace, "tracers", line_trace.tracers[-1:])
    elif not HAS_MONITORING:
        pytest.skip("sys.monitoring came with Python 3.12")
    # The functions of a test are defined again from the same code for the other backend.
    monkeypatch.setattr(lines, "_tables", weakref.WeakValueDictionary())
    yield request.param
    assert not line_trace.local.thread.monitored and not line_trace.local.thread.traced
    if request.param == "monitoring":
        assert line_trace.tracers[0].tool is None and not line_trace.tracers[0].owners


class MadeClock:
    """Stands for the module time, and for the clock of the profiler: time passes in sleep(), and by so much at each look
    of the profiler.  Whose it was is then exact, whatever the machine does meanwhile."""

    def __init__(self, tick_ns=0):
        self.now_ns, self.tick_ns = 0, tick_ns

    def perf_counter_ns(self):
        self.now_ns += self.tick_ns
        return self.now_ns

    def perf_counter(self):
        return self.now_ns / 1e9

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch):
    """time.sleep() and burn() of the tests take time of it, and nothing else does."""
    made = MadeClock()
    monkeypatch.setattr(line_trace, "clock", made.perf_counter_ns)
    monkeypatch.setattr(line_trace, "EVENT_NS", 0)
    monkeypatch.setitem(globals(), "time", made)
    monkeypatch.setitem(globals(), "burn", made.sleep)
    return made


def exactly(seconds):
    return pytest.approx(seconds, rel=0, abs=1e-9)


class StandInWatch:
    """What resmon.watch.Watch does, by the kernel's own high-water mark, which it takes for itself alone."""

    open = 0

    def __init__(self, metric):
        assert metric == "rss"
        type(self).open += 1
        self.reset()

    @staticmethod
    def reset():
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")

    def lap_rss(self):
        with open("/proc/self/status") as file:
            status = dict(line.split(":", 1) for line in file if line.startswith("Vm"))
        self.reset()
        return tuple(int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))

    def end(self):
        type(self).open -= 1


@pytest.fixture
def watch(monkeypatch, one_cpu):
    try:
        StandInWatch.reset()
    except OSError as error:
        pytest.skip(f"no high-water mark here: {error}")
    monkeypatch.setitem(sys.modules, "resmon.watch", types.SimpleNamespace(Watch=StandInWatch))
    yield StandInWatch
    assert StandInWatch.open == 0


def by_text(function, text):
    """The one row whose source holds `text`."""
    found = [row for row in function.lines.rows if text in row.text]
    assert len(found) == 1, (text, function.lines.rows)
    return found[0]


def total(function):
    return sum(row.seconds for row in function.lines.rows)


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def run_python(code, *arguments, file=None):
    code = textwrap.dedent(code)
    environment = dict(os.environ, PYTHONPATH=PACKAGE)
    if file is not None:
        file.write_text(code)
    command = [sys.executable, *(["-c", code] if file is None else [str(file)]), *arguments]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120)


# Time


def test_time_goes_to_the_line_that_took_it():
    @profile_lines
    def load():
        time.sleep(0.05)
        burn(0.1)
        for _ in range(3):
            time.sleep(0.01)
        return 5

    start = time.perf_counter()
    assert load() == 5
    wall = time.perf_counter() - start
    # A hair's breadth less where what the event costs is taken off.
    assert by_text(load, "sleep(0.05)").seconds > 0.049
    assert by_text(load, "burn").seconds > 0.099
    assert by_text(load, "sleep(0.01)").seconds > 0.029
    assert by_text(load, "for").hits == 4
    assert by_text(load, "sleep(0.01)").hits == 3
    assert total(load) <= wall


def test_time_goes_to_no_other_line(clock):
    @profile_lines
    def load():
        time.sleep(0.05)
        burn(0.1)
        for _ in range(3):
            time.sleep(0.01)
        return 5

    assert load() == 5
    assert by_text(load, "sleep(0.05)").seconds == exactly(0.05)
    assert by_text(load, "burn").seconds == exactly(0.1)
    assert by_text(load, "sleep(0.01)").seconds == exactly(0.03)
    assert by_text(load, "for").seconds == by_text(load, "return").seconds == 0


def test_calls_add_up_and_clear_begins_anew():
    @profile_lines
    def load(count):
        for _ in range(count):
            pass

    load(2)
    load(3)
    assert by_text(load, "for").hits == 7
    assert by_text(load, "pass").hits == 5
    load.lines.clear()
    assert load.lines.rows == []
    load(1)
    assert by_text(load, "pass").hits == 1


def test_clear_while_it_runs():
    @profile_lines
    def load():
        burn(0.01)
        load.lines.clear()
        burn(0.02)

    load()
    assert [row.text.strip() for row in load.lines.rows] == ["burn(0.02)"]


def test_time_in_the_callbacks_is_not_counted(clock):
    @profile_lines
    def inner():
        for _ in range(1000):
            pass

    @profile_lines
    def outer():
        inner()

    clock.tick_ns = 1000  # from one look to the next, within a callback and between two
    outer()
    # One for each of 2001 lines, and some for the way in and out.
    assert 2001e-6 <= total(inner) <= 2010e-6
    assert total(inner) <= total(outer) <= total(inner) + 40e-6


def test_events_of_what_a_line_calls_are_taken_off_as_its_own(clock, monkeypatch):
    monkeypatch.setattr(line_trace, "EVENT_NS", 1000)

    @profile_lines
    def inner():
        for _ in range(500):
            time.sleep(10e-6)

    @profile_lines
    def outer():
        inner()

    outer()
    # An event for each sleep, and one for each round of the loop, which takes no time.
    assert total(outer) == pytest.approx(500 * 8e-6, abs=10e-6)
    assert total(inner) == pytest.approx(500 * 9e-6, abs=10e-6)


def test_own_cost_is_not_counted():
    needs_live("one of seven rounds without a busy program beside it")

    def measure():
        @profile_lines
        def inner():
            for _ in range(20000):
                pass

        @profile_lines
        def outer():
            inner()

        outer()
        return total(inner), total(outer)

    # What inner's events cost is no time of outer's line either. What is left is the way into the callbacks; beside
    # busy programs a round may be of no use.
    rounds = [measure() for _ in range(7)]
    assert any(inner <= 1.2 * outer + 0.002 and outer < 1.5 * inner + 0.01 for inner, outer in rounds), rounds


def test_recursion_adds_up_to_wall_time(clock):
    @profile_lines
    def down(depth):
        time.sleep(0.01)
        if depth:
            down(depth - 1)
        time.sleep(0.01)

    down(4)
    assert total(down) == exactly(0.1) == exactly(clock.perf_counter())
    assert by_text(down, "down(depth - 1)").seconds == 0
    assert by_text(down, "down(depth - 1)").hits == 4


def test_recursion_by_another_name(clock):
    def down(depth):
        time.sleep(0.01)
        if depth:
            down(depth - 1)
        time.sleep(0.01)

    profiled = profile_lines(down)
    profiled(4)
    assert total(profiled) == exactly(0.1) == exactly(clock.perf_counter())
    assert by_text(profiled, "down(depth - 1)").seconds == 0
    assert [row.hits for row in profiled.lines.rows if "sleep" in row.text] == [5, 5]


def test_recursion_by_another_name_left_by_exceptions(clock):
    def down(depth):
        if not depth:
            raise KeyError
        try:
            down(depth - 1)
        except KeyError:
            pass
        time.sleep(0.01)
        if depth == 4:
            raise KeyError

    profiled = profile_lines(down)
    with pytest.raises(KeyError):
        profiled(4)
    assert by_text(profiled, "sleep").hits == 4
    assert by_text(profiled, "sleep").seconds == exactly(0.04)
    assert by_text(profiled, "down(depth - 1)").seconds == 0
    assert all(row.hits for row in profiled.lines.rows)


def test_mutual_recursion(clock):
    @profile_lines
    def even(n):
        time.sleep(0.005)
        return n == 0 or odd(n - 1)

    @profile_lines
    def odd(n):
        time.sleep(0.005)
        return n != 0 and even(n - 1)

    assert even(8)
    # Each has the time of all its outermost call, so odd lacks what even did before it.
    assert total(even) == exactly(9 * 0.005) and total(odd) == exactly(8 * 0.005)
    # A line holds what it calls of others, but not of its own function: the sleeps of odd.
    assert by_text(even, "odd(").seconds == exactly(4 * 0.005)


def test_exception_passes_and_its_time_counts(clock):
    @profile_lines
    def fail():
        try:
            time.sleep(0.01)
        finally:
            time.sleep(0.02)
        raise burn(0.03) or ValueError("what it says")

    with pytest.raises(ValueError, match="what it says") as caught:
        fail()
    assert caught.traceback[-1].name == "fail"
    assert by_text(fail, "raise").seconds == exactly(0.03)
    assert by_text(fail, "sleep(0.02)").seconds == exactly(0.02)
    assert total(fail) == exactly(0.06)


def test_lines_of_others_stay_with_the_line(clock):
    @profile_lines
    def load():
        key = lambda x: burn(0.002) or x  # noqa: E731

        def inner():
            burn(0.02)
        inner()
        values = sorted([3, 2, 1], key=key)
        return [burn(0.005) for _ in values]

    load()
    rows = {row.text.strip(): row for row in load.lines.rows}
    assert "burn(0.02)" not in rows
    assert rows["inner()"].seconds == exactly(0.02)
    assert rows["values = sorted([3, 2, 1], key=key)"].seconds == exactly(0.006)
    assert rows["return [burn(0.005) for _ in values]"].seconds == exactly(0.015)


def test_statements_over_lines_and_with(clock):
    @profile_lines
    def load():
        with contextlib.suppress(KeyError):
            max(
                1,
                time.sleep(0.02) or 2,
            )
            raise KeyError
        return True

    assert load()
    assert by_text(load, "sleep").seconds + by_text(load, "max(").seconds == exactly(0.02)
    assert by_text(load, "raise").hits == (1 if sys.version_info >= (3, 10) else 2)  # 3.9 comes back to it at the end
    assert by_text(load, "return").hits == 1


# That the function notices nothing; of functions of every kind, test_scopes.py has the rest: stretches.py wraps them all


def test_runs_once_with_any_arguments():
    calls = []

    @profile_lines(unit=1e-3)
    @profile_memory(precision=2)
    def anything(*args, **kwargs):
        """What it does."""
        calls.append((args, kwargs))
        return len(calls)

    arguments = dict(func=1, self=2, function=3, recorder=4, args=5, kwargs=6, wrapper=7, line=8)
    assert anything(1, 2, **arguments) == 1
    assert calls == [((1, 2), arguments)]
    assert anything.__name__ == "anything" and anything.__doc__ == "What it does."
    assert list(inspect.signature(anything).parameters) == ["args", "kwargs"]
    assert [row.hits for row in anything.lines.rows] == [1, 1]
    assert by_text(anything.__wrapped__, "calls.append").hits == 1


def test_methods():
    class Thing:
        @profile_lines
        def method(self, more):
            return self.value + more

        @staticmethod
        @profile_lines
        def static_below(x):
            return x

        @profile_lines
        @staticmethod
        def static_above(x):
            return x

        @profile_lines
        @classmethod
        def class_above(cls):
            return cls

        @property
        @profile_lines
        def value(self):
            return 1

    thing = Thing()
    assert thing.method(2) == 3 and Thing.static_below(5) == Thing.static_above(5) == thing.static_above(5) == 5
    assert Thing.class_above() is Thing
    for function, hits in [(Thing.method, 1), (thing.method, 1), (Thing.static_below, 1), (Thing.static_above, 2),
                           (Thing.class_above, 1), (Thing.value.fget, 1)]:
        assert [row.hits for row in function.lines.rows] == [hits], function
    assert "Thing.method at line" in str(Thing.method.lines)


def test_partial_cached_and_lambda():
    def add(a, b):
        return a + b

    assert profile_lines(functools.partial(add, 1))(2) == 3
    cached = profile_lines(functools.lru_cache()(add))
    assert cached(1, 2) == cached(1, 2) == 3
    assert sum(row.hits for row in cached.lines.rows) == 2  # one call by the partial, one by the cache
    double = profile_lines(lambda x: 2 * x)
    assert double(4) == 8
    assert len(double.lines.rows) == 1


@pytest.mark.parametrize("what", [len, 5, int, StandInWatch])
def test_what_has_no_lines(what):
    with pytest.raises(TypeError, match="written in Python"):
        profile_lines(what)


def test_a_decorator_in_between_that_calls_again():
    def retry(function):
        @functools.wraps(function)
        def wrapper():
            with contextlib.suppress(ValueError):
                return function()
            time.sleep(0.05)
            return function()
        return wrapper

    calls = []

    @profile_lines
    @retry
    def load():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError
        return calls

    assert load() == [1, 1]
    assert [row.hits for row in load.lines.rows] == [2, 2, 1, 1]


def test_generator_inside_another_decorator_is_said():
    with pytest.warns(UserWarning, match="directly above its def"):
        @profile_lines
        @contextlib.contextmanager
        def manager():
            yield 1

    with manager() as one:
        assert one == 1

    @contextlib.contextmanager
    @profile_lines
    def other():
        yield 1

    with other():
        pass
    assert by_text(other.__wrapped__, "yield").hits == 1


def test_generators(clock):
    @profile_lines
    def count(stop):
        got = None
        for i in range(stop):
            time.sleep(0.01)
            try:
                got = yield i, got
            except KeyError:
                got = "thrown"
        return "end"

    assert inspect.isgeneratorfunction(count)
    generator = count(3)
    assert inspect.isgenerator(generator)
    assert next(generator) == (0, None)
    time.sleep(0.2)
    assert generator.send("sent") == (1, "sent")
    assert generator.throw(KeyError) == (2, "thrown")
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"
    assert by_text(count, "sleep").hits == 3
    assert by_text(count, "yield").hits == 3
    assert by_text(count, "except").hits == 1
    assert by_text(count, "return").hits == 1
    assert total(count) == exactly(0.03)  # not the 0.2 s that it was suspended


def test_generators_delegate_and_interleave(clock):
    def sub():
        time.sleep(0.01)
        return (yield 1) + (yield 2)

    @profile_lines
    def outer():
        result = yield from sub()
        return result

    one, two = outer(), outer()
    assert [next(one), next(two), one.send(10), two.send(20)] == [1, 1, 2, 2]
    results = []
    for generator in (two, one):
        with pytest.raises(StopIteration) as stop:
            generator.send(5)
        results.append(stop.value.value)
    assert results == [25, 15]
    assert by_text(outer, "yield from").hits == 2
    assert by_text(outer, "yield from").seconds == exactly(0.02)


def test_coroutines_interleave(clock):
    @profile_lines
    async def work(name, results):
        time.sleep(0.01)
        await asyncio.sleep(0.1)
        time.sleep(0.02)
        results.append(name)
        return name

    async def main():
        results = []
        return await asyncio.gather(*(work(i, results) for i in range(4))), results

    assert inspect.iscoroutinefunction(work) and asyncio.iscoroutinefunction(work)
    returned, results = asyncio.run(main())
    assert returned == [0, 1, 2, 3] and sorted(results) == returned
    assert by_text(work, "time.sleep(0.01)").seconds == exactly(4 * 0.01)
    assert by_text(work, "time.sleep(0.02)").seconds == exactly(4 * 0.02)
    assert by_text(work, "await").hits == 4
    assert by_text(work, "await").seconds == 0  # suspended, while the others run


def test_coroutine_cancelled_and_awaited_generator(clock):
    @profile_lines
    async def wait():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            time.sleep(0.01)
            raise

    @profile_lines
    @types.coroutine
    def old():
        yield from asyncio.sleep(0).__await__()
        return 3

    async def main():
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await old()

    assert asyncio.run(main()) == 3
    assert by_text(wait, "raise").hits == 1
    assert by_text(wait, "time.sleep").seconds == exactly(0.01)
    assert by_text(old, "return").hits == 1


def test_async_generators(clock):
    @profile_lines
    async def numbers(stop):
        for i in range(stop):
            time.sleep(0.01)
            await asyncio.sleep(0)
            try:
                yield i
            except KeyError:
                time.sleep(0.02)

    async def main():
        generator = numbers(3)
        assert await generator.__anext__() == 0
        time.sleep(0.2)
        assert await generator.athrow(KeyError()) == 1
        await generator.aclose()
        abandoned = numbers(2)
        await abandoned.__anext__()
        return abandoned

    kept = asyncio.run(main())  # which closes what was abandoned
    assert kept.ag_frame is None
    assert by_text(numbers, "yield").hits == 3 and by_text(numbers, "except").hits >= 1
    assert total(numbers) == exactly(0.05)  # not the 0.2 s that it was suspended


def test_pickle_and_processes(tmp_path):
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(module_level, range(4)) == [0, 2, 4, 6]
    script = tmp_path / "spawned.py"
    done = run_python("""
        import multiprocessing, resmon.lines
        @resmon.lines.profile_lines
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            pool = multiprocessing.get_context("spawn").Pool(1)
            print(pool.map(double, range(3)))
            pool.close(); pool.join()
        """, file=script)
    assert done.returncode == 0 and "[0, 2, 4]" in done.stdout, done
    # The worker printed what it ran; the parent ran nothing.
    assert len(re.findall(r"^ +5 +3 .*return 2", done.stdout, re.M)) == 1, done.stdout


@profile_lines
def module_level(x):
    return 2 * x


def test_threads():
    @profile_lines
    def load(seconds):
        time.sleep(seconds)
        for _ in range(100):
            pass

    begin = time.perf_counter()
    threads = [threading.Thread(target=load, args=(0.05,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load(0)
    assert by_text(load, "sleep").hits == 7
    assert 6 * 0.049 <= by_text(load, "sleep").seconds < 7 * (time.perf_counter() - begin)
    assert by_text(load, "pass").hits == 700
    assert len(load.lines._recorder.parts) == 1  # those of dead threads are added up


def test_nested_function_goes_on_with_its_table():
    tables = []
    for _ in range(3):
        @profile_lines
        def inner():
            return 1
        inner()
        tables.append(inner.lines)
    assert tables[0] is tables[1] is tables[2]
    assert [row.hits for row in inner.lines.rows] == [3]


# Tracers beside us


def test_trace_function_is_called_and_restored(backend):
    events = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            events.append((frame.f_code.co_name, event))
        return tracer

    @profile_lines
    def outer():
        helper()
        return 1

    def helper():
        return 2

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        outer()
        assert sys.gettrace() is tracer
        with pytest.raises(TypeError):
            outer(1)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    for name, event, count in [("outer", "call", 1), ("outer", "line", 2), ("outer", "return", 1),
                               ("helper", "call", 1), ("helper", "line", 1), ("helper", "return", 1)]:
        assert events.count((name, event)) == count, events
    assert [row.hits for row in outer.lines.rows] == [1, 1]


def test_trace_function_set_inside_stays():
    def tracer(frame, event, arg):
        return None

    @profile_lines
    def load():
        sys.settrace(tracer)

    before = sys.gettrace()
    try:
        load()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_keyboard_interrupt_in_the_middle(backend):
    def tracer(frame, event, arg):
        return tracer

    @profile_lines
    def load(how):
        burn(0.01)
        how()
        burn(0.01)

    def interrupt():
        raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with pytest.raises(KeyboardInterrupt):
            load(interrupt)
        # In our own callback, where Python drops a trace function that raises.
        with pytest.raises(KeyboardInterrupt):
            line = lines.LineTimes._track.line
            try:
                lines.LineTimes._track.line = lambda *args: interrupt()
                load(interrupt)
            finally:
                lines.LineTimes._track.line = line
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is tracer
    load(lambda: None)
    assert by_text(load, "how()").hits == 2


def test_signals_at_any_moment(backend):
    """Also in the wrapper and in the callbacks: nothing stays enabled, and nothing is still running."""
    import random
    import signal

    @profile_lines
    def load(count):
        for _ in range(count):
            pass

    @profile_lines
    def numbers(count):
        yield from range(count)

    def handle(number, frame):
        raise KeyboardInterrupt

    dice = random.Random(1)
    before = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(500):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-6, 150e-6))
                for _ in range(1000):
                    load(3)
                    list(numbers(2))
            signal.setitimer(signal.ITIMER_REAL, 0)
            thread = line_trace.local.thread
            assert not thread.monitored and not thread.traced and sys.gettrace() is not line_trace._on_call
            assert not load.lines._recorder.track().paused and not numbers.lines._recorder.track().paused
            assert backend != "monitoring" or line_trace.tracers[0].tool is None
    finally:
        signal.signal(signal.SIGALRM, before)


def test_recursion_error():
    @profile_lines
    def deep(n):
        return deep(n + 1)

    with pytest.raises(RecursionError):
        deep(0)

    @profile_lines
    def fine():
        return 1

    assert fine() == 1
    assert [row.hits for row in fine.lines.rows] == [1]


@pytest.mark.skipif(not HAS_MONITORING, reason="sys.monitoring came with Python 3.12")
class TestMonitoring:
    @pytest.fixture(autouse=True)
    def only_monitoring(self, backend):
        if backend != "monitoring":
            pytest.skip("about sys.monitoring")

    @staticmethod
    def tools():
        return [sys.monitoring.get_tool(tool) for tool in range(6)]

    def test_tool_is_given_back(self):
        before = self.tools()

        @profile_lines
        def load():
            assert self.tools() != before
            yield
            raise ValueError

        generator = load()
        next(generator)
        assert self.tools() != before
        with pytest.raises(ValueError):
            next(generator)
        assert self.tools() == before

    def test_other_code_sends_no_events(self):
        def helper():
            return sys.monitoring.get_local_events(line_trace.tracers[0].tool, helper.__code__)

        @profile_lines
        def load():
            return helper()

        assert load() == 0

    def test_no_tool_is_free(self):
        taken = [tool for tool in range(6) if sys.monitoring.get_tool(tool) is None]
        for tool in taken:
            sys.monitoring.use_tool_id(tool, "test")

        @profile_lines
        def load():
            time.sleep(0.01)
            return sys.gettrace()

        before = sys.gettrace()
        try:
            assert load() is line_trace._on_call
        finally:
            for tool in taken:
                sys.monitoring.free_tool_id(tool)
        assert sys.gettrace() is before
        assert by_text(load, "sleep").hits == 1
        load()
        assert by_text(load, "sleep").hits == 2

    def test_tool_freed_by_somebody_else(self):
        @profile_lines
        def load():
            sys.monitoring.set_local_events(line_trace.tracers[0].tool, load.__wrapped__.__code__, 0)
            sys.monitoring.free_tool_id(line_trace.tracers[0].tool)
            return 1

        assert load() == 1
        assert load() == 1

    def test_cprofile_inside(self):
        import cProfile

        @profile_lines
        def load():
            profiler = cProfile.Profile()
            profiler.enable()
            burn(0.001)
            profiler.disable()
            return 1

        assert load() == 1


def test_under_coverage(tmp_path):
    pytest.importorskip("coverage", reason="coverage is not installed")
    script = tmp_path / "covered.py"
    script.write_text(textwrap.dedent("""
        import resmon.lines
        def helper(x):
            return x + 1
        @resmon.lines.profile_lines
        def load(x):
            for i in range(3):
                x = helper(x)
            return x
        def after():
            return 1
        load(1)
        after()
        print([(row.line, row.hits) for row in load.lines.rows])
        """))
    for core in ("ctrace", "pytrace"):
        environment = dict(os.environ, PYTHONPATH=PACKAGE, COVERAGE_CORE=core)
        where = f"--data-file={tmp_path / core}"
        command = [sys.executable, "-m", "coverage"]
        done = subprocess.run([*command, "run", where, str(script)], env=environment, capture_output=True, text=True)
        assert "[(7, 4), (8, 3), (9, 1)]" in done.stdout, done
        assert "CoverageWarning" not in done.stderr, done.stderr
        report = subprocess.run([*command, "report", where, "-m", f"--include={script}"], env=environment,
                                capture_output=True, text=True)
        assert re.search(r"covered.py +\d+ +0 +100%", report.stdout), report


# Memory


def test_memory_of_a_line(watch):
    @profile_memory
    def load():
        keep = b"x" * (64 * MIB)
        len(b"y" * (96 * MIB))
        del keep

    load()
    assert 63.5 * MIB - RSS_SLACK < by_text(load, "keep =").increment_bytes < 66 * MIB + RSS_SLACK
    assert abs(by_text(load, "len(").increment_bytes) < 2 * MIB + RSS_SLACK
    assert -66 * MIB - RSS_SLACK < by_text(load, "del").increment_bytes < -63.5 * MIB + RSS_SLACK
    base = by_text(load, "@profile_memory")
    assert base.increment_bytes == base.rss_bytes and base.hits == 1
    assert 63 * MIB - RSS_SLACK < by_text(load, "keep =").rss_bytes - base.rss_bytes < 66 * MIB + RSS_SLACK
    # Allocated and freed in one line: 64 MiB stand, and 96 MiB come and go.
    peak = by_text(load, "len(").peak_bytes - by_text(load, "len(").rss_bytes
    assert 95.5 * MIB - RSS_SLACK < peak < 98 * MIB + RSS_SLACK
    load()
    assert 127 * MIB - 2 * RSS_SLACK < by_text(load, "keep =").increment_bytes < 131 * MIB + 2 * RSS_SLACK
    assert by_text(load, "keep =").hits == 2


def test_memory_peak_of_what_a_line_calls(watch):
    @profile_memory
    def down(depth):
        if depth:
            down(depth - 1)
            return
        len(b"y" * (64 * MIB))

    down(2)
    row = by_text(down, "down(depth - 1)")
    assert row.peak_bytes - row.rss_bytes > 63 * MIB - RSS_SLACK
    assert abs(row.increment_bytes) < 2 * MIB + RSS_SLACK
    row = by_text(down, "if depth")
    assert row.peak_bytes - row.rss_bytes < 8 * MIB + RSS_SLACK


def test_memory_of_a_generator(watch):
    @profile_memory
    def blocks():
        for _ in range(2):
            block = b"x" * (64 * MIB)
            yield len(block)
            del block

    kept = [len(b"z" * (200 * MIB)) for _ in blocks()]
    assert len(kept) == 2
    assert 127 * MIB - 2 * RSS_SLACK < by_text(blocks, "block = ").increment_bytes < 131 * MIB + 2 * RSS_SLACK
    # What others did meanwhile is not its own.
    assert abs(by_text(blocks, "yield").increment_bytes) < 2 * MIB + 2 * RSS_SLACK
    row = by_text(blocks, "yield")
    assert row.peak_bytes - row.rss_bytes < 8 * MIB + RSS_SLACK
    assert by_text(blocks, "@profile_memory").hits == 1


def test_memory_without_a_watch(monkeypatch, one_cpu):
    class NoWatch:
        def __init__(self, metric):
            raise RuntimeError("64 watches are open")

    monkeypatch.setitem(sys.modules, "resmon.watch", types.SimpleNamespace(Watch=NoWatch))

    @profile_memory
    def load():
        keep = b"x" * (64 * MIB)
        return len(keep)

    load()
    row = by_text(load, "keep =")
    assert row.peak_bytes is None
    assert 63 * MIB - RSS_SLACK < row.increment_bytes < 66 * MIB + RSS_SLACK
    text = str(load.lines)
    assert "No Peak: 64 watches are open" in text
    assert re.search(r"^Line #    Mem usage    Increment  Occurrences   Line Contents$", text, re.M)


def test_memory_watch_that_fails_later(watch, monkeypatch):
    @profile_memory
    def load():
        monkeypatch.setattr(StandInWatch, "lap_rss", lambda self: 1 / 0)
        return 1

    assert load() == 1
    StandInWatch.open = 0
    assert "No Peak: division by zero" in str(load.lines)


def test_time_and_memory_together(watch, clock, monkeypatch):
    look = StandInWatch.lap_rss

    def long_look(self):
        time.sleep(0.001)
        return look(self)
    monkeypatch.setattr(StandInWatch, "lap_rss", long_look)

    @profile_lines
    @profile_memory
    def load():
        for _ in range(2000):
            pass

    load()
    assert by_text(load, "pass").hits == by_text(load.__wrapped__, "pass").hits == 2000
    # Reading memory takes time, and is not in that of the lines.
    assert clock.perf_counter() >= 4 and total(load) == 0


# Tables


def test_time_table(clock):
    @profile_lines
    def load():
        time.sleep(0.01)

        return 1

    load()
    load()
    text = str(load.lines)
    assert text == repr(load.lines)
    head = re.match(r"Timer unit: 1e-06 s\n\nTotal time: (\S+) s\nFile: (.*)\nFunction: (\S+) at line (\d+)\n\n"
                    r"Line #      Hits         Time  Per Hit   % Time  Line Contents\n(=+)\n", text)
    assert head and head[2] == __file__ and head[3] == "test_time_table.<locals>.load"
    assert len(head[5]) == len("Line #      Hits         Time  Per Hit   % Time  Line Contents")
    rows = parse_time(text)
    assert [row[0] for row in rows] == list(range(int(head[4]), int(head[4]) + 5))
    hits, ticks, per_hit, share, content = rows[2][1:]
    assert content == "        time.sleep(0.01)" and hits == 2
    assert (ticks, per_hit, share) == (20e3, 10e3, 100)
    assert rows[3] == (rows[3][0], None, None, None, None, "")
    assert sum(row[2] or 0 for row in rows) * 1e-6 == pytest.approx(float(head[1]), rel=0.01)


def parse_time(text):
    rows = []
    for line in text.split("=\n", 1)[1].splitlines():
        match = re.match(r" *(\d+)(?: +([\d.e+]+) +([\d.e+]+) +([\d.e+-]+) +([\d.]+))?(?:  (.*))?$", line)
        if match:
            figures = [float(figure) if figure else None for figure in match.groups()[1:5]]
            content = line[49:] if match[2] is None else match[6]
            rows.append((int(match[1]), *figures, content or ""))
    return rows


def test_empty_and_huge_figures():
    code = test_empty_and_huge_figures.__code__
    table = lines.LineTimes("name", code, {})
    assert "Total time: 0 s" in str(table) and table.rows == []
    assert "def test_empty_and_huge_figures():" in str(table)
    table._recorder.ended = {code.co_firstlineno + 1: [10**10, 10**19]}
    assert parse_time(str(table))[1][1:5] == (10**10, 1e16, 1e6, 100)


def test_memory_table(watch):
    @profile_memory(precision=3)
    def load():
        return len(b"x" * (64 * MIB))

    load()
    text = str(load.lines)
    assert re.match(r"Filename: .*\n\nLine #    Mem usage    Increment         Peak  Occurrences   Line Contents\n=+\n",
                    text)
    rows = parse_memory(text)
    assert len(rows) == 2
    assert all(len(row[1].split(".")[1]) == 3 for row in rows)
    assert float(rows[1][3]) - float(rows[1][1]) > 63 - RSS_SLACK / MIB
    assert rows[1][4:] == ("1", "        return len(b\"x\" * (64 * MIB))")


def parse_memory(text):
    size = r" +(-?[\d.]+) MiB"
    return re.findall(rf"^ *(\d+){size}{size}(?:{size})? +(\d+)   (.*)$", text, re.M)


def test_html_is_escaped_and_has_bars():
    @profile_lines
    def load():
        return "<script>" if 1 < 2 else "&"

    load()
    html = load.lines._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html and "&amp;" in html
    assert re.search(r"linear-gradient\(to right,[^ ]+ 100\.0%", html)
    assert html.count("<tr>") == 4 and html.count("<table") == html.count("</table>") == 1
    assert "&lt;locals&gt;" in html


def test_html_of_memory(watch):
    @profile_memory
    def load():
        keep = b"x" * (64 * MIB)
        return keep

    load()
    html = load.lines._repr_html_()
    assert "Peak" in html and html.count("<tr>") == 5
    assert re.search(r"(9\d|100)\.\d%", html)


def test_pandas(monkeypatch):
    @profile_lines
    def load():
        return 1

    load()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load.lines.to_pandas()
    monkeypatch.undo()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = load.lines.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["line", "hits", "seconds", "text"] and len(frame) == 1


def test_source_that_is_not_there():
    namespace = {"profile_lines": profile_lines}
    exec("@profile_lines\ndef load():\n    x = 1\n    return x\n", namespace)
    assert namespace["load"]() == 1
    table = namespace["load"].lines
    assert [(row.line, row.hits, row.text) for row in table.rows] == [(3, 1, ""), (4, 1, "")]
    assert re.search(r"^     3         1 .*\n     4         1 ", str(table), re.M)


def test_source_that_changed(tmp_path):
    file = tmp_path / "changes.py"
    file.write_text("from resmon.lines import profile_lines\n@profile_lines\ndef load():\n    return 1\n")
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    namespace["load"]()
    assert "has changed" not in str(namespace["load"].lines)
    file.write_text("'''not\neven Python\n((\n")
    later = time.time() + 100
    os.utime(file, (later, later))
    assert "has changed since load was defined" in str(namespace["load"].lines)
    file.unlink()
    assert "load at line 2" in str(namespace["load"].lines)


def test_long_function():
    body = "".join(f"    x{i} = {i}\n" for i in range(5000))
    namespace = {}
    exec(f"def load():\n{body}    return x4999\n", namespace)
    load = profile_lines(namespace["load"])
    assert load() == 4999
    assert len(load.lines.rows) == 5001 and {row.hits for row in load.lines.rows} == {1}
    assert str(load.lines).count("\n") > 5001
    assert load.lines._repr_html_().count("<tr>") == 5002


def test_print_lines_prints_all_that_ran():
    @profile_lines
    def ran():
        return 1

    @profile_lines
    def never():
        return 1

    ran()
    stream = io.StringIO()
    print_lines(stream)
    assert ".ran at line" in stream.getvalue() and ".never at line" not in stream.getvalue()


# At exit

SCRIPT = """
    import os, sys, time
    from resmon.lines import profile_lines, profile_memory, print_lines
    @profile_lines
    def first():
        time.sleep(0.01)
    @profile_lines
    def second():
        return 1
    """


@pytest.mark.parametrize("end, tables", [
    ("first(); second()", ["first", "second"]),
    ("first(); second(); str(first.lines)", ["second"]),
    ("first(); second(); first.lines.rows", ["second"]),
    ("first(); second(); first.lines._repr_html_()", ["second"]),
    ("first(); print_lines()", ["first"]),
    ("first(); first.lines.clear()", []),
    ("first(); sys.exit(3)", ["first"]),
    ("first(); raise ValueError", ["first"]),
    ("pass", []),
])
def test_printed_once_at_exit(tmp_path, end, tables):
    done = run_python(textwrap.dedent(SCRIPT) + end + "\n", file=tmp_path / "script.py")
    assert re.findall(r"Function: (\w+) at", done.stdout) == tables, done


def test_exit_inside_the_function(tmp_path):
    done = run_python("""
        import sys, time
        from resmon.lines import profile_lines
        @profile_lines
        def leave():
            time.sleep(0.02)
            sys.exit(7)
        leave()
        """, file=tmp_path / "script.py")
    assert done.returncode == 7 and not done.stderr
    rows = {content.strip(): hits for _, hits, *_, content in parse_time(done.stdout)}
    assert rows["time.sleep(0.02)"] == 1 and rows["sys.exit(7)"] == 1


def test_child_prints_its_own(tmp_path):
    done = run_python(textwrap.dedent(SCRIPT) + textwrap.dedent("""
        first(); first()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            second()
            sys.exit(0)
        os.waitpid(child, 0)
        """), file=tmp_path / "script.py")
    assert re.findall(r"Function: (\w+) at", done.stdout) == ["second", "first"], done


def test_fork_inside_the_function(tmp_path):
    done = run_python("""
        import os, sys, time
        from resmon.lines import profile_lines
        @profile_lines
        def load():
            for i in range(3):
                pass
            child = os.fork()
            if child:
                os.waitpid(child, 0)
            else:
                time.sleep(0.01)
        load()
        """, file=tmp_path / "script.py")
    assert not done.stderr
    ours, theirs = done.stdout.split("Timer unit")[1:]
    assert re.search(r"1 .* time.sleep", ours) and not re.search(r"3 .* pass", ours), done.stdout
    assert re.search(r"3 .* pass", theirs) and re.search(r"1 .* os.waitpid", theirs), done.stdout


def test_exit_with_a_poor_stdout(tmp_path):
    script = textwrap.dedent(SCRIPT) + "first()\n@profile_lines\ndef name():\n    return 'größe'\nname()\n"
    file = tmp_path / "script.py"
    file.write_text(script, encoding="utf-8")
    environment = dict(os.environ, PYTHONPATH=PACKAGE, PYTHONIOENCODING="ascii")
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr and "gr\\xf6" in done.stdout
    file.write_text(script + "sys.stdout.close()\n", encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done


def test_tables_of_functions_without_end(monkeypatch):
    monkeypatch.setattr(lines, "_begun", {})
    monkeypatch.setattr(lines, "_dropped", 0)
    monkeypatch.setattr(lines, "MAX_TABLES", 3)
    for _ in range(5):
        namespace = {}
        exec("def load(): return 1", namespace)
        profile_lines(namespace["load"])()
    assert len(lines._begun) == 3 and lines._dropped == 2
    monkeypatch.undo()


def test_import_is_light():
    done = run_python("""
        import sys, types
        import importlib.util
        package = types.ModuleType("resmon")  # without its __init__
        package.__path__ = [sys.argv[1]]
        sys.modules["resmon"] = package
        before = set(sys.modules)
        import resmon.lines
        print(sorted(set(sys.modules) - before))
        """, os.path.dirname(lines.__file__))
    assert done.returncode == 0, done
    for name in ("inspect", "logging", "json", "dataclasses", "pandas", "typing", "asyncio"):
        assert f"'{name}'" not in done.stdout, done.stdout


# The others


def both(function, ours):
    """The same function, once as ours."""
    return ours(types.FunctionType(function.__code__, function.__globals__, function.__name__))


def exercise(count):
    result = []
    for i in range(count):
        if i % 2:
            continue
        try:
            result.append(
                max(i,
                    2))
            if i == 4:
                raise KeyError
        except KeyError:
            result.append(sum(x for x in range(3)))
        finally:
            result.append([y for y in
                           range(3)])
    with contextlib.suppress(ValueError):
        raise ValueError
    time.sleep(0.02)
    return result


def compare_with_line_profiler(ours, profiler):
    """The tables of both, and what each says that the line that sleeps took of the time."""
    ours(7)
    profiler(exercise)(7)
    stream = io.StringIO()
    profiler.print_stats(stream, output_unit=1e-6)
    theirs = stream.getvalue()
    mine = str(ours.lines)
    assert [(row[0], row[1], row[5].rstrip()) for row in parse_time(mine)] == \
        [(row[0], row[1], row[5].rstrip()) for row in parse_time(theirs)]
    same = re.compile(r"^(Timer unit|File|Function|Line #|=+).*$", re.M)
    assert [m[0] for m in same.finditer(mine)] == [m[0] for m in same.finditer(theirs)]
    return [{row[5].strip(): row[4] for row in parse_time(text)}["time.sleep(0.02)"] for text in (mine, theirs)]


def test_as_line_profiler(backend):
    needs_live("one of three runs without a busy program beside it")
    line_profiler = pytest.importorskip("line_profiler", reason="line_profiler is not installed")
    if HAS_MONITORING and backend == "settrace":
        pytest.skip("line_profiler uses sys.monitoring too, which counts inlined comprehensions otherwise")
    ours, profiler = both(exercise, profile_lines), line_profiler.LineProfiler()
    # A busy machine may stretch any other line of either.
    shares = [compare_with_line_profiler(ours, profiler) for _ in range(3)]
    assert any(mine == pytest.approx(theirs, abs=10) for mine, theirs in shares), shares


def hold():
    keep = b"x" * (64 * MIB)
    for _ in range(2):
        more = b"y" * (40 * MIB)
        del more
    return len(keep)


def test_as_memory_profiler(watch):
    memory_profiler = pytest.importorskip("memory_profiler", reason="memory_profiler is not installed")
    ours = both(hold, profile_memory)
    ours()
    stream = io.StringIO()
    profiler = memory_profiler.LineProfiler()
    profiler(hold)()
    memory_profiler.show_results(profiler, stream)
    theirs, mine = parse_memory(stream.getvalue()), parse_memory(str(ours.lines))
    assert [(row[0], row[4], row[5]) for row in mine] == [(row[0], row[4], row[5]) for row in theirs]
    base, other_base = float(mine[0][1]), float(theirs[0][1])
    assert float(mine[0][2]) == base and float(theirs[0][2]) == other_base
    for row, other in zip(mine, theirs):
        assert float(row[1]) - base == pytest.approx(float(other[1]) - other_base, abs=2), (mine, theirs)
    # Its increments are from the highest of the line before, over all of its occurrences: the same only where a
    # line ran once.
    assert float(mine[1][2]) == pytest.approx(float(theirs[1][2]), abs=2)


def test_in_ipython():
    pytest.importorskip("IPython", reason="IPython is not installed")
    done = run_python("""
        import sys
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_cell("from resmon.lines import profile_lines\\n@profile_lines\\ndef cell():\\n    return 41 + 1\\n")
        shell.run_cell("cell()")
        shell.run_cell("print(cell.lines)")
        """)
    assert re.search(r"^ +4 +1 .*    return 41 \+ 1$", done.stdout, re.M), done
