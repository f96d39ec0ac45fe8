# SPDX-License-Identifier: MIT
"""IPython magics: ``%resmon``, ``%%resmon`` and ``%resmon_bench``.

``%load_ext resmon`` loads them. ``%%resmon`` measures a cell, ``%resmon on`` measures every cell, ``%resmon_bench``
repeats a statement.
"""
from __future__ import annotations

import math
import time

from . import html, human
from ._library import lib
from .benches import bench
from .carbon import cost
from .cells import current_number, name_cells
from .errors import ArgumentError, BusyError, Error, NotFoundError
from .frames import wanted
from .monitor import Monitor
from .options import current_place, set_place
from .records import Record
from .results import _Table, nearest
from .run import Run
from .watch import Watch

_NAN = float("nan")


class Cell(Record):
    """Resource use of a cell."""

    __slots__ = ("number", "source", "wall_s", "cpu_s", "rss_peak_bytes", "rss_is_exact", "read_bytes", "write_bytes",
                 "energy_j", "gco2eq", "error")
    _shown = ("number", "wall_s", "cpu_s", "rss_peak_bytes", "energy_j")


class Cells(_Table[Cell]):
    """The table of all measured cells; the newest 10000 are kept."""

    LIMIT = 10000

    def __init__(self):
        self.clear()

    def add(self, cell):
        """Adds a cell."""
        self._items = (*self._items[-self.LIMIT + 1:], cell)
        self._count += 1

    @property
    def dropped(self):
        """Number of cells that were dropped."""
        return self._count - len(self._items)

    def clear(self):
        """Deletes all cells."""
        self._items, self._count = (), 0

    def to_pandas(self):
        """Returns a DataFrame with a row for each cell."""
        frame = super().to_pandas()
        return frame.set_index("number") if len(frame.columns) else frame

    def table(self):
        rows = [[f"[{cell.number}]", cell.source.strip().split("\n")[0][:40], *_texts(cell), cell.error]
                for cell in self._items]
        return ["cell", "source", "wall", "CPU", "peak RSS", "read", "written", "energy", "CO2eq", "error"], rows, 2

    def _repr_html_(self):
        if not self._items:
            return html.wrap("no cells were accounted for yet: <code>%resmon on</code>")
        return super()._repr_html_()


def _texts(cell):
    peak = human.bytes_text(cell.rss_peak_bytes)
    return [human.seconds_text(cell.wall_s), human.seconds_text(cell.cpu_s),
            peak if cell.rss_is_exact or peak == human.UNKNOWN else "~" + peak, human.bytes_text(cell.read_bytes),
            human.bytes_text(cell.write_bytes), human.text_of(cell.energy_j, "J"), human.text_of(cell.gco2eq, "g")]


def _line(cell):
    labels = ("wall", "CPU", "peak RSS", "read", "written", "", "CO2eq")
    shown = [f"{label} {text}".strip() for label, text in zip(labels, _texts(cell)) if text != human.UNKNOWN]
    return "resmon: " + ", ".join(shown)


