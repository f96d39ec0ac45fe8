# SPDX-License-Identifier: MIT
"""Stacks, counters and checkpoints in reports: tables, flame graphs, what is absent and why."""
import json
import re
import time

import pytest
from test_reports import HOSTILE, check_clean, check_fits, opened, page, pages_of, written  # noqa: F401
from test_stacks import KINDS, PROFILE, STACKS

import resmon
from resmon import _abi, pages

LINES = [{"file": "train.c", "function": "load", "line": 12, "hits": 4, "wall_ns": 12e6, "rss_hits": 3,
          "rss_bytes": -32 << 20}]
COUNTERS = [{"name": "instructions", "unit": "1", "status": "RESMON_OK", "reason": ""},
            {"name": "cycles", "unit": "1", "status": "RESMON_OK", "reason": ""},
            {"name": "cache-misses", "unit": "1", "status": "RESMON_ENODEV", "reason": "a virtual machine without a PMU"}]


def with_profile(run, **more):
    """The run with two scopes, and such parts of a document."""
    document = run.document()
    inner = dict(document["scopes"][0], name="inner", children=[])
    outer = dict(document["scopes"][0], name="outer", children=[inner])
    return resmon.parse(json.dumps(dict(document, scopes=[outer], **more)))


@pytest.fixture(name="profiled")
def profiled_run(run):
    return with_profile(run, profile=PROFILE, lines=LINES)


def table_of(run, key):
    return pages.page_of([run], _abi.PAGE_TABLES).runs[0].table(key)


def many_stacks(run, count, names=400, depth=30):
    """A run of so many stacks, each another: they share what is outermost, and part by and by."""
    texts = ["", *(f"a_function_with_a_name_{number}" for number in range(names)), "/src/train.c"]
    places = {"function": list(range(1, names + 1)), "file": [names + 1] * names, "line": [7] * names,
              "inlined": [0] * names, "module": [0] * names,
              "address": [hex(0x401000 + 16 * number) for number in range(names)]}
    frames = [[((stack >> level) * 7 + level) % names for level in range(depth)] for stack in range(count)]
    weights = [[1e7 * (1 + stack % 3) for stack in range(count)], [4096.0] * count, [0] * count]
    stacks = {"scope": [-1] * count, "cut": [0] * count, "frames": frames,
              "samples": {"cpu": [1] * count, "memory": [1] * count, "file": [0] * count},
              "weight": dict(zip(("cpu", "memory", "file"), weights))}
    return with_profile(run, profile=dict(PROFILE, texts=texts, places=places, stacks=stacks, peak=None))


def test_many_stacks_make_no_large_file(run, tmp_path):
    plain = written(run, tmp_path, "plain.html").stat().st_size
    many = many_stacks(run, 30000)
    begin = time.process_time()
    size = written(many, tmp_path).stat().st_size - plain
    print(f"30,000 stacks: {time.process_time() - begin:.2f} s, {size / 1e3:.0f} kB")
    assert size < 1.5e6


def test_bars_of_functions(profiled):
    """The texts of these tables are golden: tests/golden."""
    cpu = table_of(profiled, "functions_cpu")
    assert (cpu.rows[0][3].share, cpu.rows[0][3].inner) == (pytest.approx(0.9), pytest.approx(0.6))
    assert table_of(profiled, "functions_file") is None


def test_kinds_without_a_sample(run):
    empty = {kind: [0, 0, 0] for kind in KINDS}
    kinds = dict(KINDS, cpu={"status": "RESMON_EACCES", "reason": "no timers", "period": 0, "total": None})
    idle = with_profile(run, profile=dict(PROFILE, kinds=kinds, stacks=dict(STACKS, samples=empty, weight=empty)))
    assert not any(table.key.startswith("functions") for table in pages.page_of([idle]).runs[0].tables)
    rows = dict(table_of(idle, "stacks").rows[:3])
    assert (rows["CPU time"], rows["pages of files"]) == ("not taken: no timers", "not taken: not allowed")
    assert rows["growth of memory"].startswith("0 B in 0 samples (one each 64 page faults)")


def counted(run, low=(2.5e9, 1.5e9, None), high=(3.5e9, 2.5e9, None)):
    """A run whose outer scope counted, on a machine with some counters."""
    document = run.document()
    scope = dict(document["scopes"][0], children=[])
    scope.update(name="outer", calls=4, counters=[3e9, 2e9, None], counters_calls=2, counters_running=0.5,
                 counters_provenance="sampled", counters_low=low, counters_high=high)
    return resmon.parse(json.dumps(dict(document, scopes=[scope], counters=COUNTERS)))


def test_counters_of_scopes(run):
    table = table_of(counted(run), "scope_counters")
    assert table.headers == ["scope", "instructions", "cycles", "IPC", "counted"]
    assert table.rows == [["outer", "~3.000 G", "~2.000 G", "1.50", "50.0 %"]]
    assert "cache-misses is absent: a virtual machine without a PMU" in table.notes and "~: from the calls that were counted" in table.notes[1]
    vague = table_of(counted(run, high=(6e9, None, None)), "scope_counters")
    assert vague.rows == [["outer", "-", "-", "-", "50.0 %"]]
    assert {cell.reason for cell in vague.rows[0][1:4]} == {"the error may exceed the value"}
    vague = table_of(counted(run, high=(5e9, 4e9, None)), "scope_counters")
    assert vague.rows == [["outer", "~3.000 G", "-", "-", "50.0 %"]]
    only = resmon.parse(json.dumps(dict(run.document(), scopes=[], counters=COUNTERS)))
    assert table_of(only, "scope_counters").rows[2] == ["cache-misses", "no", "a virtual machine without a PMU"]


