# SPDX-License-Identifier: MIT
"""Functions again and again, groups of runs, and comparisons of them."""
import json

import pytest
import resmon


def made(path, **commands):
    """A benchmark as hyperfine writes it."""
    results = [{"command": name, "times": times} for name, times in commands.items()]
    path.write_text(json.dumps({"results": results}))
    return resmon.Bench.load(path)


def around(middle):
    return [middle * (1 + 0.001 * (i - 4)) for i in range(8)]


def test_calls_of_a_function():
    calls = []
    bench = resmon.bench(lambda: calls.append(1), n=5, calls=7, warmup=3, name="append")
    # The library calls once to be warm, too.
    assert len(calls) == 3 + 7 + 5 * 7
    assert bench.names == ["append"]
    [result] = bench.results
    assert len(result["times"]) == 5 and all(0 < time < 1 for time in result["times"])
    assert bench.values("wall") == result["times"]
    assert bench.values("peak")[0] > 1 << 20
    assert result["machine"]["kernel"]
    assert str(bench).startswith("append, 5 runs")


def test_a_run_takes_a_millisecond():
    calls = []
    bench = resmon.bench(lambda: calls.append(1), n=2)
    in_a_run = (len(calls) - 1) / 4  # calibration has as many in its last turn, at least
    assert in_a_run > 100
    assert min(bench.values("wall")) < 1e-4


def test_memory_of_a_call():
    bench = resmon.bench(lambda: bytearray(32 << 20), n=3, calls=1)
    more = resmon.bench(lambda: bytearray(64 << 20), n=3, calls=1)
    if not any(row["is_counted"] for row in bench.results[0]["figures"] if row["figure"] == "peak"):
        pytest.skip("the kernel's mark of peak memory cannot be set back here")
    diff = resmon.diff(bench, more, "peak>10%+16MiB")
    assert diff.verdict == "worse"
    [row] = [row for row in diff.rows if row.figure == "peak"]
    assert row.is_counted and row.shift == pytest.approx(32 << 20, rel=0.1)


def test_what_a_function_raises():
    def fail():
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        resmon.bench(fail, n=3)
    calls = []

    def fail_later():
        calls.append(1)
        if len(calls) > 5:
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        resmon.bench(fail_later, n=3, calls=4)


@pytest.mark.parametrize("words", [{"n": 0}, {"calls": 0}, {"warmup": 0}])
def test_numbers_that_are_wrong(words):
    with pytest.raises(resmon.ArgumentError):
        resmon.bench(int, **words)


def test_verdicts(tmp_path):
    old = made(tmp_path / "old.json", job=around(1.0))
    for times, verdict in ((around(1.0), "not worse"), (around(1.2), "worse"),
                           ([0.7, 1.4, 0.8, 1.3, 1.0, 1.2, 0.9, 1.1], "cannot tell")):
        diff = resmon.diff(old, made(tmp_path / "new.json", job=times), ["wall>5%+10ms"])
        assert diff.verdict == verdict
    assert diff.rows[0].runs_wanted > 8
    assert resmon.diff(old, old, "").verdict == "none"
    diff = resmon.diff(tmp_path / "old.json", str(tmp_path / "old.json"), "wall>5%")
    assert diff.verdict == "not worse" and diff.rows[0].p == 1.0
    assert "| wall time |" in diff._repr_markdown_()
    assert json.loads(diff.text("json"))["verdict"] == "not_worse"
    with pytest.raises(resmon.ArgumentError, match="speed>5%"):
        resmon.diff(old, old, "speed>5%")


def test_runs_with_scopes():
    benches = []
    for calls in (3, 4):
        with resmon.Monitor(interval=1) as monitor:
            with resmon.scope("outer"):
                for _ in range(calls):
                    with resmon.scope("inner"):
                        pass
        bench = resmon.Bench()
        bench.add(monitor, "mine")
        assert bench.values("calls", "outer/inner") == [calls]
        benches.append(bench)
    diff = resmon.diff(*benches, "scope:outer/* calls>0")
    assert diff.verdict == "worse"
    [row] = [row for row in diff.rows if row.rule]
    assert (row.path, row.figure, row.shift, row.verdict) == ("outer/inner", "calls", 1, "worse")


def test_a_bench_is_saved_and_loaded(tmp_path):
    bench = resmon.bench(int, n=3)
    bench.save(tmp_path / "bench.json")
    again = resmon.Bench.load(tmp_path / "bench.json")
    assert again.results == bench.results
    assert again.text("go").startswith("BenchmarkRun/command=int 1 ")
    with pytest.raises(resmon.NotFoundError):
        bench.text("nothing")
    with pytest.raises(resmon.ArgumentError, match="'other'"):
        bench.values(name="other")


def test_trend(tmp_path):
    """Files of a directory by their names; a change is where it is, and not where it is not."""
    for i in range(14):
        made(tmp_path / f"c{i:02}.json", job=around(1.0 if i < 8 else 1.1), other=around(2.0))
    trend = resmon.trend(tmp_path)
    assert (len(trend), trend.labels[3]) == (14, "c03")
    job, other = trend.series
    [change] = job["changes"]
    assert trend.labels[change["benchmark"]] == "c08" and change["p"] <= 0.01
    assert change["shift"] == pytest.approx(0.1, rel=1e-2) and not other["changes"]
    assert "at c08: " in str(trend) and "+10.0 %" in str(trend)
    trend.save(tmp_path / "trend.html")
    page = (tmp_path / "trend.html").read_text()
    assert page.count('class="change worse"') == 1 and "<script" not in page
