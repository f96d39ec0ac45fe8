# SPDX-License-Identifier: MIT
"""Benchmarks and comparisons: repeated calls of a function, groups of runs, and the verdict of a gate."""
from __future__ import annotations

import json
import os
import time
from ctypes import byref, c_void_p

from . import _abi
from . import _generated_records as made
from ._library import lib, take_text, text
from .errors import ArgumentError, FormatError
from .files import written
from .run import Recorded, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Union

    from ._types import Path

    Side = Union["Bench", Path, Recorded, Sequence[Union[Recorded, Path]]]

_LEAST_S = 1e-3  # that a run of calls takes, so that reading clocks weighs nothing


class _Made:
    """What the library makes and prints, in the forms of ``text()``."""

    _free: Any
    _saved_as = "html"
    text: Any

    def __init__(self, make: Callable[..., object], *arguments: object) -> None:
        self._handle = c_void_p()
        make(*arguments, byref(self._handle))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._free(self._handle)

    def save(self, path: Path, form: str | None = None) -> None:
        """Writes it to a file, in a form of :meth:`text`."""
        with written(path) as (file, _):
            file.write(self.text(form or self._saved_as).encode())

    def __str__(self):
        return self.text().rstrip("\n")


class Bench(_Made):
    """A benchmark: named groups of runs, with the values of each run and of its scopes."""

    _free, _saved_as = staticmethod(lib.bench_free), "json"

    def __init__(self) -> None:
        super().__init__(lib.bench_new)

    @classmethod
    def load(cls, path: Path) -> Bench:
        """Reads a file of :meth:`save`, of ``resmon bench -o``, or of hyperfine, and returns a benchmark.

        FormatError: the file is none of these. NotFoundError, AccessError: it cannot be opened.
        """
        bench, handle = cls(), c_void_p()
        lib.bench_load(os.fsencode(path), byref(handle))
        lib.bench_free(bench._handle)
        bench._handle = handle
        return bench

    def add(self, run: Recorded, name: str = "run") -> None:
        """Adds a run (of a stopped monitor, or loaded) to the group with this name."""
        lib.bench_add(self._handle, name.encode(), run._get_run()._as_parameter_)

    def run(self, function: Callable[[], object], n: int = 20, name: str | None = None, calls: int | None = None,
            warmup: int = 1) -> Bench:
        """Measures a function that takes no arguments, and returns this benchmark.

        An exception of the function ends the benchmark and is raised. ArgumentError: n, calls or warmup is below 1.

        :param n: number of runs
        :param name: name of the group; default: the name of the function
        :param calls: calls per run; default: as many as take 1 ms
        :param warmup: calls before the first run, which are not counted
        """
        if n < 1 or warmup < 1 or (calls is not None and calls < 1):
            raise ArgumentError("n, calls and warmup of a benchmark must be at least 1")
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
        name = str(name or getattr(function, "__qualname__", "function"))
        try:
            lib.bench_run(self._handle, name.encode(), _abi.BenchFunction(call), None, byref(options))
        except Exception:
            if raised:
                raise raised[0] from None
            raise
        return self

    @property
    def names(self) -> list[str]:
        """Names of the groups."""
        return [text(lib.bench_name(self._handle, i)) for i in range(lib.bench_count(self._handle))]

    def __len__(self) -> int:
        return lib.bench_count(self._handle)

    @property
    def results(self) -> list[dict[str, Any]]:
        """All results, as in the JSON file: a dict for each group."""
        return json.loads(self.text("json"))["results"]

    def values(self, figure: str = "wall", scope: str = "", name: str | None = None) -> list[float | None]:
        """Returns one value of each run; [] if the group does not have this value.

        :param figure: name of the value, such as "wall", "cpu", "peak"
        :param scope: path of a scope; default: the whole run
        :param name: name of the group; default: the first one
        """
        result = self.results[self._index(name)]
        return next((row["values"] for row in result["figures"] if row["figure"] == figure and row["scope"] == scope), [])

    def _index(self, name):
        names = self.names
        if name is None and names:
            return 0
        if name not in names:
            raise ArgumentError(f"this benchmark has no {name!r}; it has {', '.join(map(repr, names)) or 'no group'}")
        return names.index(name)

    def text(self, form: str = "text") -> str:
        """Returns the benchmark as text.

        :param form: "text" (for people), "html", "json", "bmf" (Bencher), "github" (github-action-benchmark) or "go"
            (benchstat)
        """
        return take_text(lib.bench_text, self._handle, form.encode())

    def __repr__(self):
        return f"<resmon.Bench of {', '.join(self.names) or 'nothing'}>"

    def _repr_pretty_(self, printer, _cycle):
        printer.text(str(self))


def _calls_of(function):
    """Returns how many calls take a millisecond."""
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


