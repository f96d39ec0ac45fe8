# SPDX-License-Identifier: MIT
"""resmon.report(): what a browser makes of the HTML, what is in the PDF, and what is left when writing fails."""
import base64
import calendar
import contextlib
import errno
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from conftest import PATIENCE_S, needs_live

import resmon
from resmon import _abi, pages, reports
from resmon.errors import AccessError, ArgumentError, InputOutputError, NoSpaceError, NotFoundError
from resmon.frames import MissingPackage

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests"))
import browser as chromium  # noqa: E402

MIB = 1 << 20
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>\"'&\u202egnp.exe\u2028\x07 %s"


# ---- runs -----------------------------------------------------------------------------------------


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A second of this process: nested scopes one by one, tags, a file."""
    directory = tmp_path_factory.mktemp("run")
    with resmon.Monitor(interval=0.02, scopes="wall+cpu+rss+io", name="train.py", carbon="FR", events=256,
                        rows=8192) as monitor:  # none of them is merged, on a slow machine neither
        with resmon.scope("train"):
            for _ in range(3):
                with resmon.scope("epoch"):
                    work(0.2)
                    (directory / "data").write_bytes(os.urandom(8 * MIB))
        monitor.tag("trained")
        work(0.2)
    return monitor.snapshot()


def changed(run, change):
    """A run with a change in its document."""
    document = json.loads(run.to_json())
    change(document)
    return resmon.parse(json.dumps(document))


def on_host(run, name, later_s=0):
    def change(document):
        document["machine"]["host_name"] = name
        whole, fraction = document["run"]["start"][:-1].split(".")
        at = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + later_s
        document["run"]["start"] = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{fraction}Z"
    return changed(run, change)


@pytest.fixture(scope="module")
def long_run(run):
    """A table of 400 full rows of 16 samples each, as of a long run."""
    def change(document):
        series = document["series"]
        rows = 400
        document["run"].update(stride=16, halvings=4, samples=16 * rows, duration_ns=rows * 10**9)
        series["t_first_ns"] = [row * 10**9 + 1 for row in range(rows)]
        series["t_last_ns"] = [(row + 1) * 10**9 for row in range(rows)]
        series["samples"] = [16] * rows
        for number, (column, values) in enumerate(zip(document["columns"], series["columns"])):
            wave = [1e6 * (1 + math.sin(row / 20 + number)) for row in range(rows)]
            is_counter = column["kind"] == "counter"
            total = [sum(wave[:row]) / 1e3 for row in range(rows)] if is_counter else wave
            values.update(last=total, mean=wave, min=[0.5 * v for v in wave], max=[1.5 * v for v in wave])
    return changed(run, change)


def written(runs, directory, name="report.html", **options):
    path = directory / name
    resmon.report(runs, path, **options)
    assert [file.name for file in directory.iterdir() if file.name.endswith(".tmp")] == []
    return path


# ---- the browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page():
    needs_live("a browser that starts and draws on this host")
    try:
        with chromium.browser() as found:
            found.command("POST", "goog/cdp/execute", {
                "cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": """
                    window.problems = [];
                    addEventListener('error', event => problems.push(String(event.message || event.target)), true);
                    addEventListener('securitypolicyviolation', event => problems.push(
                        'policy: ' + event.violatedDirective + ' ' + event.blockedURI));
                    for (const kind of ['error', 'warn']) {
                        const was = console[kind];
                        console[kind] = (...words) => { problems.push(words.join(' ')); was.apply(console, words); };
                    }"""}})
            yield found
    except SystemExit as left:
        if left.code != 77:
            raise
        pytest.skip("there is no chromium or no chromedriver (Debian: chromium, chromium-driver)")


def cdp(page, command, **parameters):
    return page.command("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})


def opened(page, path, width=1280, scheme="light"):
    """The page, with all charts that are not folded away drawn."""
    cdp(page, "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    cdp(page, "Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    page.open("about:blank")
    page.open(Path(path).as_uri())
    for _ in range(60):
        if page.run("""const at = scrollY; scrollBy(0, 900); return at === scrollY"""):
            break
        time.sleep(0.05)
    chromium.wait_for(lambda: page.run(UNDRAWN) == 0, PATIENCE_S)
    page.run("scrollTo(0, 0)")
    return page


UNDRAWN = """return [...document.querySelectorAll('.plot')].filter(
    plot => !plot.closest('details:not([open])') && !plot.querySelector('canvas')).length"""
# For each chart that can be seen, how many colours its canvas has that are no grey.
INKED = """return [...document.querySelectorAll('.plot canvas')].filter(
    canvas => !canvas.closest('details:not([open])')).map(canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let inked = 0;
    for (let i = 0; i < pixels.length; i += 4) {
        const colours = pixels.subarray(i, i + 3);
        if (pixels[i + 3] > 0 && Math.max(...colours) - Math.min(...colours) > 40) inked++;
    }
    return inked;
})"""
CANVASES = "return [...document.querySelectorAll('.plot canvas')].map(canvas => canvas.toDataURL())"


def check_clean(page):
    """Nothing went wrong, and nothing was asked for."""
    assert page.run("return problems") == []
    assert page.run("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def check_drawn(page, least):
    inked = page.run(INKED)
    assert len(inked) >= least and all(count > 20 for count in inked), inked
    check_clean(page)


def check_fits(page):
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def box_of(page, selector):
    """Where the inside of the first chart in `selector` is, scrolled into view."""
    return page.run(f"""const over = document.querySelector('{selector} .u-over');
        over.scrollIntoView({{block: 'center'}});
        const box = over.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]""")


def mouse(page, kind, x, y, **more):
    cdp(page, "Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, **more)


def drag(page, box, start, end):
    left, top, width, height = box
    y = top + height / 2
    mouse(page, "Moved", left + width * start, y)
    mouse(page, "Pressed", left + width * start, y, button="left", clickCount=1)
    mouse(page, "Moved", left + width * (start + end) / 2, y, button="left", buttons=1)
    mouse(page, "Moved", left + width * end, y, button="left", buttons=1)
    mouse(page, "Released", left + width * end, y, button="left", clickCount=1)


def waits(page, script, condition):
    """Whether what a script gives becomes so: the browser handles events and draws when it comes to it."""
    return bool(chromium.wait_for(lambda: condition(page.run(script)), PATIENCE_S))


def test_one_run(run, tmp_path, page):
    opened(page, written(run, tmp_path))
    check_drawn(page, 6)
    check_fits(page)
    assert page.run("return document.title").startswith("train.py on ")
    assert page.run("return [...document.querySelectorAll('h3')].map(h => h.textContent)")[:2] == ["Scopes", "Energy"]
    charts_there = page.run("return [...document.querySelectorAll('figcaption b')].map(b => b.textContent)")
    assert charts_there[:4] == ["CPU", "Memory", "Read", "Write"] and charts_there[-1] == "Scopes over time"
    assert page.run("return [...document.querySelectorAll('table')].every(t => t.querySelector('th'))")
    assert page.run("""return [...document.querySelectorAll('.plot')].every(p => p.getAttribute('role') === 'img' &&
        p.getAttribute('aria-label').length > 20)""")


def test_zoom_is_of_all_charts(run, tmp_path, page):
    opened(page, written(run, tmp_path))
    before = page.run(CANVASES)
    drag(page, box_of(page, "#c0-cpu"), 0.3, 0.6)
    assert waits(page, CANVASES, lambda zoomed: len(before) == len(zoomed) and all(a != b for a, b in zip(before, zoomed)))
    assert waits(page, "return document.querySelector('.reset').hidden", lambda hidden: hidden is False)
    left, top, width, height = box_of(page, "#c0-read")
    for count in (1, 2):
        mouse(page, "Pressed", left + width / 2, top + 20, button="left", clickCount=count)
        mouse(page, "Released", left + width / 2, top + 20, button="left", clickCount=count)
    assert waits(page, "return document.querySelector('.reset').hidden", lambda hidden: hidden is True)
    assert waits(page, CANVASES, lambda drawn: drawn == before)
    check_clean(page)


def test_values_at_the_cursor_in_all_charts(run, tmp_path, page):
    opened(page, written(run, tmp_path))
    shown = "return document.querySelector('#c0-memory + .keys .now').textContent"
    said = page.run(shown)
    assert re.match(r"mean [\d.]+ [KMG]iB, max ", said)
    left, top, width, height = box_of(page, "#c0-cpu")
    mouse(page, "Moved", left + width / 2 - 4, top + height / 2)
    mouse(page, "Moved", left + width / 2, top + height / 2)
    assert waits(page, shown, lambda text: re.fullmatch(r"[\d.]+ [KMG]iB", text))
    assert waits(page, "return document.querySelector('figcaption .at').textContent", lambda text: "UTC" in text)
    mouse(page, "Moved", left + width / 2, top - 150)
    assert waits(page, shown, lambda text: text == said)


def test_a_name_hides_its_line(run, tmp_path, page):
    opened(page, written(run, tmp_path))
    drawn = "return document.querySelector('#c0-cpu canvas').toDataURL()"
    before = page.run(drawn)
    page.run("document.querySelector('#c0-cpu + .keys .key').click()")
    assert waits(page, "return document.querySelector('#c0-cpu + .keys .key').getAttribute('aria-pressed')",
                 lambda pressed: pressed == "false")
    assert waits(page, drawn, lambda now: now != before)
    page.run("document.querySelector('#c0-cpu + .keys .key').click()")
    assert waits(page, drawn, lambda now: now == before)


@pytest.mark.parametrize("width", [1400, 800, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_in_light_and_dark(run, tmp_path, page, width, scheme):
    opened(page, written([on_host(run, f"node{i}") for i in range(6)], tmp_path), width, scheme)
    check_fits(page)
    check_drawn(page, 5)
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark")


def test_paper_has_the_charts(run, tmp_path, page):
    opened(page, written(run, tmp_path))
    data = base64.b64decode(page.command("POST", "print", {"background": True}))
    streams = b"".join(streams_of(data))
    # Canvases are images, or lines by the thousand.
    assert data.count(b"/Image") >= 6 or len(re.findall(rb" l$", streams, re.M)) > 500
    check_clean(page)


def test_charts_are_drawn_at_once(run, tmp_path, page):
    """For print and pictures of a page that nobody scrolls."""
    page.open("about:blank")
    page.open(written(run, tmp_path).as_uri())
    assert page.run("return scrollY") == 0 and page.run("return document.querySelectorAll('.plot').length") >= 6
    assert page.run(UNDRAWN) == 0
    check_clean(page)


def hostile(document):
    def turned(value):
        if isinstance(value, str) and value:
            return HOSTILE % value
        return value
    for group in ("run", "machine"):
        for key in ("name", "executable", "command_line", "host_name", "label", "os", "cpu_model"):
            if key in document[group]:
                document[group][key] = turned(document[group][key])
    for tag in document["tags"]:
        tag["label"] = turned(tag["label"])
    for scope in document["scopes"]:
        scope["name"] = turned(scope["name"])
    for source in document["sources"]:
        source["reason"] = HOSTILE % "reason"
    document["energy"]["place"] = HOSTILE % "place"


def test_names_do_nothing(run, tmp_path, page):
    bad = changed(run, hostile)
    path = written([bad, on_host(bad, HOSTILE % "host")], tmp_path, title=HOSTILE % "title")
    opened(page, path)
    check_drawn(page, 10)
    assert page.run("return window.hit === undefined && document.images.length === 0 && document.scripts.length === 3")
    assert "</script><script>window.hit=1</script>" in page.run("return document.querySelector('h1').textContent")
    text = path.read_text("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    assert "\\u202e" in text  # told, and not done
    page_json = text.split("id=resmon-data>")[1].split("</script>")[0]
    assert "<" not in page_json and "NaN" not in page_json and json.loads(page_json)


def test_nodes_of_a_job(run, tmp_path, page):
    runs = [on_host(run, f"node{i:02d}") for i in range(6)]
    opened(page, written(runs, tmp_path))
    check_drawn(page, 5)
    assert page.run("return document.title") == "train.py on 6 nodes"
    rows = page.run("""return [...document.querySelectorAll('.scroll')[0].querySelectorAll('tbody th')].map(
        t => t.textContent)""")
    assert rows == [f"node{i:02d}" for i in range(6)] + ["all"]
    # The scopes, node by node; the 18 figures of a node, in two tables.
    assert page.run("""return [...document.querySelectorAll('.scroll')].slice(1, 4).map(
        t => t.querySelectorAll('thead th').length)""") == [7, 11, 9]
    assert page.run("return document.querySelectorAll('details.run').length") == 6
    assert page.run("return document.querySelectorAll('details.run[open]').length") == 0
    page.run("document.querySelector('#run3').open = true; document.querySelector('#run3').scrollIntoView()")
    assert chromium.wait_for(lambda: page.run("return document.querySelectorAll('#run3 canvas').length") >= 4, 10)
    check_drawn(page, 9)


def timed(run, phases):
    """The same run with other times of its phases."""
    def change(document):
        for scope in document["scopes"]:
            scope["wall_ns"] = phases.get(scope["name"], scope["wall_ns"])
    return changed(run, change)


def test_scopes_of_all_runs_stand_beside_each_other(run, tmp_path):
    name = run.scopes[0].name
    one, other = timed(run, {name: 2e9}), timed(run, {name: 3e9})
    table = pages.page_of([on_host(one, "a"), on_host(other, "b")]).all.table("scopes_of_all")
    row = next(row for row in table.rows if row[0] == name)
    assert table.headers[:4] == ["scope", "wall, a", "wall, b", "change"] and row[1:4] == ["2.000 s", "3.000 s", "+50.0 %"]
    assert pages.page_of([one]).all is None
    many = pages.page_of([on_host(timed(run, {name: i * 1e9}), f"n{i}") for i in range(1, 12)]).all.table("scopes_of_all")
    row = next(row for row in many.rows if row[0] == name)
    assert row[1:5] == ["1.000 s", "6.000 s", "11.00 s", "n11"] and many.headers[1:] == ["least wall", "median", "most", "of"]
    assert written([one, other], tmp_path).stat().st_size > 10000


def test_long_names_leave_their_columns_in_sight(run, tmp_path, page):
    """In 1280 columns of pixels the table of scopes needs no bar to scroll."""
    name = run.scopes[0].name
    def change(document):
        for scope in document["scopes"]:
            scope["name"] = "a::very<long::template<name>>::" * 6 if scope["name"] == name else scope["name"]
    opened(page, written(changed(run, change), tmp_path))
    assert page.run("""return [...document.querySelectorAll('.scroll')].slice(0, 1).every(
        box => box.scrollWidth <= box.clientWidth)""")


def test_runs_to_compare_are_open_and_not_added_up(run, tmp_path, page):
    runs = [run, on_host(run, run.facts["machine"]["host_name"], 3600)]
    opened(page, written(runs, tmp_path))
    check_drawn(page, 10)
    assert page.run("return document.querySelectorAll('details.run[open]').length") == 2
    assert page.run("return document.querySelectorAll('tr.sum').length") == 0
    assert page.run("return document.querySelectorAll('[data-align]').length") == 0


def test_clock_or_start(run, tmp_path, page):
    runs = [on_host(run, "node1"), changed(on_host(run, "node2"), later)]
    opened(page, written(runs, tmp_path))
    drawn = "return document.querySelector('#c-cpu canvas').toDataURL()"
    by_clock = page.run(drawn)
    page.run("document.querySelector('[data-align=start]').click()")
    assert waits(page, drawn, lambda now: now != by_clock)
    page.run("document.querySelector('[data-align=clock]').click()")
    assert waits(page, drawn, lambda now: now == by_clock)
    check_clean(page)


def later(document):
    whole, fraction = document["run"]["start"][:-1].split(".")
    number = int(fraction) + 3 * 10**8
    if number < 10**9:
        document["run"]["start"] = f"{whole}.{number:09d}Z"
    else:
        at = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + 1
        document["run"]["start"] = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{number - 10**9:09d}Z"


# ---- all kinds of runs ----------------------------------------------------------------------------


def test_files_of_runs(run, tmp_path, page):
    run.save(tmp_path / "run.json")
    opened(page, written([tmp_path / "run.json"], tmp_path))
    check_drawn(page, 6)
    opened(page, written(str(HERE / "data" / "cpu_metrics.json"), tmp_path))
    check_clean(page)
    assert page.run("return document.querySelectorAll('canvas').length") >= 1
    opened(page, written(HERE / "data" / "merged_run.json", tmp_path))
    check_clean(page)


def test_a_run_without_energy(tmp_path, page):
    with resmon.Monitor(interval=0.02, domains="process") as monitor:
        work(0.2)
    opened(page, written(monitor, tmp_path))
    check_clean(page)
    tiles = page.run("""return [...document.querySelectorAll('.tiles > div')].map(
        t => [...t.children].map(c => c.textContent))""")
    assert ["energy", "-", "energy was not requested"] in tiles
    assert "Power" not in page.run("return document.body.innerText")


def test_a_short_run(tmp_path, page):
    with resmon.Monitor(interval=60) as monitor:
        one = monitor.snapshot()
    assert len(one.times) == 1
    for found in (one, monitor):
        opened(page, written(found, tmp_path))
        check_clean(page)
        check_fits(page)
    assert "One sample only" in written(one, tmp_path).read_text("utf-8")


def test_a_run_that_goes_on(tmp_path, page):
    with resmon.Monitor(interval=0.02) as monitor:
        work(0.2)
        path = written(monitor, tmp_path)
    opened(page, path)
    assert page.run("return document.querySelector('.state').textContent") == "running"
    check_clean(page)


def test_a_run_that_was_killed(tmp_path, page):
    record = tmp_path / "killed.rec"
    program = f"""if 1:
        import resmon, time
        monitor = resmon.Monitor(interval=0.02, record={str(record)!r}).start()
        with resmon.scope("never left"):
            monitor.sample_now()
            print("on", flush=True)
            time.sleep(60)"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    opened(page, written(record, tmp_path))
    assert page.run("return document.querySelector('.state').textContent") == "interrupted"
    assert "never left *" in page.run("return document.body.innerText")
    check_clean(page)


