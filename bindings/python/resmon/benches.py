# SPDX-License-Identifier: MIT
"""Whether something has become worse: a function again and again, groups of runs, and the verdict of a gate."""
import json
import os
import time
from ctypes import byref, c_void_p

from . import _abi, records
from ._library import lib, take_text, text
from .errors import ArgumentError, FormatError
from .files import written
from .run import Recorded, load

_LEAST_S = 1e-3  # that a run of calls takes, so that reading clocks weighs nothing


class Bench:
    """Groups of runs, each under a name, with the figures of the run and of its scopes."""

    def __init__(self):
        self._handle = c_void_p()
        lib.bench_new(byref(self._handle))

    @classmethod
    def load(cls, path):
        """Reads what :meth:`save` or ``resmon bench -o`` wrote, or hyperfine."""
        bench, handle = cls(), c_void_p()
        lib.bench_load(os.fsencode(path), byref(handle))
        lib.bench_free(bench._handle)
        bench._handle = handle
        return bench

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.bench_free(self._handle)

    def add(self, run, name="run"):
        """Adds a run (of a monitor that has stopped, or loaded) to the group of that name."""
        lib.bench_add(self._handle, name.encode(), run._get_run()._as_parameter_)

    def run(self, function, n=20, name=None, calls=None, warmup=1):
        """Calls a function of no argument again and again: ``n`` runs of as many calls as take a millisecond
        (``calls``), after so many that do not count."""
        if n < 1 or warmup < 1 or (calls is not None and calls < 1):
            raise ArgumentError("n, calls and warmup of a benchmark are 1 at least")
        raised = []
        repeated = range(calls or 1)

        def call(_context):
            try:
                for _ in repeated:
                    function()
            except BaseException as error:  # it goes on above the library  # pylint: disable=broad-except
                raised.append(error)
                return 1
            return 0

        for _ in range(warmup):
            function()
        if calls is None:
            repeated = range(_calls_of(function))
        options = _abi.BenchOptions(runs=n, calls=1, warmup=1, batch=len(repeated))
        name = name or getattr(function, "__qualname__", "function")
        try:
            lib.bench_run(self._handle, name.encode(), _abi.BenchFunction(call), None, byref(options))
        except Exception:
            if raised:
                raise raised[0] from None
            raise
        return self

    @property
    def names(self):
        """Of the groups."""
        return [text(lib.bench_name(self._handle, i)) for i in range(lib.bench_count(self._handle))]

    def __len__(self):
        return lib.bench_count(self._handle)

    @property
    def results(self):
        """All of it, as the document has it: a dict for each group."""
        return json.loads(self.text("json"))["results"]

    def values(self, figure="wall", scope="", name=None):
        """A figure, by run: of the group of that name, or of the first one."""
        result = self.results[self._index(name)]
        return next((row["values"] for row in result["figures"] if row["figure"] == figure and row["scope"] == scope), [])

    def _index(self, name):
        names = self.names
        if name is None and names:
            return 0
        if name not in names:
            raise ArgumentError(f"this benchmark has no {name!r}, but {', '.join(map(repr, names)) or 'nothing'}")
        return names.index(name)

    def text(self, form="text"):
        """For people; or "html", "json", "bmf" (Bencher), "github" (github-action-benchmark), "go" (benchstat)."""
        return take_text(lib.bench_text, self._handle, form.encode())

    def save(self, path, form="json"):
        """Writes it to a file."""
        with written(path) as (file, _):
            file.write(self.text(form).encode())

    def __str__(self):
        return self.text().rstrip("\n")

    def __repr__(self):
        return f"<resmon.Bench of {', '.join(self.names) or 'nothing'}>"

    def _repr_pretty_(self, printer, _cycle):
        printer.text(str(self))


def _calls_of(function):
    """As many as take a millisecond."""
    calls = 1
    while calls < 1 << 30:
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        took = time.perf_counter() - begin
        if took >= _LEAST_S:
            break
        calls *= min(max(int(_LEAST_S / took) + 1 if took > 0 else 100, 2), 100)
    return calls


def bench(function, n=20, name=None, calls=None, warmup=1):
    """What a call of a function costs: its wall and CPU time, I/O, and the exact peak RSS of the process meanwhile.

    ``n`` runs of as many calls as take a millisecond each (``calls`` says how many instead).  Runs in one process hang on
    each other; what counts in the end are processes: ``resmon bench`` in a shell.
    """
    return Bench().run(function, n, name, calls, warmup)