class _Account:
    """Measures each cell: time, CPU and peak with a watch; children, I/O and energy with a monitor.

    The monitor runs all the time and takes a sample at both ends of a cell.
    """

    def __init__(self):
        self._monitor = Monitor(interval=1.0, domains="process+tree+cpu+energy", scopes=False, name="notebook",
                                events=0, carbon=current_place(in_notebook=True))
        self._monitor.start()
        self._watch = None
        self._before = None
        self._children_s = self._children_before_s = 0.0

    def _totals(self):
        self._monitor.sample_now()
        run = Run._own(self._monitor._take(lib.monitor_summary))
        energy, headline, summary = run.energy, run.headline, run.summary
        self._children_s = summary["tree.cpu.time"].last - summary["proc.cpu.time"].last
        return {"read_bytes": headline["read_bytes"], "write_bytes": headline["write_bytes"],
                "energy_j": energy.tree_j if energy else _NAN}

    def begin(self):
        """Begins a cell."""
        self._before = self._totals()
        self._children_before_s = self._children_s
        self._watch = Watch("rss+cpu")
        self._began = time.perf_counter()

    def end(self, number, source, error):
        """Ends a cell and returns it; None if its beginning was not measured."""
        if self._watch is None:
            return None
        wall_s = time.perf_counter() - self._began
        watched, self._watch = self._watch.end(), None
        after = self._totals()
        cell = Cell()
        cell.number, cell.source, cell.wall_s, cell.error = number, source, wall_s, error
        # The CPU time of the process is that of the watch, as the samples at both ends use CPU time, too.  Differences
        # below 1 ms are no CPU time of children, but of the time between two readings.
        children_s = self._children_s - self._children_before_s
        cell.cpu_s = watched.cpu_s + (children_s if children_s > 0.001 else 0.0)
        cell.rss_peak_bytes, cell.rss_is_exact = watched.rss_peak_bytes, watched.rss_provenance == "measured"
        for name, value in after.items():
            difference = value - self._before[name]
            setattr(cell, name, max(difference, 0.0) if math.isfinite(difference) else _NAN)
        # By the current place, which may have been set after %resmon on.
        known = math.isfinite(cell.energy_j)
        cell.gco2eq = cost(cell.energy_j, current_place(in_notebook=True)).gco2eq if known else _NAN
        return cell

    def close(self):
        """Stops the monitor."""
        self._monitor.stop()


class Magics:
    """``%resmon`` and ``%%resmon``."""

    def __init__(self, shell):
        self._shell = shell
        self._account = None
        self.cells = Cells()

    # ---- %resmon --------------------------------------------------------------------------------

    def line(self, line):
        """%resmon on [PLACE] | off | table | last | clear

        PLACE is the location of the machine for emissions from now on: "FR", or gCO2eq per kWh.
        """
        words = {"on": self._on, "off": self._off, "table": lambda: self.cells, "": lambda: self.cells,
                 "last": lambda: self.cells[-1] if len(self.cells) else None, "clear": self.cells.clear}
        word, *more = line.split() or [""]
        if word not in words or len(more) > (word == "on"):
            raise ArgumentError(f"%resmon {line.strip()}: expected one of {', '.join(filter(None, words))}"
                                f"{nearest(word, words, '')}")
        return words[word](*more)

    def _on(self, place=None):
        if place is not None:
            set_place(float(place) if place.replace(".", "", 1).isdigit() else place)
        if self._account is None:
            self._account = _Account()
            self._shell.events.register("pre_run_cell", self._before_cell)
            self._shell.events.register("post_run_cell", self._after_cell)

    def _off(self):
        if self._account is not None:
            self._shell.events.unregister("pre_run_cell", self._before_cell)
            self._shell.events.unregister("post_run_cell", self._after_cell)
            self._account.close()
            self._account = None

    def _before_cell(self, *_):
        try:
            self._account.begin()
        except Error as failure:
            print(f"resmon: this cell is not accounted for: {failure}")

    def _after_cell(self, result, *_):
        account = self._account
        if account is None:
            return
        error = result.error_in_exec or result.error_before_exec
        cell = account.end(result.execution_count or self._shell.execution_count, result.info.raw_cell or "",
                           type(error).__name__ if error is not None else "")
        if cell is not None:
            self.cells.add(cell)
            print(_line(cell))

    # ---- %resmon_bench --------------------------------------------------------------------------

    def bench(self, line):
        """%resmon_bench [-n RUNS] STATEMENT: repeats the statement, shows its resource use per call, and returns the
        Bench.

        RUNS: default 20.
        """
        words = line.split(None, 2)
        runs = 20
        if words and words[0] == "-n":
            if len(words) < 3 or not words[1].isdigit():
                raise ArgumentError("%resmon_bench -n RUNS STATEMENT: expected a number and a statement")
            runs, line = int(words[1]), words[2]
        if not line.strip():
            raise ArgumentError("%resmon_bench [-n RUNS] STATEMENT: expected a statement")
        code = self._shell.compile(self._shell.transform_cell(line), "<resmon_bench>", "exec")

        def statement():
            exec(code, self._shell.user_ns)  # pylint: disable=exec-used
        return bench(statement, runs, name=line.strip())

    # ---- %%resmon -------------------------------------------------------------------------------

    def cell(self, line, source):
        """%%resmon [-i SECONDS] [-s METRICS] [-k KINDS] [-o NAME] [-q] [-p]: runs the cell under a monitor.

        -i: time between samples (0.05 s); -s: per-scope metrics (wall+pcpu+cpu+rss); -k: the cell's lines, and those of
        the functions that it calls, by sampled stacks (cpu+memory); -o: variable for the monitor (_resmon); -q: no
        output; -p: shows the plot. A cell with a top-level await cannot be run.
        """
        options = _parsed(line)
        common = {"interval": options["i"], "name": "cell", "carbon": current_place(in_notebook=True),
                  **({"stacks": options["k"]} if options["k"] else {})}
        try:
            monitor = Monitor(scopes=options["s"], **common)
            monitor.start()
        except BusyError:
            monitor = Monitor(scopes=False, **common).start()
        try:
            with monitor:
                value = self._run(source)
        finally:
            self._shell.user_ns[options["o"]] = monitor
            if not options["q"]:
                wanted("IPython.display", "%%resmon", "ipython").display(monitor)
        if options["p"]:
            monitor.plot()
        if options["k"] and not options["q"]:
            print(_lines_text(monitor))
        return value

    def _run(self, source):
        """Runs a cell as IPython does; returns the value of its last expression."""
        import ast
        shell = self._shell
        text = shell.transform_cell(source)
        tree = shell.transform_ast(shell.compile.ast_parse(text))
        name = shell.compile.cache(text, current_number())
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(shell.compile(tree, name, "exec"), shell.user_ns)  # pylint: disable=exec-used
        if last is None:
            return None
        value = eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)  # pylint: disable=eval-used
        return None if source.rstrip().endswith(";") else value