def with_a_disk(document):
    """The same disk, whatever disks this host has."""
    parts = document["columns"], document["series"]["columns"], document["summary"]["columns"]
    names = [column["metric"] for column in document["columns"]]
    for index in reversed([index for index, name in enumerate(names) if name.startswith("node.disk.")]):
        for part in parts:
            del part[index]
    for index, column in enumerate(list(document["columns"])):
        if column["metric"] in ("proc.io.read_bytes", "proc.io.write_bytes"):
            name = column["metric"].replace("proc.io", "node.disk")
            for part, more in zip(parts, ({"metric": name, "level": "node", "source": "node_disk"}, {}, {})):
                part.append({**part[index], **more})


def test_what_is_missing_says_why(run, tmp_path):
    run, lost = changed(run, with_a_disk), ("proc.io", "tree.io")

    def lose(document):
        for index, column in enumerate(document["columns"]):
            if column["metric"].startswith(lost):
                series = document["series"]["columns"][index]
                for key, values in series.items():
                    series[key] = [None] * len(values)
                statistics = document["summary"]["columns"][index]
                statistics.update({key: None for key in statistics if statistics[key] is not None}, n=0)
        for source in document["sources"]:
            if source["name"] == "proc_io":
                source.update(status="RESMON_EACCES", reason="/proc/1/io may not be read")
    text = written(changed(run, lose), tmp_path).read_text("utf-8")
    assert "<small>by the program: not measured: /proc/1/io may not be read</small>" in text
    lost += ("node.disk",)
    text = written(changed(run, lose), tmp_path).read_text("utf-8")
    assert "<p class=empty>Not measured: /proc/1/io may not be read</p>" in text
    assert "<dt>read</dt><dd>-</dd><dd class=small>/proc/1/io may not be read</dd>" in text


