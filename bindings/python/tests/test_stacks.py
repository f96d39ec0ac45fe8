# SPDX-License-Identifier: MIT
"""Stacks of a run, from a document that has some: objects of Python, sums by function, files."""
import ast
import json
import math
import pickle
import shutil
import subprocess
import sys

import pytest
from conftest import child_environment

import resmon
from resmon._library import lib

PLACES = {"function": [1, 2, 3, 0], "file": [4, 4, 0, 0], "line": [40, 12, 0, 0], "inlined": [0, 0, 0, 0],
          "module": [0, 0, 1, -1], "address": ["0x401000", "0x402000", "0x7f0000001234", "0x10"]}
STACKS = {"scope": [1, 0, -1], "cut": [0, 0, 1], "frames": [[0], [2, 1, 0], [3]],
          "samples": {"cpu": [6, 3, 1], "memory": [0, 4, 0], "file": [0, 0, 0]},
          "weight": {"cpu": [6e8, 3e8, 1e8], "memory": [0, 16384, 0], "file": [0, 0, 0]}}
KINDS = {"cpu": {"status": "RESMON_OK", "reason": "", "period": 10101010, "total": 1.25e9},
         "memory": {"status": "RESMON_OK", "reason": "", "period": 64, "total": None, "first_bytes": 1e6},
         "file": {"status": "RESMON_EACCES", "reason": "not allowed", "period": 64, "total": None}}
PROFILE = {
    "kinds": KINDS, "lost": {"ring_full": 2, "no_room": 1}, "texts": ["", "main", "load", "memset", "/nowhere/train.c"],
    "modules": [{"path": "/bin/train", "build_id": "ab", "start": "0x400000", "end": "0x410000", "bias": "0x0"},
                {"path": "/lib/libc.so.6", "build_id": "", "start": "0x7f0000000000", "end": "0x7f0000200000",
                 "bias": "0x7f0000000000"}],
    "places": PLACES, "stacks": STACKS,
    "peak": {"t_ns": 1500000000, "rss_bytes": 1e6, "headroom_bytes": None, "highest_rss_bytes": 1.25e6,
             "highest_t_ns": 1750000000,
             "threads": [{"thread": 42, "name": "train", "scope": 1, "cut": 0, "frames": [1, 0]}]},
}


@pytest.fixture(name="profiled")
def profiled_run(run):
    document = run.document()
    inner = dict(document["scopes"][0], name="inner", children=[]) if document["scopes"] else None
    if inner is None:
        pytest.skip("the run has no scopes")
    document["scopes"] = [dict(document["scopes"][0], name="outer", children=[inner])]
    return resmon.parse(json.dumps(dict(document, profile=PROFILE)))


def test_stacks(profiled):
    first, second, third = profiled.stacks
    assert first.scope == "outer/inner" and second.scope == "outer" and third.scope == ""
    assert [frame.function for frame in second.frames] == ["memset", "load", "main"]
    assert second.frames[1].line == 12 and second.frames[1].file == "/nowhere/train.c"
    assert second.frames[0].module == "/lib/libc.so.6" and not second.is_cut and third.is_cut
    assert second.frames[2] is first.frames[0]
    assert second.samples == {"cpu": 3, "memory": 4, "file": 0, "resident": 0}
    assert second.weights == {"cpu": pytest.approx(0.3), "memory": 16384, "file": 0, "resident": 0}
    assert "memset < load < main" in repr(profiled.stacks)
    assert list(pickle.loads(pickle.dumps(profiled)).stacks) == list(profiled.stacks)


