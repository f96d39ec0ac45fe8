# SPDX-License-Identifier: MIT
"""scope, timer, peak_rss and log_start_finish around functions of every kind and around blocks."""
import asyncio
import contextlib
import functools
import inspect
import io
import logging
import re
import subprocess
import sys
import threading
import time
import types
import warnings

import pytest
from conftest import MIB, burn, touched

import resmon
import resmon.human
from resmon import wrappers

KINDS = ["scope", "timer", "peak_rss", "log_start_finish"]


@pytest.fixture(params=KINDS)
def decorate(request):
    """Decorates with each of them, under the name "phase", silently."""
    if request.param == "scope":
        return resmon.scope("phase")
    return getattr(resmon, request.param)(name="phase", log=False)


def calls_of(monitor, path="phase"):
    return monitor.scopes[path].calls


# ---- scope as a block -------------------------------------------------------------------------------


def test_tree(monitor):
    with resmon.scope("outer"):
        for _ in range(3):
            with resmon.scope("inner"):
                with resmon.scope("deep"):
                    pass
        with resmon.scope("other"):
            pass
    scopes = monitor.scopes
    assert [(scope.path, scope.depth, scope.calls) for scope in scopes] == [
        ("outer", 0, 1), ("outer/inner", 1, 3), ("outer/inner/deep", 2, 3), ("outer/other", 1, 1)]
    outer, inner = scopes["outer"], scopes["outer/inner"]
    assert outer.wall_s >= inner.wall_s + scopes["outer/other"].wall_s
    assert outer.self_s == pytest.approx(outer.wall_s - inner.wall_s - scopes["outer/other"].wall_s, abs=1e-9)
    assert scopes[inner.parent].path == "outer"
    with pytest.raises(resmon.NotFoundError, match="outer/inner"):
        scopes["no such"]
    with pytest.raises(KeyError):
        scopes["inner"]


def test_place_in_the_source(monitor):
    with resmon.scope("a place of its own"):
        line = inspect.currentframe().f_lineno - 1
    scope = monitor.scopes["a place of its own"]
    assert scope.file.endswith("test_scopes.py") and scope.function == "test_place_in_the_source" and scope.line == line


def test_meters(monitor):
    with resmon.scope("work"):
        block = touched(30)
        burn(0.05)
    del block
    scope = monitor.scopes["work"]
    assert scope.cpu_s >= 0.05 and scope.wall_s >= 0.05 and scope.cpu_calls == scope.rss_calls == 1
    assert scope.rss_peak_bytes >= 30 * MIB
    assert scope.cpu_provenance == "measured" and scope.rss_provenance in ("measured", "sampled")