# ---- numbers --------------------------------------------------------------------------------------


def lines_of(run):
    return {line.key: line for chart in pages.page_of([run]).runs[0].charts for line in chart.lines}


def test_bands_are_drawn_where_a_row_has_several_samples(long_run, run):
    rss = lines_of(long_run)["proc.mem.rss"]
    assert len(rss.mean) == 400 and all(a <= b <= c for a, b, c in zip(rss.low, rss.mean, rss.high))
    assert lines_of(run)["proc.mem.rss"].low is None


def labels_of(*runs):
    return [run.label for run in pages.page_of(runs, _abi.PAGE_FIGURES).runs]


def test_labels_tell_runs_apart(run):
    assert labels_of(run, run) == ["train.py", "train.py (2)"]
    assert labels_of(on_host(run, "a"), on_host(run, "b")) == ["a", "b"]
    assert labels_of(run, changed(run, lambda document: document["run"].update(name="eval.py"))) == ["train.py", "eval.py"]
    ranks = [changed(run, lambda document, rank=rank: document.update(
        job=dict(document["job"] or {}, id="7", rank=rank))) for rank in (0, 1)]
    assert labels_of(*ranks) == ["train.py, rank 0", "train.py, rank 1"]


def test_nodes_processes_or_runs(run):
    for runs, title in (([on_host(run, "a"), on_host(run, "b")], "train.py on 2 nodes"),
                        ([run, run], "train.py in 2 processes"), ([run, on_host(run, "b", 3600)], "train.py: 2 runs")):
        page = pages.page_of(runs, _abi.PAGE_FIGURES)
        assert page.title == title and page.all.tiles[0][:2] == [title.split()[-1], "2"]