def test_info(profiled):
    info = profiled.stack_info
    assert info["cpu"].available and info["cpu"].samples == 10 and info["cpu"].lost == 3
    assert info["cpu"].weight == pytest.approx(1.0) and info["cpu"].total == pytest.approx(1.25)
    assert info["memory"].weight == 16384 and math.isnan(info["memory"].total)
    assert info["memory"].error == 8192 and info["memory"].low_weight < 16384 < info["memory"].high_weight
    assert info["memory"].first_bytes == 1e6 and math.isnan(info["memory"].last_bytes)
    assert info["cpu"].error == pytest.approx((0.6 ** 2 / 6 + 0.3 ** 2 / 3 + 0.1 ** 2) ** 0.5)
    assert not info["file"].available and info["file"].reason == "not allowed"
    assert profiled.stack_losses == {
        "ring full": 2, "no room": 1, "too deep": 0, "not unwound": 0, "blocked": 0, "threads": 0,
        "modules": 0}


def test_functions(profiled):
    functions = profiled.functions()
    assert [(one.name, round(one.self_share, 6), round(one.total_share, 6)) for one in functions] == [
        ("main", 0.6, 0.9), ("memset", 0.3, 0.3), ("0x10", 0.1, 0.1), ("load", 0, 0.3)]
    grown = profiled.functions("memory")
    assert [one.name for one in grown] == ["memset", "load", "main"] and grown[0].self_weight == 16384
    # Four samples that weigh the same: the exact limits of a Poisson variable are 1.09 and 10.24.
    assert grown[0].self_low == pytest.approx(4096 * 1.09, rel=0.02)
    assert grown[0].total_high == pytest.approx(4096 * 10.24, rel=0.01)
    assert "<41.0 KiB" in repr(grown)
    assert functions[0].total_low < 0.9 < functions[0].total_high <= 1.25
    assert "60.0%" in repr(functions)
    with pytest.raises(ValueError, match="'cpu', 'memory', 'file'"):
        profiled.functions("gpu")


def test_lines(profiled):
    text = profiled.lines("load")
    assert "Line #" in text and "Hits" in text and "Increment" in text and "/nowhere/train.c" in text
    with pytest.raises(resmon.NotFoundError, match="nobody"):
        profiled.lines("nobody")


def test_sources(profiled):
    """Code that is in no file has its lines in the run."""
    document = profiled.document()
    lines = ["" for _ in range(11)] + ["    return data * 3  # of load"]
    named = dict(document, profile=dict(document["profile"], sources=[{"file": "/nowhere/train.c", "lines": lines}]))
    run = resmon.parse(json.dumps(named))
    assert "    return data * 3  # of load" in run.lines("load")
    assert run.document()["profile"]["sources"][0]["lines"][:11] == lines[:11] and "sources" not in document["profile"]
    for wrong in ([{"lines": []}], [{"file": "x", "lines": 3}], [7], 7, [{"file": "/nowhere/train.c", "lines": [1, None]}]):
        try:
            resmon.parse(json.dumps(dict(document, profile=dict(document["profile"], sources=wrong)))).lines("load")
        except resmon.Error as error:
            assert "profile.sources" in str(error)


def test_frames_of_one_kind(profiled):
    """resmon_run_keep_frames(): a stack keeps frames of the kind, if it has any."""
    document = profiled.document()
    profile = json.loads(json.dumps(document["profile"]))
    profile["places"]["module"] = [-1, -1, 1, -1]  # main and load are of Python, memset is of libc
    mixed = json.dumps(dict(document, profile=profile))
    for kind, expected in ((1, [["main"], ["load", "main"], [""]]), (2, [["main"], ["memset"], [""]])):
        run = resmon.parse(mixed)
        lib.run_keep_frames(run, kind)
        assert [[frame.function for frame in stack.frames] for stack in run.stacks] == expected
        assert [stack.weights for stack in run.stacks] == [stack.weights for stack in profiled.stacks]
    assert [one.name for one in run.functions("memory")] == ["memset"]
    with pytest.raises(resmon.ArgumentError, match="kind 3"):
        lib.run_keep_frames(resmon.parse(mixed), 3)


def test_peak(profiled):
    peak, = profiled.peak_stacks
    assert peak.highest_rss_bytes == 1.25e6 and peak.highest_t_s == 1.75
    assert peak.t_s == 1.5 and peak.thread_name == "train" and peak.scope == "outer/inner"
    assert [frame.function for frame in peak.frames] == ["load", "main"]
    assert math.isnan(peak.headroom_bytes)