class Row(records.Record):
    """A figure of both sides: medians, the shift with its interval, p, and the verdict of its rule."""

    __slots__ = records._slots(_abi.DiffRow)
    _shown = ("path", "figure", "before", "after", "shift", "p", "verdict")


class Diff:
    """A comparison; ``verdict`` is "worse", "not worse", "cannot tell", or "none" without rules."""

    def __init__(self, before, after, fail=None, before_name=None, after_name=None):
        self._sides = before, after  # they must live as long
        self._handle = c_void_p()
        gate = None if fail is None else "\n".join([fail] if isinstance(fail, str) else fail).encode()
        lib.diff_make(before._handle, before._index(before_name), after._handle, after._index(after_name), gate,
                      byref(self._handle))

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.diff_free(self._handle)

    @property
    def verdict(self):
        """Of all rules together."""
        return _abi.VERDICTS[lib.diff_verdict(self._handle)]

    @property
    def rows(self):
        """Each figure of the run, and of each scope."""
        rows = []
        for i in range(lib.diff_count(self._handle)):
            struct = _abi.DiffRow()
            lib.diff_get(self._handle, i, byref(struct))
            rows.append(Row.of(struct))
        return rows

    def text(self, form="text", full=False, width=0):
        """For people; or "html", "markdown", "json", "junit"."""
        return take_text(lib.diff_text, self._handle, form.encode(), width, full)

    def show_runs(self, before, after):
        """Says a run of each side, of which the page ("html") has charts, and flame graphs of the difference."""
        self._shown = before._get_run(), after._get_run()  # they must live as long
        lib.diff_set_runs(self._handle, *(run._as_parameter_ for run in self._shown))

    def save(self, path, form="html"):
        """Writes it to a file."""
        with written(path) as (file, _):
            file.write(self.text(form).encode())

    def __str__(self):
        return self.text().rstrip("\n")

    def __repr__(self):
        return f"<resmon.Diff: {self.verdict}>"

    def _repr_markdown_(self):
        return self.text("markdown")


def _bench_of(side):
    if isinstance(side, Bench):
        return side
    if isinstance(side, (str, os.PathLike)):
        try:
            return Bench.load(side)
        except FormatError:
            side = load(side)
    made = Bench()
    for run in [side] if isinstance(side, Recorded) else side:
        made.add(load(run) if isinstance(run, (str, os.PathLike)) else run)
    return made


def diff(before, after, fail=None):
    """Compares two sides: benchmarks, runs, files of these, or lists of runs.  ``fail``: rules as "wall>5%+10ms", a text or
    several; None: wall and CPU time by more than 5 % and 10 ms, the peak by more than 5 % and 1 MiB; "": none."""
    return Diff(_bench_of(before), _bench_of(after), fail)


class Trend:
    """How figures went from one benchmark to the next, in the order of time, and where their level changed (E-divisive)."""

    def __init__(self):
        self._benches = []  # they must live as long
        self._handle = c_void_p()
        lib.trend_new(byref(self._handle))

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.trend_free(self._handle)

    def add(self, bench, label):
        """Adds a benchmark under a label, as a commit."""
        self._benches.append(bench)
        lib.trend_add(self._handle, label.encode(), bench._handle)

    @property
    def series(self):
        """A dict for each figure of each command on each kind of machine: medians, and ``changes``; ``benchmarks`` are
        numbers of :attr:`labels`."""
        return json.loads(self.text("json"))["series"]

    @property
    def labels(self):
        """Of the benchmarks, in the order of time."""
        return [bench["label"] for bench in json.loads(self.text("json"))["benchmarks"]]

    def text(self, form="text", width=0):
        """For people; or "html", "json"."""
        return take_text(lib.trend_text, self._handle, form.encode(), width)

    def save(self, path, form="html"):
        """Writes it to a file."""
        with written(path) as (file, _):
            file.write(self.text(form).encode())

    def __len__(self):
        return len(self._benches)

    def __str__(self):
        return self.text().rstrip("\n")

    def __repr__(self):
        return f"<resmon.Trend of {len(self)} benchmarks>"


def trend(paths):
    """The trend of a directory of benchmarks, or of the files in a list; "abc.json" is called "abc"."""
    if isinstance(paths, (str, os.PathLike)):
        paths = sorted(entry.path for entry in os.scandir(paths) if entry.name.endswith(".json"))
    made = Trend()
    for path in paths:
        made.add(_bench_of(path), os.path.splitext(os.path.basename(path))[0])
    return made