def test_a_summary_knows_its_names(run):
    assert "proc.mem.rss" in run.summary and "no.such" not in run.summary
    assert run.summary.get("no.such") is None and run.summary.get("proc.mem.rss").n > 0


def test_time(long_run, tmp_path):
    needs_live("a report to take less than 0.4 s of CPU time")
    best = math.inf
    for _ in range(5):
        begin = time.process_time()
        written(long_run, tmp_path)
        best = min(best, time.process_time() - begin)
    print(f"400 rows: {best * 1000:.0f} ms")
    assert best < 0.4


def test_size(long_run, tmp_path):
    size = written(long_run, tmp_path).stat().st_size
    print(f"400 rows: {size / 1e3:.0f} kB")
    assert size < 1e6
    nodes = [on_host(long_run, f"node{i}") for i in range(4)] * 16
    begin = time.process_time()
    size = written(nodes, tmp_path).stat().st_size
    print(f"64 nodes: {time.process_time() - begin:.2f} s, {size / 1e6:.1f} MB")
    assert size < 10e6


# ---- PDF ------------------------------------------------------------------------------------------


def streams_of(data):
    for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.S):
        with contextlib.suppress(zlib.error):
            yield zlib.decompressobj().decompress(match[1])  # data that end in "\r" lost it to the pattern