def test_files(profiled, tmp_path):
    profiled.save_folded(tmp_path / "f")
    assert "[outer];main;load;memset 300000\n" in (tmp_path / "f").read_text()
    profiled.save_folded(tmp_path / "f", "memory")
    assert (tmp_path / "f").read_text() == "[outer];main;load;memset 16\n"
    profiled.save_pprof(tmp_path / "p")
    assert (tmp_path / "p").read_bytes()[:2] == b"\x1f\x8b"
    with pytest.raises(resmon.NotFoundError, match="not allowed"):
        profiled.save_folded(tmp_path / "f", "file")


def test_checkpoints(run):
    """RESMON_LINE() of a program in C, from its document."""
    assert run.checkpoints == []
    lines = [{"file": "train.c", "function": "load", "line": 10, "hits": 0, "wall_ns": 0, "rss_hits": 0, "rss_bytes": None},
             {"file": "train.c", "function": "load", "line": 12, "hits": 4, "wall_ns": 12e6, "rss_hits": 3,
              "rss_bytes": -32 << 20, "rss_max_bytes": 96 << 20}]
    marked = resmon.parse(json.dumps(dict(run.document(), lines=lines)))
    first, second = marked.checkpoints
    assert (first.file, first.function, first.line, first.hits) == ("train.c", "load", 10, 0)
    assert first.wall_s == 0 and math.isnan(first.rss_bytes)
    assert math.isnan(first.rss_max_bytes) and second.rss_max_bytes == 96 << 20  # older documents have none
    assert second.hits == 4 and second.rss_hits == 3 and second.rss_bytes == -32 << 20
    assert second.wall_s == pytest.approx(0.012) and "function='load'" in repr(second)
    for text in (marked.lines(), marked.lines("load"), marked.summary.text(full=True)):
        assert "exact" in text and "-32.0 MiB" in text and "96.0 MiB" in text and "3.000 ms" in text
    assert marked.document()["lines"] == [dict(lines[0], rss_max_bytes=None), lines[1]] and "lines" not in run.document()
    assert pickle.loads(pickle.dumps(marked)).checkpoints[1] == second
    with pytest.raises(resmon.NotFoundError, match="nobody"):
        marked.lines("nobody")


def test_without_stacks(run, tmp_path):
    assert len(run.stacks) == 0 and not list(run.functions()) and run.peak_stacks == []
    assert "no stacks" in repr(run.stacks)
    for save in (run.save_pprof, run.save_folded, run.lines):
        with pytest.raises(resmon.NotFoundError, match="no stacks"):
            save(tmp_path / "x") if save != run.lines else save()


def test_options(tmp_path):
    monitor = resmon.Monitor(folded=tmp_path / "f", folded_memory=tmp_path / "m", pprof={"path": tmp_path / "p", "interval": 1},
                             stacks="cpu+memory+peak", stack_hz=100, fault_period=8)
    assert [sink.name for sink in monitor.sinks] == ["folded", "folded_memory", "pprof"]
    with pytest.raises(resmon.ArgumentError, match="path, interval"):
        resmon.Monitor(pprof={"path": "x", "format": 3})
    with pytest.raises(resmon.ArgumentError, match="folded_memory needs stacks of memory"):
        resmon.Monitor(folded_memory=tmp_path / "m", stacks="cpu+peak")
    with pytest.raises(ValueError, match="cpu, memory, peak, all"):
        resmon.Monitor(stacks="gpu")
    with pytest.raises(resmon.errors.RangeError, match="stack_hz"):
        resmon.Monitor(stack_hz=1001)