def test_cpu_of_threads_and_children():
    process, here = time.process_time(), time.thread_time()
    with resmon.Monitor(scopes="pcpu+cpu") as monitor:
        with resmon.scope("fit"):
            threads = [threading.Thread(target=burn, args=(0.05,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True)
    process, here = time.process_time() - process, time.thread_time() - here
    scope = monitor.scopes["fit"]
    # Of this process nothing that it did not use itself, of this thread nothing that others used.
    assert scope.pcpu_s >= 0.3 and scope.pcpu_s - scope.pcpu_process_s >= 0.199
    assert 0.1 <= scope.pcpu_process_s <= process + 0.001 and scope.cpu_s <= here + 0.001
    assert scope.pcpu_calls == 1 and scope.pcpu_s.low == scope.pcpu_s == scope.pcpu_s.high
    columns = repr(monitor.scopes).splitlines()[0]
    assert 0 < columns.index(" CPU ") < columns.index("thread CPU")
    assert not scope.pcpu_s.is_uncertain and scope.io_read_chars.is_uncertain, "what is not known is vague"


def test_exception_ends_a_scope(monitor):
    error = ValueError("through")
    with pytest.raises(ValueError) as caught:
        with resmon.scope("outer"):
            with resmon.scope("inner"):
                raise error
    assert caught.value is error
    with resmon.scope("after"):
        pass
    assert [(scope.path, scope.calls, scope.open, scope.failed) for scope in monitor.scopes] == [
        ("outer", 1, 0, 1), ("outer/inner", 1, 0, 1), ("after", 1, 0, 0)]
    assert "inner !" in repr(monitor.scopes) and "outer !" in monitor.scopes._repr_html_()


@pytest.mark.parametrize("error, failed", [(OSError, 1), (KeyboardInterrupt, 1), (SystemExit(2), 1), (SystemExit, 0),
                                           (GeneratorExit, 0)])
def test_what_failed_is_marked(monitor, decorate, error, failed):
    @decorate
    def work(is_bad):
        if is_bad:
            raise error

    for is_bad in (True, False):
        with contextlib.suppress(error if isinstance(error, type) else type(error)):
            work(is_bad)
    phase = monitor.scopes["phase"]
    assert (phase.calls, phase.failed) == (2, failed)
    assert ("phase !" in repr(monitor.scopes)) == bool(failed)
    with resmon.scope("inside"):
        pass
    assert resmon.parse(monitor.to_json()).scopes["phase"].failed == failed


def test_open_at_the_end():
    with contextlib.ExitStack() as stack:
        with resmon.Monitor(3600) as monitor:
            stack.enter_context(resmon.scope("open"))
    scope = monitor.scopes["open"]
    assert (scope.open, scope.calls) == (1, 1) and scope.wall_s == scope.open_s == scope.wall_max_s > 0
    text = resmon.human.seconds_text(scope.wall_s)
    assert text in repr(monitor.scopes) and text in str(monitor)
    assert resmon.parse(monitor.to_json()).scopes["open"].wall_s == pytest.approx(scope.wall_s)


def test_figures_of_the_process_are_marked_where_scopes_run_at_one_time():
    def work():
        with resmon.scope("worker"):
            burn(0.02)

    with resmon.Monitor(3600, scopes="wall+cpu+pcpu+io") as monitor:
        with resmon.scope("alone"):
            burn(0.02)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for text in (repr(monitor.scopes), monitor.summary.text(full=True)):
        alone, worker = (next(line for line in text.splitlines() if line.strip().startswith(name)) for name in ("alone", "worker"))
        assert "||" not in alone and " ||" in worker
    assert "thread CPU" in str(monitor)  # of threads, what each has used is its own


def test_names_that_look_alike_are_told_apart(monitor):
    names = ["experiment_" + "abcdefghij" * 6 + end for end in ("_A", "_B", "\u00e9" * 9)]
    for name in names:
        with resmon.scope(name):
            pass
    with resmon.scope("load/parse"), resmon.scope("c\\d"):
        pass
    with resmon.scope("load"), resmon.scope("parse"):
        pass
    scopes = monitor.scopes
    assert len({scope.path for scope in scopes}) == len(scopes) == 7
    assert [scopes[name].calls for name in names] == [1, 1, 1]
    assert len({scopes[name].name for name in names}) == 3
    assert (scopes["load/parse"].depth, scopes["load\\/parse"].depth) == (1, 0)
    assert scopes["load/parse/c\\d"].name == "c\\d"


def test_without_a_monitor():
    with resmon.scope("nobody looks"):
        pass
    with resmon.Monitor(3600) as monitor:
        pass
    assert len(monitor.scopes) == 0


def test_across_the_start_and_the_end_of_a_monitor():
    before = resmon.scope("before")
    with before:
        with resmon.Monitor(3600) as monitor:
            with resmon.scope("within"):
                pass
            after = resmon.scope("after").__enter__()
    after.__exit__(None, None, None)
    assert [(scope.name, scope.calls, scope.open) for scope in monitor.scopes] == [("within", 1, 0), ("after", 1, 1)]


def test_recursion_counts_once(monitor):
    def down(depth):
        with resmon.scope("recursion"):
            return down(depth - 1) if depth else 0
    down(10)
    scope = monitor.scopes["recursion"]
    assert (scope.calls, scope.folded) == (1, 10) and len(monitor.scopes) == 1
    assert all("1 (+10)" in text for text in (repr(monitor.scopes), str(monitor)))


def test_one_object_nested_in_itself(monitor):
    phase = resmon.scope("phase")
    with phase:
        with resmon.scope("between"):
            with phase:
                with phase:
                    pass
        with resmon.scope("then"):
            pass
    assert [(scope.path, scope.calls, scope.folded) for scope in monitor.scopes] == [
        ("phase", 1, 0), ("phase/between", 1, 0), ("phase/between/phase", 1, 1), ("phase/then", 1, 0)]
    with phase:
        pass
    assert monitor.scopes["phase"].calls == 2


def test_one_object_in_several_threads(monitor):
    phase, barrier = resmon.scope("phase"), threading.Barrier(3)

    def work():
        with phase:
            barrier.wait()
            with phase:
                barrier.wait()
        barrier.wait()
        with phase:
            pass
    crowd = [threading.Thread(target=work) for _ in range(3)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert [(scope.path, scope.calls, scope.open, scope.threads) for scope in monitor.scopes] == [("phase", 6, 0, 3)]


def test_threads_are_merged(monitor):
    def work():
        with resmon.scope("thread"):
            with resmon.scope("inner"):
                pass
    crowd = [threading.Thread(target=work) for _ in range(5)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert [(s.path, s.calls, s.threads) for s in monitor.scopes] == [("thread", 5, 5), ("thread/inner", 5, 5)]


@pytest.mark.parametrize("name, kind", [(5, TypeError), (None, TypeError), (b"bytes", TypeError), ("a\0b", ValueError),
                                        ("\ud800", ValueError), ("", resmon.ArgumentError), ([], TypeError)])
def test_names_that_are_none(name, kind):
    with pytest.raises(kind):
        resmon.scope(name)


@pytest.mark.parametrize("name", ["ünïcödé", "a/b", "\udcff", "x" * 10_000, "a\nb", "<b>&", "$x$"])
def test_odd_names(name, tmp_path, monitor):
    with resmon.scope(name):
        pass
    assert len(monitor.scopes) == 1 and monitor.scopes[0].calls == 1
    monitor.save(tmp_path / "run.json")
    loaded = resmon.load(tmp_path / "run.json")
    assert loaded.scopes[0].name == monitor.scopes[0].name
    repr(loaded.scopes), loaded.scopes._repr_html_()


def test_events(monitor):
    with resmon.scope("a"):
        with resmon.scope("b"):
            pass
    with resmon.scope("c"):
        pass
    events = monitor.events
    assert [(event.name, event.depth) for event in events] == [("a", 0), ("b", 1), ("c", 0)]
    a, b, c = events
    assert a.start_s <= b.start_s and b.start_s + b.duration_s <= a.start_s + a.duration_s + 1e-6 <= c.start_s + 2e-6
    assert {event.thread_id for event in events} == {threading.get_native_id()}


def test_more_names_than_there_is_room_for(script):
    """The program goes on; one warning says it, and the run counts it."""
    output, errors = script("""
        import resmon, sys
        with resmon.scope("known"):
            pass
        with resmon.Monitor(3600) as monitor:
            done = 0
            for i in range(70000):
                with resmon.scope(f"name {i}"):
                    done += 1
            with resmon.scope("known"):
                done += 1
            with resmon.timer("a timer", log=False) as found, resmon.peak_rss("a peak", log=False) as peak:
                done += 1

            @resmon.scope("a function")
            def function():
                return 1
            done += function()
        print(done, monitor.info.dropped_scopes > 60000, found.seconds > 0, peak.peak_bytes > 0)
        with resmon.Monitor(3600) as later:
            with resmon.scope("known"):
                pass
        print(later.scopes["known"].calls, len(resmon.scopes._sites) <= 65536)
    """)
    assert output.split("\n")[:2] == ["70003 True True True", "1 True"]
    assert errors.count("ResmonWarning") == 1 and "65535 scope names" in errors


# ---- functions of every kind ------------------------------------------------------------------------


def test_plain_function(decorate, monitor):
    seen = []

    @decorate
    def phase(one, *rest, key=None, **more):
        """The doc."""
        seen.append((one, rest, key, more))
        return "returned"
    assert phase(1, 2, 3, key=4, extra=5) == "returned"
    assert seen == [(1, (2, 3), 4, {"extra": 5})], "exactly once, with its arguments"
    assert phase.__name__ == "phase" and phase.__doc__ == "The doc." and phase.__wrapped__
    assert str(inspect.signature(phase)) == "(one, *rest, key=None, **more)"
    assert calls_of(monitor) == 1


@pytest.mark.parametrize("names", [["self"], ["function", "args", "kwargs"], ["name", "log", "site", "stretch", "error"]])
def test_arguments_of_any_name(decorate, monitor, names):
    @decorate
    def phase(**given):
        return sorted(given)
    assert phase(**dict.fromkeys(names)) == sorted(names)
    assert calls_of(monitor) == 1


def test_methods(decorate, monitor):
    class Thing:
        factor = 2

        def __init__(self, value):
            self.value = value

        @decorate
        def method(self, more):
            return self.value + more

        @classmethod
        @decorate
        def inner_class_method(cls, more):
            return cls.factor + more

        @decorate
        @classmethod
        def outer_class_method(cls, more):
            return cls.factor * more

        @staticmethod
        @decorate
        def inner_static(more):
            return more

        @decorate
        @staticmethod
        def outer_static(more):
            return -more

        @property
        @decorate
        def computed(self):
            return self.value
    thing = Thing(10)
    assert (thing.method(1), Thing.inner_class_method(1), thing.outer_class_method(5), Thing.inner_static(3),
            thing.outer_static(3), thing.computed) == (11, 3, 10, 3, -3, 10)
    assert calls_of(monitor) == 6


def test_callables_that_are_no_functions(decorate, monitor):
    class Callable:
        def __call__(self, more):
            return more + 1
    assert decorate(Callable())(1) == 2
    assert decorate(functools.partial(pow, 2))(5) == 32
    assert decorate(len)([1, 2]) == 2
    assert calls_of(monitor) == 3


@pytest.mark.parametrize("what", [int, 5, None, "text", property(len)])
def test_what_cannot_be_decorated(what):
    for wrap in (resmon.scope("phase"), resmon.timer("phase"), resmon.peak_rss("phase"),
                 resmon.log_start_finish):
        if what is not None or wrap is not resmon.log_start_finish:
            with pytest.raises(TypeError):
                wrap(what)


@pytest.mark.parametrize("wrap", [resmon.timer, resmon.peak_rss, resmon.log_start_finish])
def test_log_is_a_function(wrap):
    for log in (5, "print", [1]):
        with pytest.raises(TypeError, match="log"):
            wrap(log=log)(len)
    for log in (False, None):
        assert wrap(log=log)(lambda: 1)() == 1


def test_exception_of_a_function(decorate, monitor):
    error = KeyError("mine")

    @decorate
    def phase():
        raise error
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            phase()
        assert caught.value is error
    assert calls_of(monitor) == 2 and monitor.scopes["phase"].open == 0


def test_recursive_function(decorate, monitor):
    @decorate
    def phase(n):
        return n * phase(n - 1) if n else 1
    assert phase(100) == functools.reduce(int.__mul__, range(1, 101))
    assert calls_of(monitor) == 1 and monitor.scopes["phase"].folded == 100 and monitor.scopes["phase"].open == 0


def test_function_in_threads(decorate, monitor):
    results = []

    @decorate
    def phase(n):
        burn(0.002)
        results.append(n)
    crowd = [threading.Thread(target=phase, args=(n,)) for n in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert sorted(results) == list(range(8)) and calls_of(monitor) == 8 and monitor.scopes["phase"].threads == 8


def test_generator(decorate, monitor):
    log = []

    @decorate
    def phase(n):
        log.append("begun")
        for i in range(n):
            with contextlib.suppress(ZeroDivisionError):
                got = yield i
                log.append(got)
        return "value"
    assert inspect.isgeneratorfunction(phase)
    made = phase(3)
    assert log == [], "a generator begins when it is first asked"
    assert next(made) == 0
    with resmon.scope("between"):
        pass
    assert made.send("sent") == 1
    assert made.throw(ZeroDivisionError()) == 2
    with pytest.raises(StopIteration) as stop:
        next(made)
    assert stop.value.value == "value" and log == ["begun", "sent", None]
    assert monitor.scopes["between"].calls == 1, "the generator was suspended: nothing is inside it"
    found = monitor.scopes["phase"]
    assert (found.calls, found.resumed, found.open) == (1, 3, 0), "one call, in four stretches"


def test_generator_closed(decorate, monitor):
    log = []

    @decorate
    def phase():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")
    made = phase()
    next(made)
    made.close()
    made.close()
    assert log == ["closed"] and monitor.scopes["phase"].open == 0
    made = phase()
    next(made)
    del made
    assert log == ["closed"] * 2
    phase().close()
    assert log == ["closed"] * 2


def test_generator_that_raises(decorate):
    error = OSError("inside")

    @decorate
    def phase():
        yield 1
        raise error
    made = phase()
    next(made)
    with pytest.raises(OSError) as caught:
        next(made)
    assert caught.value is error

    @decorate
    def stops():
        yield 1
        raise StopIteration("never")
    with pytest.raises(RuntimeError):
        list(stops())


def test_generator_delegated_to(decorate, monitor):
    @decorate
    def phase():
        return (yield 1) + (yield 2)

    def outer():
        return (yield from phase())
    made = outer()
    assert [next(made), made.send(10)] == [1, 2]
    with pytest.raises(StopIteration) as stop:
        made.send(20)
    assert stop.value.value == 30 and calls_of(monitor) == 1 and monitor.scopes["phase"].resumed == 2


def test_coroutine(decorate, monitor):
    @decorate
    async def phase(n):
        await asyncio.sleep(0)
        with resmon.scope("inside"):
            pass
        await asyncio.sleep(0)
        return n * 2

    async def both():
        return await asyncio.gather(phase(1), phase(2), phase(3))
    assert inspect.iscoroutinefunction(phase) and asyncio.run(both()) == [2, 4, 6]
    assert [scope.path for scope in monitor.scopes] == ["phase", "phase/inside"]
    whole = isinstance(decorate, resmon.scope)  # the others find what was done while it ran
    assert (calls_of(monitor), monitor.scopes["phase"].resumed) == ((3, 0) if whole else (3, 6)) and monitor.scopes["phase"].open == 0
    assert calls_of(monitor, "phase/inside") == 3 and monitor.scopes["phase/inside"].concurrent_s == 0


def test_coroutine_that_is_cancelled_or_raises(decorate, monitor):
    log = []

    @decorate
    async def phase():
        try:
            await asyncio.sleep(1000)
        finally:
            log.append("cleaned")

    @decorate
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("mine")

    async def main():
        task = asyncio.ensure_future(phase())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(KeyError, match="mine"):
            await fails()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(phase(), 0.001)
    asyncio.run(main())
    assert log == ["cleaned"] * 2 and monitor.scopes["phase"].open == 0


def test_coroutine_never_awaited(decorate):
    @decorate
    async def phase():
        pytest.fail("it ran")
    with pytest.warns(RuntimeWarning, match="never awaited"):
        phase()


def test_async_generator(decorate, monitor, caplog):
    log = []

    @decorate
    async def phase(n):
        try:
            for i in range(n):
                await asyncio.sleep(0)
                with contextlib.suppress(ZeroDivisionError):
                    log.append((yield i))
        finally:
            await asyncio.sleep(0)
            log.append("cleaned")

    async def main():
        assert [i async for i in phase(3)] == [0, 1, 2]
        made = phase(10)
        assert await made.__anext__() == 0
        assert await made.asend("sent") == 1
        assert await made.athrow(ZeroDivisionError()) == 2
        with pytest.raises(KeyError):
            await made.athrow(KeyError("mine"))
        with pytest.raises(StopAsyncIteration):
            await made.__anext__()
        made = phase(10)
        await made.__anext__()
        await made.aclose()
        await made.aclose()
        made = kept[0] = phase(10)
        await made.__anext__()
    kept = [None]
    assert inspect.isasyncgenfunction(phase)
    asyncio.run(main())  # it closes the generator that is left, and nothing else
    assert log == [None, None, None, "cleaned", "sent", "cleaned", "cleaned", "cleaned"]
    assert not [record for record in caplog.records if record.name == "asyncio"]
    assert monitor.scopes["phase"].open == 0 and [scope.path for scope in monitor.scopes] == ["phase"]


def test_context_manager_made_of_a_generator(decorate, monitor):
    @contextlib.contextmanager
    @decorate
    def phase():
        yield "value"
    with phase() as value:
        with resmon.scope("body"):
            pass
    assert value == "value" and calls_of(monitor) == 1 and calls_of(monitor, "body") == 1


# ---- what the wrappers find -------------------------------------------------------------------------


@pytest.fixture
def lines():
    """A list, and the function that adds to it."""
    class Lines(list):
        __call__ = list.append
    return Lines()


@pytest.mark.parametrize("wrap", [resmon.timer, resmon.peak_rss, resmon.log_start_finish])
def test_last_of_a_function(wrap):
    @wrap(log=False)
    def phase(fail=False):
        if fail:
            raise KeyError
    assert phase.last is None
    phase()
    first = phase.last
    assert first.name == "phase" and first.error == "" and first.seconds > 0
    with pytest.raises(KeyError):
        phase(fail=True)
    assert phase.last is not first and phase.last.error == "KeyError"
    assert "seconds=" in repr(first)


def test_last_of_methods():
    class Thing:
        @resmon.timer(log=False)
        def method(self):
            pass

        @resmon.timer(log=False)
        @staticmethod
        def static():
            pass
    Thing().method()
    Thing.static()
    assert Thing.method.last.name == "test_last_of_methods.<locals>.Thing.method".rpartition("<locals>.")[2]
    assert Thing.static.last.name == "Thing.static"


def test_last_of_many_threads():
    """Each finding is whole, and one of those that were made."""
    @resmon.timer(log=False)
    def phase(_):
        burn(0.0005)
    seen = []

    def work():
        for i in range(50):
            phase(i)
            seen.append(phase.last)
    crowd = [threading.Thread(target=work) for _ in range(4)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert len(seen) == 200 and all(one.seconds > 0 and one.running_seconds > 0 for one in seen)


def test_block_in_many_threads_and_nested():
    block, found, barrier = resmon.timer("block", log=False), [], threading.Barrier(3)

    def work():
        with block as outer:
            barrier.wait()
            with block as inner:
                barrier.wait()
            barrier.wait()
        found.append((outer, inner))
    with resmon.Monitor(3600) as monitor:
        crowd = [threading.Thread(target=work) for _ in range(3)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
    assert len({id(one) for pair in found for one in pair}) == 6
    assert all(outer.seconds >= inner.seconds > 0 for outer, inner in found)
    assert monitor.scopes["block"].calls == 3 and monitor.scopes["block"].open == 0


def test_timer_figures(lines):
    @resmon.timer(log=lines)
    def phase():
        burn(0.05)
    phase()
    found = phase.last
    assert 0.05 <= found.running_seconds <= found.seconds
    assert found.peak_bytes != found.peak_bytes and not found.is_exact
    assert lines == [f"test_timer_figures.<locals>.phase finished in {found.seconds:.4f} s".replace(
        "test_timer_figures.<locals>.", "")]


def test_timer_of_a_function_that_waits(lines):
    @types.coroutine
    def suspended():
        yield

    @resmon.timer("waits", log=lines)
    async def phase():
        await suspended()
        await suspended()
    made, ran = phase(), 0.0
    for stretch in range(3):
        if stretch:
            time.sleep(0.05)
        begin = time.perf_counter()
        with contextlib.suppress(StopIteration):
            made.send(None)
        ran += time.perf_counter() - begin
    found = phase.last
    assert 0 < found.running_seconds <= ran and found.seconds >= found.running_seconds + 0.1
    assert "(ran " in lines[0] and "3 stretches" in lines[0]


@pytest.mark.usefixtures("one_cpu")
def test_peak_figures(lines):
    with resmon.peak_rss("block", log=lines) as found:
        touched(50).close()
    after = resmon.Watch("rss").end().rss_bytes
    assert found.peak_bytes > after + 40 * MIB, "the peak is over when the block ends"
    assert lines[0].startswith("block peak RSS ") and ("(exact)" in lines[0]) == found.is_exact

    @resmon.peak_rss(log=False)
    def generator():
        yield touched(40)[0]
        yield 1
    before = resmon.Watch("rss").end().rss_bytes
    list(generator())
    assert generator.last.peak_bytes >= before + 35 * MIB


def test_peak_of_more_nested_calls_than_watches(monitor):
    """A peak that cannot be taken is not known; the call goes on."""
    monitor.stop()

    @resmon.peak_rss(log=False)
    def phase(n):
        return phase(n - 1) if n else phase.last
    phase(100)
    assert phase.last.peak_bytes > 0
    watches = [resmon.Watch("rss") for _ in range(64)]
    phase(0)
    assert phase.last.peak_bytes != phase.last.peak_bytes and phase.last.seconds > 0
    del watches
    phase(0)
    assert phase.last.peak_bytes > 0


def test_log_start_finish_lines(lines):
    class Frame:
        shape = (1000, 5)

    class Untold:
        def __str__(self):
            raise RuntimeError("no text")

    class Thing:
        @resmon.log_start_finish(log=lines)
        def fit(self, *args, **kwargs):
            if kwargs.get("fail"):
                raise KeyError("x")
    Thing().fit(Frame(), "a long text that is cut", [0] * 1000, Untold(), depth=3)
    assert "Thing.fit(" in lines[0] and lines[0].endswith(" started.")
    assert "frame(1000, 5)" in lines[0] and "list(1000)" in lines[0] and "<Untold>" in lines[0] and "depth=3" in lines[0]
    assert "that is cut" not in lines[0]
    assert re.search(r" finished in \d+\.\d\d seconds\.$", lines[1])
    with pytest.raises(KeyError):
        Thing().fit(fail=True)
    assert "raised KeyError after" in lines[3] and len(lines) == 4


def test_forms_of_decorating(lines):
    @resmon.timer
    def bare():
        pass

    @resmon.timer()
    def empty():
        pass

    @resmon.timer("named", log=lines)
    def named():
        pass
    logger = logging.getLogger("resmon")
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        bare(), empty(), named()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert [line.split(" ")[0].rpartition(".")[2] for line in lines] == ["bare", "empty", "named"]
    with pytest.raises(TypeError, match="a block wants a name"):
        with resmon.timer():
            pass


@pytest.mark.parametrize("wrap", [resmon.timer, resmon.peak_rss, resmon.log_start_finish])
def test_a_log_that_fails_breaks_nothing(wrap):
    def broken(_line):
        raise OSError("full")
    error = KeyError("mine")

    @wrap(log=broken)
    def phase(fail):
        if fail:
            raise error
        return "returned"
    with pytest.warns(resmon.ResmonWarning, match="OSError: full"):
        assert phase(False) == "returned"
    with pytest.warns(resmon.ResmonWarning):
        with pytest.raises(KeyError) as caught:
            phase(True)
    assert caught.value is error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert phase(False) == "returned"


@pytest.mark.parametrize("level, shown", [(logging.WARNING, 0), (logging.INFO, 1), (logging.DEBUG, 1)])
def test_announced_through_logging(level, shown, script):
    _, errors = script("""
        import logging, sys, resmon
        logging.basicConfig(level=int(sys.argv[1]))
        with resmon.timer("block"):
            pass
    """, level)
    assert errors.count("INFO:resmon:block finished in") == shown and errors.count("block") == shown


@pytest.mark.parametrize("before", ["", "import logging", "sys.stderr = io.StringIO()", "sys.stderr = None",
                                    "sys.stderr.close()", "os.close(2)", "sys.stderr = object()",
                                    "sys.stdout.close(); sys.stderr.close()"])
def test_announced_without_logging(before, script):
    """Wherever stderr goes to, the program ends well."""
    _, errors = script(f"""
        import io, os, sys, warnings, resmon
        warnings.simplefilter("ignore")
        done = open("done", "w")
        {before}
        with resmon.timer("block"), resmon.peak_rss("peak"):
            pass
        done.write("yes")
        done.close()
        if type(sys.stderr) is object:
            sys.stderr = None
    """)
    assert (errors.count("block finished in") == 1) == (before in ("", "import logging"))


def test_announce_writes_a_line_at_once(monkeypatch):
    class Stream(io.StringIO):
        writes = 0

        def write(self, text):
            Stream.writes += 1
            return super().write(text)
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delitem(sys.modules, "logging")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    wrappers.announce("a line")
    assert stream.getvalue() == "a line\n" and Stream.writes == 1


def test_clocks_of_a_finding_do_not_go_back(monkeypatch):
    """perf_counter, not the clock that is set."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with resmon.timer("block", log=False) as found:
        burn(0.005)
    assert found.seconds >= 0.005


def test_counters_of_scopes():
    with resmon.Monitor(interval=10, domains="process", scope_counters="page-faults+task-clock", max_meter_share=1e9) as m:
        with resmon.scope("touch"):
            bytearray(4 << 20)
    assert [(c.name, c.unit) for c in m.counters] == [("page-faults", "1"), ("task-clock", "s")]
    scope, = m.scopes
    for counter in m.counters:
        assert (scope.counts[counter.name] >= 0) == counter.available, counter.reason
    if all(counter.available for counter in m.counters):
        assert scope.counter_calls == scope.calls == 1
        assert scope.counter_provenance == "measured"
        assert scope.counts["page-faults"] >= 2
        faults = scope.counts["page-faults"]
        assert faults.low == faults == faults.high and not faults.is_uncertain
        assert m.scopes_by_name[0].counts["page-faults"].high == faults
    with pytest.raises(resmon.ArgumentError, match="scope_counters: the event cycles is given twice"):
        resmon.Monitor(scope_counters="cycles+cycles")