def pages_of(path):
    """What is drawn on each page: the streams that show text."""
    data = path.read_bytes()
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    drawn = [stream for stream in streams_of(data) if b" Tf" in stream]
    assert len(drawn) == len(re.findall(rb"/Type /Page\b", data))
    return drawn


def test_pdf(run, tmp_path):
    pytest.importorskip("matplotlib")
    pages = pages_of(written(run, tmp_path, "report.pdf"))
    assert 3 <= len(pages) <= 6 and all(len(page) > 400 for page in pages)
    several = pages_of(written([on_host(run, f"n{i}") for i in range(3)], tmp_path, "report.pdf"))
    assert len(several) > 3 * 2 and all(len(page) > 400 for page in several)
    two = [timed(run, {run.scopes[0].name: seconds * 1e9}) for seconds in (2, 3)]
    assert written(two, tmp_path, "two.pdf").stat().st_size > 10000


def test_pdf_of_odd_runs(run, tmp_path):
    pytest.importorskip("matplotlib")
    bad = changed(run, hostile)
    with resmon.Monitor(interval=60, domains="process") as monitor:
        one = monitor.snapshot()
    for found in (bad, one, [bad, one], HERE / "data" / "cpu_metrics.json",
                  changed(run, lambda document: document["run"].update(name=r"$\frac{x}$ \alpha_ ^ 漢"))):
        assert all(len(page) > 100 for page in pages_of(written(found, tmp_path, "report.pdf", title="$x$ {")))