PROGRAM = """
    import time, resmon

    def spin(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            sum(map(abs, range(500)))  # line 7

    def grow():
        return bytearray(48 << 20)  # line 10

    def sorts():
        return sorted([3, 1, 2] * 100, key=lambda value: spin(0.0002) or value)  # line 13

    with resmon.Monitor(interval=3600, stacks="cpu+memory", domains="process") as m:
        spin(0.5)
        kept = grow()
        sorts()
    print({kind: (info.available, info.reason) for kind, info in m.stack_info.items()})
    for stack in m.stacks:
        print([(frame.function, frame.line) for frame in stack.frames], stack.samples["cpu"], stack.weights["memory"])
"""


def test_python_from_inside(script):
    """Functions and lines of Python in a program that imports the package, for time and for growth."""
    out = script(PROGRAM)[0].splitlines()
    kinds, stacks = ast.literal_eval(out[0]), [line.rsplit(" ", 2) for line in out[1:]]
    stacks = [(ast.literal_eval(frames), int(samples), float(grown)) for frames, samples, grown in stacks]
    if not kinds["cpu"][0] or not kinds["memory"][0]:
        pytest.skip(f"stacks are not taken here: {kinds}")

    def sums(place):
        rows = [(samples, grown) for frames, samples, grown in stacks if place in frames]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)
    sampled, grown = sum(row[1] for row in stacks), sum(row[2] for row in stacks)
    spun = sums(("spin", 7))[0] + sums(("spin", 6))[0]
    assert spun >= 10, "half a second of CPU time has 50 at 99 Hz, less where the kernel's ticks are rare"
    # Where the library's thread gets no CPU, a ring becomes full, and what is lost is not read.
    named, unnamed = sums(("grow", 10))[1], sums(("[Python not read]", 0))[1]
    assert named >= 0.5 * (48 << 20) and named + unnamed >= 0.9 * (48 << 20) and grown < 2 * (48 << 20)
    assert not any("_PyEval_EvalFrameDefault" in str(frames) for frames, _, _ in stacks)
    unread = [samples for frames, samples, _ in stacks if ("[Python not read]", 0) in frames]
    assert sum(unread) <= 0.3 * sampled
    for frames, samples, _ in stacks:
        names = [function for function, _ in frames]
        if "sorts.<locals>.<lambda>" in names:  # from 3.11 on; its callers: the lambda, C's sort, the function
            assert names.index("sorts.<locals>.<lambda>") < names.index("sorts"), names


@pytest.mark.parametrize("words, options, program", [
    (["train.py", "-o", "x"], [], ["train.py", "-o", "x"]),
    (["-o", "run.json", "-q", "train.py"], ["-o", "run.json", "-q"], ["train.py"]),
    (["--interval", "20ms", "--live", "-m", "timeit", "pass"], ["--interval", "20ms", "--live"], ["-m", "timeit", "pass"]),
    (["--interval=20ms", "--json.late", "-"], ["--interval=20ms", "--json.late"], ["-"]),
    (["-q", "--", "-odd.py", "1"], ["-q"], ["-odd.py", "1"]),
    (["--help"], ["--help"], []),
])
def test_words_of_python_m_resmon(words, options, program):
    from resmon.__main__ import _split
    assert _split(words) == (options, program)


def test_python_m_resmon(tmp_path):
    """The program is one without the package: its arguments, input, output and exit status."""
    from resmon.__main__ import _command
    if shutil.which(_command()) is None:
        pytest.skip("there is no command resmon here")
    (tmp_path / "program.py").write_text("import sys\nprint(sys.argv, input(), __name__, 'resmon' in sys.modules)\nsys.exit(3)\n")
    done = subprocess.run([sys.executable, "-O", "-m", "resmon", "-q", "-o", "run.json", "program.py", "-x", "1"], cwd=tmp_path,
                          env=child_environment(), input="typed\n", capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout == "['program.py', '-x', '1'] typed __main__ False\n", done
    assert not done.stderr and resmon.load(tmp_path / "run.json").document()["profile"]
    failed = subprocess.run([sys.executable, "-m", "resmon", "-q"], env=child_environment(), capture_output=True, text=True, check=False)
    assert failed.returncode == 125 and "python -m resmon" in failed.stderr