def bench(function: Callable[[], object], n: int = 20, name: str | None = None, calls: int | None = None,
          warmup: int = 1) -> Bench:
    """Measures a function repeatedly: wall and CPU time and I/O per call, and the exact peak RSS of the process.

    ::

        result = resmon.bench(lambda: sorted(data), n=20)
        print(result)
        result.save("sort.json")

    Returns a :class:`Bench`. Runs in one process are not independent of each other. For independent runs in separate
    processes, use the command ``resmon bench``. Errors are those of :meth:`Bench.run`.

    :param function: called without arguments
    :param n: number of runs
    :param name: name of the group; default: the name of the function
    :param calls: calls per run; default: as many as take 1 ms
    :param warmup: calls before the first run, which are not counted
    """
    return Bench().run(function, n, name, calls, warmup)


class Row(made.DiffRow):
    """One value of both sides: medians, the shift with its 95 % interval, p, and the verdict of its rule."""

    __slots__ = ()
    _shown = ("path", "figure", "before", "after", "shift", "p", "verdict")


class Diff(_Made):
    """A comparison of two groups of runs; ``verdict`` has the result."""

    _free = staticmethod(lib.diff_free)

    def __init__(self, before: Bench, after: Bench, fail: str | Sequence[str] | None = None,
                 before_name: str | None = None, after_name: str | None = None) -> None:
        self._sides = before, after  # they must live as long
        gate = None if fail is None else "\n".join([fail] if isinstance(fail, str) else fail).encode()
        super().__init__(lib.diff_make, before._handle, before._index(before_name), after._handle, after._index(after_name), gate)

    @property
    def verdict(self) -> str:
        """Verdict of all rules: "worse", "not worse", "cannot tell", or "none" if there is no rule."""
        return _abi.VERDICTS[lib.diff_verdict(self._handle)]

    @property
    def rows(self) -> list[Row]:
        """A :class:`Row` for each value of the run and of each scope."""
        return list(Row.each(lib.diff_count, lib.diff_get, self._handle))

    def text(self, form: str = "text", full: bool = False, width: int = 0) -> str:
        """Returns the comparison as text.

        :param form: "text" (for people), "html", "markdown", "json" or "junit"
        :param full: all values of all scopes, not only those with a rule or a change
        :param width: width of "text" in columns; 0: 100
        """
        return take_text(lib.diff_text, self._handle, form.encode(), width, full)

    def show_runs(self, before: Recorded, after: Recorded) -> None:
        """Selects a run of each side for the charts and difference flame graphs of the "html" form."""
        self._shown = before._get_run(), after._get_run()  # they must live as long
        lib.diff_set_runs(self._handle, *(run._as_parameter_ for run in self._shown))

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


def diff(before: Side, after: Side, fail: str | Sequence[str] | None = None) -> Diff:
    """Compares two sides and returns a :class:`Diff` with a verdict.

    ::

        result = resmon.diff("old.json", "new.json", fail=["wall>5%+10ms", "peak>2%+1MiB"])
        print(result)
        if result.verdict == "worse":
            raise SystemExit(1)

    A side is a :class:`Bench`, a run, a file of either, or a list of runs and files of runs. ArgumentError: a rule is
    wrong. FormatError: a file is neither a benchmark nor a run.

    :param fail: rules, as a text or a list. None: "wall>5%+10ms, cpu>5%+10ms, peak>5%+1MiB". "": no rules
    """
    return Diff(_bench_of(before), _bench_of(after), fail)


class Trend(_Made):
    """Values over a series of benchmarks in the order of time, and where their level changed (E-divisive)."""

    _free = staticmethod(lib.trend_free)

    def __init__(self) -> None:
        self._benches: list[Bench] = []  # they must live as long
        super().__init__(lib.trend_new)

    def add(self, bench: Bench, label: str) -> None:
        """Adds a benchmark under a label, such as a commit."""
        self._benches.append(bench)
        lib.trend_add(self._handle, label.encode(), bench._handle)

    @property
    def series(self) -> list[dict[str, Any]]:
        """A dict for each value of each command on each kind of machine.

        It has the medians and the ``changes``. ``benchmarks`` are indexes of :attr:`labels`.
        """
        return json.loads(self.text("json"))["series"]

    @property
    def labels(self) -> list[str]:
        """Labels of the benchmarks, in the order of time."""
        return [bench["label"] for bench in json.loads(self.text("json"))["benchmarks"]]

    def text(self, form: str = "text", width: int = 0) -> str:
        """Returns the trend as text.

        :param form: "text" (for people), "html" or "json"
        :param width: width of "text" in columns; 0: 100
        """
        return take_text(lib.trend_text, self._handle, form.encode(), width)

    def __len__(self) -> int:
        return len(self._benches)

    def __repr__(self):
        return f"<resmon.Trend of {len(self)} benchmarks>"


def trend(paths: Path | Sequence[Path]) -> Trend:
    """Returns the :class:`Trend` of the benchmarks in a directory (its .json files), or of a list of files.

    The label of a benchmark is its file name without the suffix: "abc" for "abc.json".
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = sorted(entry.path for entry in os.scandir(paths) if entry.name.endswith(".json"))
    made = Trend()
    for path in paths:
        made.add(_bench_of(path), os.path.splitext(os.path.basename(path))[0])
    return made
