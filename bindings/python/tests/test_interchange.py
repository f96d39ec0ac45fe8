# SPDX-License-Identifier: MIT
"""The table of a run in pandas, pyarrow, polars and duckdb, and in files of every format, read back."""
import gc
import importlib
import json
import math
import pickle

import pytest
from conftest import MIB, same

import resmon
from resmon import frames

NAMES = ("proc.cpu.time", "proc.mem.rss", "tree.io.write_chars", "node.cpu.percent")


def package(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def plain(values):
    """Values of which unknown ones are equal."""
    return [None if value is None or value != value else value for value in values]


def assert_columns(found, run, series="value", tolerance=0.0, names=NAMES):
    """`found` gives the values of a column by its name."""
    for name in names:
        values, expected = list(found(name)), list(run.series(name, series))
        values = [math.nan if value is None else value for value in values]
        assert len(values) == len(expected) > 1, name
        assert all(same(*pair, tolerance) for pair in zip(values, expected)), name
        assert any(value == value and value for value in expected), "there is something to compare"


# ---- pandas -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("series", ["value", "last", "min", "max", "mean"])
def test_pandas(run, series):
    package("pandas")
    frame = run.to_pandas(series)
    assert_columns(lambda name: frame[name], run, series)
    assert frame.index.name == "elapsed" and list(frame.index) == run.times
    assert list(frame.columns) == ["time", *(column.name for column in run.columns)]
    assert frame["time"].iloc[0].timestamp() == pytest.approx(run.info.start.timestamp() + run.times[0], abs=2e-6)
    rate = series in ("min", "max", "mean")
    assert frame.attrs["units"]["proc.cpu.time"] == ("s/s" if rate else "s")
    assert frame.attrs["units"]["proc.mem.rss"] == "B"


def test_pandas_of_some_columns(run):
    package("pandas")
    frame = run.to_pandas(columns=["proc.mem.rss", "node.cpu.percent"])
    assert list(frame.columns) == ["time", "proc.mem.rss", "node.cpu.percent"]
    with pytest.raises(resmon.NotFoundError, match="no.such"):
        run.to_pandas(columns=["no.such"])
    with pytest.raises(ValueError, match="average"):
        run.to_pandas("average")


def test_pandas_of_records(run):
    package("pandas")
    for records in (run.scopes, run.tags, run.sources, run.events, run.summary):
        frame = records.to_pandas()
        assert len(frame) == len(records) > 0
    assert list(run.scopes.to_pandas()["path"]) == [scope.path for scope in run.scopes]
    assert run.summary.to_pandas().loc["proc.mem.rss", "max"] == run.summary["proc.mem.rss"].max
    assert len(resmon.run.Tags([]).to_pandas()) == 0


def test_a_frame_is_its_own(run):
    """A frame may be written to: it is a copy."""
    package("pandas")
    frame = run.to_pandas()
    before = plain(run.series("proc.mem.rss"))
    frame["proc.mem.rss"] = 0.0
    frame.iloc[:, 3] = -1.0
    assert plain(run.series("proc.mem.rss")) == before


# ---- Arrow ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("series", ["value", "last", "min", "max", "mean"])
def test_arrow(run, series):
    package("pyarrow")
    table = run.to_arrow(series)
    assert_columns(lambda name: table[name].to_pylist(), run, series)
    assert table.column_names == ["time", "elapsed", "samples", *(column.name for column in run.columns)]
    assert sum(table["samples"].to_pylist()) == run.info.samples
    assert [value / 1e9 for value in table["elapsed"].cast("int64").to_pylist()] == pytest.approx(run.times)
    with pytest.raises(ValueError, match="average"):
        run.to_arrow("average")


def test_arrow_without_a_copy(run):
    pyarrow, numpy = package("pyarrow"), package("numpy")
    table = pyarrow.table(run)
    for name in NAMES:
        chunk, = table[name].chunks
        values = chunk.buffers()[1]
        mine = numpy.frombuffer(run.series(name), dtype="float64").__array_interface__["data"][0]
        assert values.address + chunk.offset * 8 == mine, name


def test_arrow_outlives_the_run():
    pyarrow = package("pyarrow")
    with resmon.Monitor(3600) as monitor:
        monitor.sample_now()
    table, expected = pyarrow.table(monitor), list(monitor.series("proc.mem.rss"))
    del monitor
    gc.collect()
    made = [bytearray(MIB) for _ in range(4)]  # memory that was freed would be used again
    assert table["proc.mem.rss"].to_pylist() == expected and made
    sliced = table.slice(1, 1)
    del table
    gc.collect()
    assert sliced["proc.mem.rss"].to_pylist() == expected[1:2]


def test_a_monitor_that_runs_is_a_table_of_now(monitor):
    pyarrow = package("pyarrow")
    monitor.sample_now()
    first = pyarrow.table(monitor)
    monitor.sample_now()
    assert (first.num_rows, pyarrow.table(monitor).num_rows) == (2, 3)


def test_polars(run):
    polars = package("polars")
    try:
        frame = polars.DataFrame(run)
    except TypeError:
        pytest.skip("this polars does not know the PyCapsule interface")
    assert_columns(lambda name: frame[name].to_list(), run)


def test_duckdb(run):
    duckdb = package("duckdb")
    package("pyarrow")
    connection = duckdb.connect()
    connection.register("recorded", run.to_arrow())
    assert_columns(lambda name: [row[0] for row in connection.execute(f'SELECT "{name}" FROM recorded').fetchall()], run)


def test_duckdb_takes_a_run(run):
    duckdb = package("duckdb")
    connection = duckdb.connect()
    recorded = run  # pylint: disable=unused-variable  # duckdb finds it by its name
    try:
        rows = connection.execute('SELECT "proc.mem.rss" FROM recorded').fetchall()
    except duckdb.Error as error:
        pytest.skip(f"this duckdb does not know the PyCapsule interface: {error}")
    assert plain(row[0] for row in rows) == plain(run.series("proc.mem.rss"))


def test_capsules_that_nobody_takes(run):
    for _ in range(100):
        capsule = run.__arrow_c_stream__()
    assert type(capsule).__name__ == "PyCapsule"
    del capsule
    gc.collect()
    with pytest.raises(ValueError):
        frames.stream_capsule(run, "average")


def test_a_capsule_that_outlives_the_interpreter(script):
    script("""
        import builtins, sys, resmon
        with resmon.Monitor(3600) as monitor:
            pass
        builtins.capsule = monitor.__arrow_c_stream__()
        sys.capsule = monitor.snapshot().__arrow_c_stream__()
    """)


# ---- files ------------------------------------------------------------------------------------------


@pytest.fixture
def exported(run, tmp_path):
    """Exports a run under a name; its path."""
    package("pandas")

    def export(name, **options):
        run.export(tmp_path / name, **options)
        assert [path.name for path in tmp_path.iterdir()] == [name], "nothing is left over"
        return tmp_path / name
    return export


@pytest.mark.parametrize("name", ["run.parquet", "run.pq", "run.feather", "run.arrow", "run.orc"])
def test_arrow_files(run, exported, name):
    package("pyarrow")
    ending = name.rpartition(".")[2]
    from pyarrow import feather, orc, parquet
    read = {"parquet": parquet.read_table, "pq": parquet.read_table, "feather": feather.read_table,
            "arrow": feather.read_table, "orc": orc.read_table}[ending]
    table = read(str(exported(name)))
    assert_columns(lambda column: table[column].to_pylist(), run)


def test_hdf5(run, exported):
    package("tables")
    pandas = package("pandas")
    path = exported("run.h5")
    frame = pandas.read_hdf(path, "run")
    assert_columns(lambda name: frame[name], run)
    with pandas.HDFStore(path, mode="r") as store:
        assert json.loads(store.get_storer("run").attrs.units)["proc.mem.rss"] == "B"


def test_pickle(run, exported):
    pandas = package("pandas")
    frame = pickle.loads(exported("run.pkl").read_bytes())
    pandas.testing.assert_frame_equal(frame, run.to_pandas())


@pytest.mark.parametrize("shape", ["perfmon", "reseng", "perf_reports"])
def test_shapes_of_older_tools(run, tmp_path, shape):
    pytest.importorskip("resmon.formats", reason="resmon.formats is not there")
    run.export(tmp_path / "old.json", format=shape)
    assert json.loads((tmp_path / "old.json").read_text())
    assert resmon.load(tmp_path / "old.json").info.duration_s == pytest.approx(run.info.duration_s, abs=2)


def test_series_and_format_by_name(run, exported):
    frame = pickle.loads(exported("table", format="pickle", series="max").read_bytes())
    assert_columns(lambda name: frame[name], run, "max")


def test_exports_that_cannot_be(run, tmp_path):
    package("pandas")
    (tmp_path / "kept.pkl").mkdir()
    for path, options, kind in (("run.xyz", {}, resmon.ArgumentError), ("run.csv", {"format": "xyz"}, resmon.ArgumentError),
                                ("no/run.pkl", {}, resmon.NotFoundError), ("kept.pkl", {}, resmon.Error),
                                ("run.csv", {"series": "average"}, ValueError), ("run.pkl", {"series": "average"}, ValueError)):
        with pytest.raises(kind):
            run.export(tmp_path / path, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.pkl"], "nothing is left over"


def test_missing_packages_are_named(run, tmp_path, monkeypatch):
    real = importlib.import_module

    def without(name, *arguments):
        if name.partition(".")[0] in ("pandas", "pyarrow", "tables"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments)
    missing = resmon.MissingPackage
    for call, name in ((run.to_pandas, "pandas"), (run.to_arrow, "pyarrow"), (run.tags.to_pandas, "pandas"),
                       (lambda: run.export(tmp_path / "x.pkl"), "pandas"),
                       (lambda: run.export(tmp_path / "x.parquet"), "pyarrow"),
                       (lambda: run.export(tmp_path / "x.h5"), "tables")):
        with monkeypatch.context() as patch:
            patch.setattr(importlib, "import_module", without)
            with pytest.raises(missing, match=f"needs {name}, which is not installed: pip install {name}"):
                call()
    assert issubclass(resmon.MissingPackage, ImportError) and list(tmp_path.iterdir()) == []