def test_pdf_leaves_pyplot_alone(run, tmp_path):
    pytest.importorskip("matplotlib")
    run.save(tmp_path / "run.json")
    program = f"""if 1:
        import sys, matplotlib, resmon
        matplotlib.rcParams["lines.linewidth"] = 7.5
        before = matplotlib.rcParams.copy()
        resmon.report({str(tmp_path / "run.json")!r}, {str(tmp_path / "r.pdf")!r})
        assert matplotlib.rcParams.copy() == before
        assert "matplotlib.pyplot" not in sys.modules"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_pdf_without_matplotlib(run, tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackage, match="pip install matplotlib"):
        resmon.report(run, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


# ---- where it is written --------------------------------------------------------------------------


def test_endings(run, tmp_path):
    for name in ("report", "report.txt", "html"):
        with pytest.raises(ArgumentError, match=r"\.html.*\.pdf"):
            resmon.report(run, tmp_path / name)
    with pytest.raises(ArgumentError):
        resmon.report([], tmp_path / "report.html")
    with pytest.raises(TypeError):
        resmon.report([run, 3], tmp_path / "report.html")
    run.report(tmp_path / "report.md", title="a | title")
    assert (tmp_path / "report.md").read_text("utf-8").startswith("# a \\| title\n")
    run.report(tmp_path / "REPORT.HTML", title="a title")
    assert "<title>a title</title>" in (tmp_path / "REPORT.HTML").read_text("utf-8")


def test_a_report_replaces_another_at_once(run, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    before = os.umask(0o027)
    try:
        written(run, tmp_path)
    finally:
        os.umask(before)
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>") and path.stat().st_mode & 0o777 == 0o640


def test_no_such_directory(run, tmp_path):
    with pytest.raises(NotFoundError, match="nowhere/report.html"):
        resmon.report(run, tmp_path / "nowhere" / "report.html")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFoundError):
        resmon.report(run, tmp_path / "file" / "report.html")


@pytest.mark.parametrize("ending", ["html", "pdf"])
def test_no_permission(run, tmp_path, ending, monkeypatch):
    directory = tmp_path / "closed"
    directory.mkdir(mode=0o500)
    if ending == "pdf":
        pytest.importorskip("matplotlib")
    if os.geteuid() == 0:  # who may write everywhere
        if ending == "html":
            pytest.skip("root may write everywhere")

        def refuse(*_):
            raise PermissionError(errno.EACCES, "Permission denied")
        monkeypatch.setattr(reports.os, "open", refuse)
    with pytest.raises(AccessError, match=f"report.{ending}"):
        resmon.report(run, directory / f"report.{ending}")


def test_what_is_no_file_is_left_alone(run, tmp_path):
    (tmp_path / "target.html").write_text("old")
    (tmp_path / "link.html").symlink_to("target.html")
    os.mkfifo(tmp_path / "fifo.html")
    (tmp_path / "directory.html").mkdir()
    for name in ("link", "fifo", "directory"):
        with pytest.raises(ArgumentError, match="regular"):
            resmon.report(run, tmp_path / f"{name}.html")
    assert (tmp_path / "target.html").read_text() == "old"


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 KiB."""
    point = tmp_path / "small"
    point.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=64k", "none", point], check=False).returncode == 0
    if not made:
        pytest.skip("a small file system cannot be mounted: that takes root")
    yield point
    subprocess.run(["umount", point], check=True)