def counters_of_a_run(run):
    """The run as one that counted cycles, and had no L2 counters and no reading of the clock."""
    document = run.document()
    renamed = {"proc.fault.minor": "perf.cycles", "proc.fault.major": "perf.clock"}
    for column, statistics in zip(document["columns"], document["summary"]["columns"]):
        if column["metric"] in renamed:
            column.update(metric=renamed[column["metric"]], source="perf_hardware")
            if column["metric"] == "perf.cycles":
                statistics.update(mean=2.5e9, p95=3e9, max=3e9, last=5e9)
            else:
                statistics.update({key: None for key in statistics if key not in ("n", "resets")}, n=0)
    document["sources"] += [dict(document["sources"][0], name="perf_hardware", status="RESMON_OK", reason=""),
                            dict(document["sources"][0], name="perf_l2", status="RESMON_ENODEV", reason="no such <events>")]
    return resmon.parse(json.dumps(document))


def test_counters_of_the_run(run):
    counted_run = counters_of_a_run(run)
    rows = {row[0]: row[1:] for row in table_of(counted_run, "summary").rows}
    assert rows["cycles"][:4] == ["2.500 G/s", "3.000 G/s", "3.000 G/s", "5.000 G"]
    assert ["perf_l2", "no", "no such <events>"] in table_of(counted_run, "missing").rows


# ---- in a browser ---------------------------------------------------------------------------------

LAID_OUT = """return [...document.querySelectorAll('.flame')].map(flame => [...flame.querySelectorAll('b')].filter(
    b => !b.hidden).map(b => { const box = b.getBoundingClientRect(), all = flame.firstElementChild.getBoundingClientRect(),
    percent = part => Math.round(part / all.width * 100);
    return [b.title.split('\\n')[0], percent(box.left - all.left), percent(box.width), b.textContent]; }))"""


def test_the_page(profiled, tmp_path, page):  # noqa: F811
    opened(page, written(profiled, tmp_path))
    cpu, memory = page.run(LAID_OUT)
    assert ["all", 0, 100, "all"] in cpu and ["outer", 0, 90, "outer"] in cpu and ["memset", 60, 30, "memset"] in cpu
    assert [box[0] for box in memory] == ["all", "outer", "main", "load", "memset"]
    titles = page.run("return [...document.querySelectorAll('.flame b')].map(b => b.title)")
    assert "memset\n300.0 ms, 30.0 %, 3 samples" in titles and "memset\n16.0 KiB, 100.0 %, 4 samples" in titles
    check_fits(page)
    check_clean(page)


def test_a_click_widens_a_box(profiled, tmp_path, page):  # noqa: F811
    opened(page, written(profiled, tmp_path))
    before = page.run(LAID_OUT)[0]
    click = "[...document.querySelectorAll('.flame b')].find(b => b.title.startsWith('{}\\n') && !b.hidden).click()"
    page.run(click.format("load"))
    assert page.run(LAID_OUT)[0] == [["all", 0, 100, "all"], ["outer", 0, 100, "outer"], ["main", 0, 100, "main"],
                                     ["load", 0, 100, "load"], ["memset", 0, 100, "memset"]]
    page.run(click.format("load"))
    assert page.run(LAID_OUT)[0] == before
    page.run(click.format("memset"))
    page.run(click.format("all"))
    assert page.run(LAID_OUT)[0] == before
    check_clean(page)


def test_names_do_nothing(run, tmp_path, page):  # noqa: F811
    texts = [HOSTILE % text if text else "" for text in PROFILE["texts"]]
    peak = dict(PROFILE["peak"], threads=[dict(PROFILE["peak"]["threads"][0], name=HOSTILE % "t")])
    kinds = dict(KINDS, file=dict(KINDS["file"], reason=HOSTILE % "reason"))
    modules = [dict(module, path=HOSTILE % module["path"]) for module in PROFILE["modules"]]
    lines = [dict(LINES[0], function=HOSTILE % "load", file=HOSTILE % "train.c")]
    counters = [dict(counter, name=HOSTILE % counter["name"], reason=HOSTILE % "reason") for counter in COUNTERS]
    bad = dict(PROFILE, texts=texts, peak=peak, kinds=kinds, modules=modules)
    path = written(with_profile(run, profile=bad, lines=lines, counters=counters), tmp_path)
    opened(page, path)
    check_clean(page)
    assert page.run("return window.hit === undefined && document.images.length === 0 && document.scripts.length === 3")
    assert page.run("return document.querySelectorAll('.flame').length") == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028\u2029]", path.read_text("utf-8"))


@pytest.mark.parametrize("width", [1280, 400])
def test_deep_and_wide_graphs_fit(run, tmp_path, page, width):  # noqa: F811
    opened(page, written(many_stacks(run, 2000, depth=100), tmp_path), width)
    check_fits(page)
    check_clean(page)


def test_pdf(profiled, run, tmp_path):
    pytest.importorskip("matplotlib")
    plain = len(pages_of(written(run, tmp_path, "plain.pdf")))
    assert len(pages_of(written(profiled, tmp_path, "report.pdf"))) >= plain


def test_a_notebook(profiled, run):
    assert "<summary>hot functions, by CPU time</summary>" in profiled._repr_html_()
    assert "hot functions" not in run._repr_html_()
