# SPDX-License-Identifier: MIT
"""What programs do that nobody should: the program goes on, and ends as it would have without a monitor."""
import gc
import json
import os
import resource
import signal
import textwrap
import threading
import warnings

import pytest
from conftest import delivered, ends, open_descriptors, threads

import resmon

SLOW = 3600


def rss_bytes():
    """Page by page, where the kernel tells: statm may lag behind by a batch for each CPU."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))
    except OSError:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()


# ---- the end of the interpreter ---------------------------------------------------------------------

ENDINGS = {
    "while it runs": "monitor = resmon.Monitor(0.001).start()",
    "with every file": """
        monitor = resmon.Monitor(0.001, json="run.json", csv="run.csv", trace="trace.json", record="run.rec",
                                 emissions="emissions.csv").start()
    """,
    "with callbacks": """
        monitor = resmon.Monitor(0.001, on_sample=lambda sample: sample.to_dict())
        monitor.add_callback(lambda sample: None, lambda run: print(run.info.state))
        monitor.start()
    """,
    "with a slow callback": """
        import time
        monitor = resmon.Monitor(0.001, on_sample=lambda sample: time.sleep(0.002), stop_timeout=60).start()
    """,
    "with a callback that never returns": """
        import threading
        monitor = resmon.Monitor(0.001, on_sample=lambda sample: threading.Event().wait(), stop_timeout=0.1).start()
    """,
    "with a callback that raises": """
        import threading
        threading.excepthook = lambda args: None
        monitor = resmon.Monitor(0.001, on_sample=lambda sample: 1 / 0).start()
    """,
    "in scopes of daemon threads": """
        import threading, time
        def work():
            while True:
                with resmon.scope("daemon"), resmon.timer("t", log=False), resmon.Watch("rss"):
                    time.sleep(0)
        resmon.timer, resmon.Watch  # a daemon's import beside the end is a crash of Python before 3.12
        monitor = resmon.Monitor(0.001, scopes="wall+cpu+rss+io").start()
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
    """,
    "asked by daemon threads": """
        import threading
        def ask():
            while True:
                repr(monitor), monitor.headline
        monitor = resmon.Monitor(0.001).start()
        repr(monitor), monitor.headline  # what it imports is there: see above
        for _ in range(2):
            threading.Thread(target=ask, daemon=True).start()
    """,
    "started in atexit": """
        import atexit
        @atexit.register
        def late():
            global monitor
            monitor = resmon.Monitor(0.001, on_sample=lambda sample: None, stop_timeout=1).start()
            monitor.sample_now()
    """,
    "in a cycle": """
        class Owner:
            pass
        owner = Owner()
        owner.me = owner
        owner.monitor = resmon.Monitor(0.001, on_sample=lambda sample: owner.me).start()
    """,
    "dropped by the end": """
        import builtins
        builtins.monitor = resmon.Monitor(0.001, on_sample=lambda sample: None).start()
    """,
    "open scopes, watches, generators": """
        def generator():
            with resmon.scope("inner"):
                yield 1
        made = resmon.timer(log=False)(generator)()
        next(made)
        resmon.scope("open").__enter__()
        watch = resmon.Watch("cpu+rss+io")
        monitor = resmon.Monitor(0.001).start()
    """,
    "sent to a server that is not there": """
        try:
            monitor = resmon.Monitor(0.001, mlflow={"tracking_uri": "http://127.0.0.1:9", "timeout": 0.2, "budget": 0.5,
                                                    "no_spool": True}, stop_timeout=1).start()
        except resmon.NotSupportedError:
            pass
    """,
}


@pytest.mark.parametrize("ending, flags", [
    *((ending, ()) for ending in ENDINGS), *((ending, ("-X", "dev", "-W", "error")) for ending in ENDINGS),
    ("with callbacks", ("-O",)), ("with callbacks", ("-OO", "-B")), ("with callbacks", ("-u", "-bb"))],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "".join(value))
def test_end_of_the_interpreter(ending, flags, script):
    output, errors = script("import resmon\n" + textwrap.dedent(ENDINGS[ending]) + "\nprint('end')\n", flags=flags)
    assert output.startswith("end")
    if ending == "with callbacks":
        assert output == "end\nstopped\n"
    if ending in ("with a callback that never returns", "sent to a server that is not there"):
        errors = "\n".join(line for line in errors.split("\n") if not line.startswith("resmon: "))
    if ending != "started in atexit":
        assert errors.strip() == ""


def test_files_are_whole_after_an_end_without_stop(script):
    script("""
        import resmon
        monitor = resmon.Monitor(0.005, json="run.json", csv="run.csv", record="run.rec").start()
        with resmon.scope("phase"):
            monitor.sample_now()
    """)
    for name in ("run.json", "run.rec"):
        loaded = resmon.load(script.directory / name)
        assert loaded.info.state == "stopped" and loaded.scopes["phase"].calls == 1


def test_an_exception_ends_the_program_as_ever(script):
    _, errors = script("""
        import resmon
        with resmon.Monitor(0.005, json="run.json"):
            raise LookupError("mine")
    """, code=1)
    assert errors.strip().endswith("LookupError: mine") and errors.count("Traceback") == 1
    assert [tag.label for tag in resmon.load(script.directory / "run.json").tags] == ["LookupError: mine"]


@pytest.mark.parametrize("call", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"])
def test_sudden_ends(call, script):
    code = {"os._exit(3)": 3, "os.abort()": -signal.SIGABRT}.get(call, -signal.SIGKILL)
    # faulthandler reads frames of threads that run on meanwhile, and may crash at that.
    script(f"""
        import faulthandler, os, signal, resmon
        faulthandler.disable()
        monitor = resmon.Monitor(0.005, record="run.rec", on_sample=lambda sample: None).start()
        monitor.tag("before")
        with resmon.scope("phase"):
            monitor.sample_now()
            {call}
    """, code=code)
    loaded = resmon.load(script.directory / "run.rec")
    is_told = call == "os._exit(3)"
    assert loaded.info.state == ("stopped" if is_told else "interrupted")
    assert (loaded.end.reason, loaded.end.exit_status) == (("failed", 3) if is_told else ("unknown", 0))
    assert loaded.scopes["phase"].open == 1 and loaded.info.samples >= 2


def test_exec(script):
    output, _ = script("""
        import os, sys, resmon
        monitor = resmon.Monitor(0.005, record="run.rec").start()
        monitor.sample_now()
        os.execv(sys.executable, [sys.executable, "-c", "print('another program')"])
    """)
    assert output == "another program\n"
    assert resmon.load(script.directory / "run.rec").info.samples >= 2


# ---- interrupts and signals -------------------------------------------------------------------------


def test_interrupted_in_a_block(script):
    process = script.start("""
        import resmon
        with resmon.Monitor(0.005, json="run.json"):
            with resmon.scope("phase"):
                print("ready", flush=True)
                while True:
                    pass
    """)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGINT and b"KeyboardInterrupt" in errors
    run = resmon.load(script.directory / "run.json")
    assert run.info.state == "stopped" and run.scopes["phase"].calls == 1
    assert [tag.label for tag in run.tags] == ["KeyboardInterrupt"]


def test_interrupted_while_it_stops(script):
    """The signal is handled when stop() is done, and what was recorded is there."""
    process = script.start("""
        import sys, threading, resmon
        def on_stop(run):
            print("stopping", flush=True)
            sys.stdin.readline()
        monitor = resmon.Monitor(3600, json="run.json", stop_timeout=60)
        monitor.add_callback(lambda sample: None, on_stop)
        monitor.start()
        try:
            monitor.stop()
        except KeyboardInterrupt:
            print("interrupted", monitor.state)
        monitor.stop()
        print(monitor.state, monitor.info.samples)
    """, stdin=-1)
    assert process.stdout.readline() == b"stopping\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(b"go on\n")
    assert process.returncode == 0, errors
    assert output.splitlines()[-1] == b"stopped 2" and output.startswith(b"interrupted")
    assert resmon.load(script.directory / "run.json").info.state == "stopped"


def test_signal_handlers_use_the_monitor(monitor):
    """They run between two steps of the program, also of this package."""
    seen = []

    def handler(_number, _frame):
        with resmon.scope("handler"):
            monitor.tag("signal")
            seen.append(monitor.snapshot().info.samples)
        if len(seen) < 50:
            signal.setitimer(signal.ITIMER_REAL, 0.001)  # the next one, and none inside of this one
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        while len(seen) < 50:
            with resmon.scope("outer"):
                with resmon.scope("inner"):
                    monitor.sample_now()
            repr(monitor)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(monitor.tags) == len(seen)
    assert sum(scope.calls + scope.folded for scope in monitor.scopes if scope.name == "handler") == len(seen)
    assert sum(scope.open for scope in monitor.scopes) == 0


def test_stop_from_a_signal_handler():
    monitor = resmon.Monitor(SLOW).start()
    before = signal.signal(signal.SIGALRM, lambda number, frame: monitor.stop())
    try:
        signal.raise_signal(signal.SIGALRM)
        monitor.stop()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert monitor.state == "stopped" and monitor.info.samples == 2


def test_signals_of_the_program_reach_its_own_thread():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(threading.current_thread()))
    try:
        with resmon.Monitor(0.001, on_sample=lambda sample: None):
            for _ in range(50):
                os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert set(seen) == {threading.main_thread()}


# ---- fork -------------------------------------------------------------------------------------------


def test_fork_while_it_samples(script):
    """Children use what they inherited and make monitors of their own, while the parent samples and calls back."""
    output, errors = script("""
        import os, sys, warnings, resmon
        warnings.simplefilter("ignore", DeprecationWarning)
        parent = resmon.Monitor(0.001, scopes="wall+cpu+rss", on_sample=lambda sample: None, json="parent.json",
                                record="parent.rec").start()
        def child(number):
            with resmon.scope("in the child"), resmon.timer("t", log=False), resmon.peak_rss("p", log=False):
                try:
                    parent.stop()
                    return 1
                except resmon.StateError:
                    pass
            with resmon.Monitor(0.001, json=f"child-{number}.json", scopes="wall") as own:
                with resmon.scope("own"):
                    own.sample_now()
            return 0 if own.scopes["own"].calls == 1 and own.info.samples >= 3 else 2
        children = []
        for number in range(30):
            with resmon.scope("forking"):
                pid = os.fork()
                if pid == 0:
                    if number % 2:
                        sys.exit(child(number))  # with all that Python does at its end
                    os._exit(child(number))
            children.append(pid)
        print([os.waitpid(pid, 0)[1] for pid in children])
        parent.sample_now()
        parent.stop()
        print(parent.scopes["forking"].calls, parent.sinks[0].end_status, len(parent.scopes))
    """)
    assert output.split("\n")[:2] == [str([0] * 30), "30 0 1"], errors
    assert errors == ""
    assert resmon.load(script.directory / "parent.json").info.state == "stopped"
    assert resmon.load(script.directory / "parent.rec").info.state == "stopped"
    assert resmon.load(script.directory / "child-7.json").scopes["own"].calls == 1


def test_a_child_does_not_stop_its_parent_s_monitor_at_exit(script):
    output, _ = script("""
        import os, sys, warnings, resmon
        warnings.simplefilter("ignore", DeprecationWarning)
        monitor = resmon.Monitor(3600, json={"path": "run.json", "final_only": True}).start()
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print(os.path.exists("run.json"), monitor.state)
        monitor.sample_now()
    """)
    assert output == "False running\n"
    assert resmon.load(script.directory / "run.json").info.samples == 3


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pool(method, script):
    output, errors = script(f"""
        import multiprocessing, os, warnings, resmon
        warnings.simplefilter("ignore", DeprecationWarning)

        @resmon.scope("work")
        def work(n):
            with resmon.Monitor(0.005) as own:
                with resmon.scope("inner"):
                    sum(range(50_000))
            return n, own.scopes["inner"].calls, own.snapshot()

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with resmon.Monitor(0.005, on_sample=lambda sample: None, max_overhead=1) as monitor:
                with context.Pool(3) as pool:
                    results = pool.map(work, range(12))
                    monitor.sample_now()
            print([one[:2] for one in results] == [(n, 1) for n in range(12)])
            print({{run.info.state for _, _, run in results}}, len({{run.facts["run"]["pid"] for _, _, run in results}}) > 0)
            print(monitor.summary["tree.processes"].max >= 2)
    """)
    assert output == "True\n{'stopped'} True\nTrue\n", errors
    assert errors == ""


def test_exceptions_cross_processes(script):
    output, _ = script("""
        import multiprocessing, warnings, resmon
        warnings.simplefilter("ignore", DeprecationWarning)

        def work(_):
            resmon.load("/nonexistent")

        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(1) as pool:
                try:
                    pool.map(work, [1])
                except resmon.NotFoundError as error:
                    print(error.name)
    """)
    assert output == "RESMON_ENOENT\n"


# ---- surroundings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [
    "sys.stderr = None", "sys.stdout = sys.stderr = None", "sys.stdout.close()", "sys.stderr.close()",
    "os.close(0); os.close(1); os.close(2)", "gc.disable()", "gc.set_threshold(1)", "sys.argv = []", "sys.argv = ['\\udcff']",
    "os.chdir('/'); os.environ.clear()", "sys.setrecursionlimit(60)", "sys.setswitchinterval(1e-6)",
    "import threading; threading.stack_size(65536)", "os.umask(0o777)", "import locale; locale.setlocale(locale.LC_ALL, '')"])
def test_odd_surroundings(before, script):
    script(f"""
        import gc, os, sys
        import resmon
        path = os.path.abspath("run.json")
        done = os.path.abspath("done")
        {before}
        with resmon.Monitor(0.002, json=path, on_sample=lambda sample: None) as monitor:
            with resmon.scope("phase"), resmon.timer("t"), resmon.peak_rss("p"):
                monitor.sample_now()
        assert monitor.scopes["phase"].calls == 1 and monitor.sinks[0].end_status == 0
        repr(monitor), str(monitor)
        open(done, "w").close()
        monitor = resmon.Monitor(0.002, stop_timeout=1).start()
    """, env={"LC_ALL": "C"} if "locale" in before else None)  # the host's may name one that is not there
    assert (script.directory / "done").exists() and (script.directory / "run.json").exists()


def test_few_descriptors(script):
    """What cannot be opened is not measured; an error says so, or the run has remarks."""
    output, errors = script("""
        import os, resource, resmon
        with resmon.Monitor(3600), resmon.Watch(), resmon.peak_rss("p", log=False):
            wanted = max(40, len(os.listdir("/proc/self/fd")) + 10)  # the more, the more this host has to measure
        files = []
        outcomes = set()
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        try:
            while True:
                files.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        while files:
            try:
                monitor = resmon.Monitor(3600, json="run.json").start()
                with resmon.scope("phase"), resmon.Watch("cpu+rss+io"), resmon.peak_rss("p", log=False):
                    monitor.sample_now()
                monitor.stop()
                outcomes.add("stopped")
            except resmon.Error as error:
                outcomes.add("refused")
            os.close(files.pop())
        print(sorted(outcomes))
        with resmon.Monitor(3600) as monitor:
            pass
        print(monitor.summary["proc.mem.rss"].max > 0)
    """)
    assert output.endswith("True\n") and "stopped" in output, errors


def test_little_memory(script):
    output, errors = script("""
        import resource, resmon
        with resmon.Monitor(3600) as monitor:
            pass
        outcomes = set()
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        for more in (0, 1, 5, 20, 100):
            resource.setrlimit(resource.RLIMIT_AS, (now + (more << 20), resource.RLIM_INFINITY))
            try:
                with resmon.Monitor(3600, rows=1048576) as monitor:
                    pass
                outcomes.add("stopped")
            except (MemoryError, resmon.Error) as error:
                outcomes.add(type(error).__name__)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with resmon.Monitor(3600) as monitor:
            pass
        print(sorted(outcomes), monitor.info.samples)
    """)
    assert output.endswith(" 2\n") and ("OutOfMemoryError" in output or "RangeError" in output), errors


def test_no_threads(script):
    """When no thread can be made, start() says so."""
    if os.geteuid() == 0:
        pytest.skip("root has no limit of threads")
    output, _ = script("""
        import resource, resmon
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        try:
            resmon.Monitor(3600).start()
        except resmon.Error as error:
            print("refused")
    """)
    assert output == "refused\n"


def test_an_unwritable_disk():
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with resmon.Monitor(SLOW) as monitor:
        pass
    for format in ("json", "csv", "text"):
        with pytest.raises(resmon.Error):
            monitor.save("/dev/full", format)


def test_subinterpreters(script):
    output, errors = script("""
        try:
            import _interpreters as interpreters
        except ImportError:
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                print("none")
                raise SystemExit
        import resmon
        code = '''
        try:
            import resmon
            with resmon.Monitor(3600) as monitor:
                monitor.sample_now()
            assert monitor.info.samples == 3
        except ImportError:
            pass
        '''
        import textwrap
        with resmon.Monitor(0.005, on_sample=lambda sample: None) as monitor:
            for _ in range(2):
                one = interpreters.create()
                interpreters.run_string(one, textwrap.dedent(code))
                interpreters.destroy(one)
        print(monitor.state)
    """)
    if output == "none\n":
        pytest.skip("this Python has no subinterpreters")
    assert output == "stopped\n", errors


# ---- many -------------------------------------------------------------------------------------------


def steady(work, times, mib):
    """Memory and descriptors do not grow with repetition."""
    work(times // 4)
    gc.collect()
    before, files = rss_bytes(), open_descriptors()
    work(times)
    gc.collect()
    assert open_descriptors() == files
    grown = (rss_bytes() - before) / 2 ** 20
    assert grown < mib, f"{grown:.1f} MiB more after {times} times"


def test_many_monitors():
    def work(times):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for i in range(times):
                monitor = resmon.Monitor(SLOW, domains="process", events=0, scope_paths=64, scopes=False,
                                         on_sample=(lambda sample: None) if i % 4 == 0 else None)
                if i % 3:
                    monitor.start()
                if i % 3 == 2:
                    monitor.tag("x")
                    monitor.stop()
                    monitor.headline
    steady(work, 600, 8)
    assert ends("rm-sample") and ends("rm-send")


def test_many_snapshots(stopped):
    def work(times):
        for _ in range(times):
            run = stopped.snapshot()
            run.summary, run.scopes, run.facts, repr(run), run.series("proc.mem.rss")
    steady(work, 100, 8)


def test_many_scopes_timers_and_watches():
    @resmon.timer(log=False)
    def timed():
        pass

    @resmon.peak_rss(log=False)
    def peak():
        pass

    @resmon.scope("generator")
    def generator():
        yield 1

    def work(times):
        for _ in range(times):
            with resmon.scope("a"):
                with resmon.scope("b"):
                    timed()
            peak()
            list(generator())
            with resmon.timer("block", log=False):
                pass
            resmon.Watch("cpu+rss+io").end()
    with resmon.Monitor(SLOW):
        steady(work, 10_000, 4)
    steady(work, 4_000, 4)


def test_many_failures(tmp_path):
    def work(times):
        for _ in range(times):
            for call in (lambda: resmon.load(tmp_path / "no.json"), lambda: resmon.Monitor(rows=7),
                         lambda: resmon.parse(b"{"), lambda: resmon.Monitor(json="/nonexistent/x"),
                         lambda: resmon.scope("a\0b"), lambda: resmon.Watch("x")):
                try:
                    call()
                except ValueError:
                    pass
                except resmon.Error:
                    pass
    steady(work, 1000, 4)


def test_many_threads_with_many_names(script):
    """More names, threads and paths than there is room for: the program goes on, and the run counts them."""
    output, errors = script("""
        import threading, warnings, resmon
        warnings.simplefilter("ignore")
        done = []
        def work(number):
            for i in range(600):
                with resmon.scope(f"name {number} {i}"):
                    with resmon.scope("inner"):
                        pass
            done.append(number)
        with resmon.Monitor(0.005, scope_paths=64, scope_threads=4) as monitor:
            crowd = [threading.Thread(target=work, args=(number,)) for number in range(120)]
            for thread in crowd:
                thread.start()
            for thread in crowd:
                thread.join()
        info = monitor.info
        print(len(done), info.dropped_scopes > 0, len(monitor.scopes) <= 64)
        repr(monitor.scopes), monitor.to_json()
    """)
    assert output == "120 True True\n", errors


def test_monitors_of_many_threads():
    failures = []

    def work(number):
        try:
            for _ in range(10):
                with resmon.Monitor(SLOW, name=str(number), domains="process", scopes=None if number % 2 else False,
                                    on_sample=lambda sample: None) as monitor:
                    with resmon.scope("work"):
                        monitor.tag(number)
                        monitor.sample_now()
                assert monitor.info.samples == 3 and monitor.tags[0].label == str(number)
                assert monitor.facts["run"]["name"] == str(number)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
    crowd = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert not failures
    assert ends("rm-sample") and "rm-sample" not in threads()


def test_collected_in_any_order():
    """Monitors, runs, views and callbacks in cycles with each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for i in range(30):
            cycle = {}
            cycle["me"] = cycle
            monitor = resmon.Monitor(SLOW, domains="process", on_sample=lambda sample, cycle=cycle: cycle)
            cycle["monitor"] = monitor.start()
            cycle["run"], cycle["view"] = monitor.snapshot(), monitor.series("proc.mem.rss")
            cycle["scope"], cycle["watch"] = resmon.scope("x").__enter__(), resmon.Watch()
            delivered(monitor)
            monitor.cycle = cycle
            del cycle, monitor
            if i % 10 == 9:
                gc.collect()
        gc.collect()
    assert ends("rm-sample") and ends("rm-send")
    resmon.Watch().end()


def test_the_library_stays_where_it_is(script):
    """One library in a process: that of the package is found again by its name."""
    output, _ = script("""
        import json, sys, resmon
        from resmon import _library
        mapped = sorted({line.split()[-1] for line in open("/proc/self/maps") if "/libresmon.so" in line})
        print(json.dumps([_library.path, mapped]))
    """)
    path, mapped = json.loads(output)
    assert len(mapped) == 1 and os.path.basename(path).startswith("libresmon")


def test_importing_again(script):
    """As notebooks do with reload, and tests with a clean sys.modules."""
    script("""
        import importlib, sys, resmon
        first = resmon.Monitor(0.005).start()
        for name in [name for name in sys.modules if name.partition(".")[0] == "resmon"]:
            del sys.modules[name]
        import resmon as again
        assert again.Monitor is not type(first)
        with again.Monitor(0.005) as second:
            with again.scope("x"):
                second.sample_now()
        first.stop()
        importlib.reload(again)
        assert first.info.samples >= 2 and second.info.samples >= 3
    """)