def _lines_text(monitor):
    """Tables of the lines that use time and memory, or why there are none."""
    try:
        return monitor.lines()
    except NotFoundError as error:
        return f"resmon: no lines: {error}"


_USAGE = "options: -i SECONDS, -s METRICS, -k KINDS, -o NAME, -q and -p"


def _parsed(line):
    import getopt
    import shlex
    options = {"i": 0.05, "s": "wall+pcpu+cpu+rss", "k": "", "o": "_resmon", "q": False, "p": False}
    try:
        given, rest = getopt.getopt(shlex.split(line), "i:s:k:o:qp")
    except getopt.GetoptError as error:
        raise ArgumentError(f"%%resmon: {error}; {_USAGE}") from None
    if rest:
        raise ArgumentError(f"%%resmon: {rest[0]!r} is not an option; {_USAGE}")
    for flag, value in given:
        options[flag[1]] = True if flag in ("-q", "-p") else float(value) if flag == "-i" else value
    return options


_loaded: dict[object, Magics] = {}


def load_ipython_extension(shell):
    """%load_ext resmon"""
    if shell in _loaded:
        return
    magics = _loaded[shell] = Magics(shell)
    shell.register_magic_function(magics.line, "line", "resmon")
    shell.register_magic_function(magics.cell, "cell", "resmon")
    shell.register_magic_function(magics.bench, "line", "resmon_bench")
    name_cells()


def unload_ipython_extension(shell):
    """%unload_ext resmon"""
    magics = _loaded.pop(shell, None)
    if magics is None:
        return
    magics._off()
    for kind, name in (("line", "resmon"), ("cell", "resmon"), ("line", "resmon_bench")):
        shell.magics_manager.magics[kind].pop(name, None)
