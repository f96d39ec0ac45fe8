#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures of benches from one commit to the next: adds rows to a history, and says what has changed.

history.py FIGURES HISTORY COMMIT: FIGURES is what benches wrote where RESMON_BENCH_FIGURES says; HISTORY is a CSV that is
made if it is not there.  A figure is compared with the one before of the same processors, of which there are as many.
"""
import csv
import datetime
import os
import sys

from lines import host

COLUMNS = ("date", "commit", "processor", "cpus", "kernel", "bench", "figure", "value", "unit")
SHOWN_SHARE = 0.15  # noise of two runs on one machine that does nothing else is below that in nearly all


def key(row):
    return tuple(row[name] for name in ("processor", "cpus", "bench", "figure", "unit"))


def read_history(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and tuple(rows[0]) != COLUMNS:
        sys.exit(f"{path} has other columns than {', '.join(COLUMNS)}: move it away, and a new one is made")
    return rows


def read_figures(path, commit):
    processor, cpus, kernel = host()
    always = (datetime.date.today().isoformat(), commit, processor, str(cpus), kernel)
    with open(path, encoding="utf-8", newline="") as file:
        return [dict(zip(COLUMNS, (*always, *row))) for row in csv.reader(file)]


def append(path, rows):
    is_new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def has_changed(before, after):
    old, new = float(before["value"]), float(after["value"])
    return abs(new - old) > SHOWN_SHARE * abs(old)


def main():
    figures, history, commit = sys.argv[1:]
    last = {key(row): row for row in read_history(history)}
    rows = read_figures(figures, commit)
    append(history, rows)
    known = [(last[key(row)], row) for row in rows if key(row) in last]
    changes = [pair for pair in known if has_changed(*pair)]
    print(f"{len(rows)} figures are in {history}; {len(known)} were known of these processors, of which "
          f"{len(changes)} {'has' if len(changes) == 1 else 'have'} changed by more than {SHOWN_SHARE:.0%}")
    for before, after in changes:
        print(f"  {after['bench']}: {after['figure']}: {before['value']} ({before['commit']}, {before['date']}) -> "
              f"{after['value']} {after['unit']}")


main()