@pytest.mark.parametrize("ending", ["html", "pdf"])
def test_a_full_disk(run, full_disk, ending):
    if ending == "pdf":
        pytest.importorskip("matplotlib")
        (full_disk / "ballast").write_bytes(bytes(32768))
    path = full_disk / f"report.{ending}"
    path.write_text("old")
    with pytest.raises(NoSpaceError, match=f"report.{ending}"):
        resmon.report(run, path)
    assert path.read_text() == "old" and len(list(full_disk.glob("*.tmp"))) == 0


def test_a_failure_while_writing(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")
    monkeypatch.setattr(reports.os, "replace", fail)
    with pytest.raises(InputOutputError, match="report.pdf"):
        resmon.report(run, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def interrupt(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(reports.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        resmon.report(run, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_policy_knows_the_scripts(run, tmp_path):
    text = written(run, tmp_path).read_text("utf-8")
    assert "default-src 'none'" in text and len(re.findall(r"'sha256-[A-Za-z0-9+/=]{44}'", text)) == 2
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)


def test_a_report_changes_no_run(run, tmp_path):
    before = run.to_json()
    written(run, tmp_path)
    assert run.to_json() == before


def test_numbers_of_charts_are_those_of_the_library(page):
    """The text of the script that makes them, without the rest of it."""
    from resmon import human
    script = (HERE.parents[2] / "lib/reader/view/page.js").read_text(encoding="utf-8")
    script = script[script.index("// ---- numbers for people"):script.index("const TIME_STEPS")]
    values = [0, -0.25, -0.04, -1e-15, 1.5, 48.25, 7, 9999, 99.84, 119.94, 119.96, 3599.6, 7199.6, 90000, 999.96, 3.6e6,
              1023.6]
    values += [sign * figure * 10.0 ** power for sign in (1, -1) for figure in (1, 1.2345, 2.5, 9.994, 9.9994, 9.9996)
               for power in range(-9, 15)]
    values += [figure * 2.0 ** power for figure in (1, 1.5, 1.99996) for power in range(0, 60, 5)]
    metrics = {metric.unit for metric in resmon.metrics()}
    units = sorted(metrics | {unit + "/s" for unit in metrics} | {"", "/s"})
    assert {"B", "s", "J", "W", "%", "1", "Hz"} <= metrics
    cases = [(value, unit) for unit in units for value in values if abs(value) < (2.0 ** 60 if unit[:1] == "B" else 1e9)]
    assert len(cases) > 4000
    wanted = [human.text_of(value, unit) for value, unit in cases]
    shown = page.run(script + "return arguments[0].map(([value, unit]) => valueText(value, unit));", cases)
    wrong = [(case, ours, theirs) for case, ours, theirs in zip(cases, shown, wanted) if ours != theirs]
    assert not wrong, (len(wrong), wrong[:20])
