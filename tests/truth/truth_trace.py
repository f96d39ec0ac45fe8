# SPDX-License-Identifier: MIT
"""Traces as their readers see them: what the trace event format and its viewers ask for, and the same
scopes as in the run document, to the nanosecond.  Arguments: made_traces, a directory to work in."""
import collections
import decimal
import json
import pathlib
import subprocess
import sys
import tempfile

failures = 0


def check(condition, *what):
    global failures
    if not condition and (failures := failures + 1) < 20:
        print("wrong:", *what)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def ns(us):
    """Microseconds with three places, as the text has them."""
    value = decimal.Decimal(us) * 1000
    check(value == value.to_integral_value(), "more than three places:", us)
    return int(value)


def load(path):
    text = path.read_text(encoding="utf-8", errors="strict")
    check("".join(text[:40].split()).startswith('{"'), "Perfetto does not know it by", text[:10])
    check(not any(ord(c) < 32 and c != "\n" for c in text), "a raw control character")
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=refuse)


def check_event(event):
    check(isinstance(event.get("name"), str), "a name that is no string:", event)
    check(event.get("ph") in ("M", "X", "i", "C"), "phase:", event)
    check(all(isinstance(event.get(k), int) and event[k] > 0 for k in ("pid", "tid")), "ids:", event)
    check(event.get("ts", -1) >= 0, "time:", event)
    kind = event.get("ph")
    if kind == "X":
        check(event["dur"] >= 0, "duration:", event)
    elif kind == "i":
        check(event["s"] == "p" and event["name"] != "", "instant:", event)
    elif kind == "C":
        check(event["args"] and all(isinstance(v, (int, decimal.Decimal)) for v in event["args"].values()),
              "counter:", event)
        check(len(event["args"]) == 1, "chrome://tracing stacks several series:", event)


def check_order(events):
    phases = [event["ph"] for event in events]
    check("M" not in phases[phases.index("X"):], "metadata after slices")
    latest = collections.defaultdict(int)
    for event in events:
        if event["ph"] == "C":
            place = (event["pid"], event["name"], *event["args"])
            check(latest[place] <= event["ts"], "counter goes back:", event)
            latest[place] = event["ts"]


def check_nesting(events):
    """Slices of a thread lie one in another or apart."""
    stacks = collections.defaultdict(list)
    for event in (e for e in events if e["ph"] == "X"):
        start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        stack = stacks[event["pid"], event["tid"]]
        check(not stack or stack[-1][0] <= start, "not sorted:", event)
        while stack and stack[-1][1] <= start and stack[-1] != (start, end):
            stack.pop()
        check(not stack or end <= stack[-1][1], "sticks out:", event, stack[-1:])
        stack.append((start, end))


def check_names(events, processes):
    metadata = [e for e in events if e["ph"] == "M"]
    named = {(e["pid"], e["tid"]) for e in metadata if e["name"] == "thread_name"}
    pids = [e["pid"] for e in metadata if e["name"] == "process_name"]
    check(len(pids) == processes == len(set(pids)), "processes:", pids)
    check({(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= named, "threads without a name")
    check({e["pid"] for e in events} == set(pids), "events of unknown processes")


def check_against(document, events):
    told = document["events"]
    expected = [(told["names"][name], told["threads"][thread]["id"], start, duration, bool(open))
                for name, thread, start, duration, open in
                zip(told["name"], told["thread"], told["start_ns"], told["duration_ns"], told["open"])]
    found = [(e["name"], e["tid"], ns(e["ts"]), ns(e["dur"]), e.get("args", {}).get("open") == 1)
             for e in events if e["ph"] == "X"]
    check(found == expected, len(found), "slices, not the", len(expected), "of the document")
    check(sum(open for *_, open in found) >= 4, "open scopes are missing")
    check(len({tid for _, tid, *_ in found}) == 4, "threads are missing")
    tags = [(e["name"], ns(e["ts"])) for e in events if e["ph"] == "i"]
    check(tags == [(t["label"] or "tag", t["t_ns"]) for t in document["tags"]], "tags:", tags)
    peak = max(e["args"]["MiB"] for e in events if e["ph"] == "C" and e["name"] == "memory rss")
    columns = [c["metric"] for c in document["columns"]]
    series = document["series"]["columns"][columns.index("proc.mem.rss")]["max"]
    wanted = max(value for value in series if value is not None) / 1048576
    check(abs(float(peak) - wanted) < 0.001, "highest rss:", peak, wanted)


def main():
    maker, directory = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory(dir=directory) as place:
        subprocess.run([maker, place], check=True)
        place = pathlib.Path(place)
        for name, processes in (("single.json", 1), ("several.json", 2)):
            trace = load(place / name)
            events = trace["traceEvents"]
            for event in events:
                check_event(event)
            check_order(events)
            check_nesting(events)
            check_names(events, processes)
            check(trace["otherData"]["start_realtime_ns"].isdigit(), trace["otherData"])
            print(name, dict(collections.Counter(e["ph"] for e in events)))
        check_against(json.loads((place / "single-run.json").read_text()), load(place / "single.json")["traceEvents"])
    return 1 if failures else 0


sys.exit(main())
