# SPDX-License-Identifier: MIT
"""Many runs as tables, and as a Parquet dataset that others read."""
import json
import math
import os
import shutil
import time

import pytest

import resmon

pyarrow = pytest.importorskip("pyarrow", reason="datasets: pyarrow is not installed")


@pytest.fixture
def jobs(monkeypatch, tmp_path):
    """A directory as `resmon run -o` leaves it: a merged job of two ranks beside these, and a run of its own below."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    room = tmp_path / "jobs"
    (room / "alone").mkdir(parents=True)
    monkeypatch.setenv("RESMON_JOB_ID", "4711")
    monkeypatch.setenv("RESMON_RANKS", "2")
    ranks = []
    for rank in range(2):
        monkeypatch.setenv("RESMON_RANK", str(rank))
        monkeypatch.setenv("RESMON_NODE_NAME", f"n{rank}")
        with resmon.Monitor(interval=0.01, name="tr/ain 1") as monitor:
            with resmon.scope("train"), resmon.scope("step"):
                time.sleep(0.02)
        ranks.append(monitor.snapshot())
        ranks[-1].save(room / f"4711.n{rank}.r{rank}.p{rank}.json")
    resmon.merge(*ranks).save(room / "4711.json")
    for name in ("RESMON_JOB_ID", "RESMON_RANKS", "RESMON_RANK", "RESMON_NODE_NAME"):
        monkeypatch.delenv(name)
    with resmon.Monitor(interval=0.01, label={"team": "ä", "lr": 0.1}) as monitor:
        pass
    monitor.snapshot().save(room / "alone/run.json")
    return room


def test_tables(jobs):
    data = resmon.dataset(jobs)
    rows = {row["job_id"]: row for row in data.runs.to_pylist()}
    assert set(rows) == {"4711", None}  # ranks are in their job
    job, merged = rows["4711"], resmon.load(jobs / "4711.json")
    assert (job["nodes"], job["ranks"], job["job_name"], job["state"]) == (2, 2, "tr/ain 1", "stopped")
    assert job["wall_s"] == merged.headline["wall_s"] and job["cpu_s"] == merged.headline["cpu_s"]
    assert job["used_bytes"] == pytest.approx(sum(node.used_bytes for node in merged.nodes))
    assert job["start"].replace(tzinfo=None).isoformat()[:19] == merged.info.start.replace(tzinfo=None).isoformat()[:19]
    assert (rows[None]["ranks"], rows[None]["nodes"]) == (None, 1)
    assert (rows["4711"]["labels"], json.loads(rows[None]["labels"])) == (None, {"team": "ä", "lr": "0.1"})
    scopes = {row["path"]: row for row in data.scopes.to_pylist()}
    assert set(scopes) == {"train", "train/step"} and {row["run_id"] for row in scopes.values()} == {job["run_id"]}
    assert scopes["train/step"]["imbalance"] == pytest.approx(merged.over_ranks["train/step"].imbalance)
    assert scopes["train"]["calls"] == 2 and scopes["train"]["depth"] == 0
    assert [(row["name"], row["ranks"]) for row in data.nodes.to_pylist()] == [("n0", 1), ("n1", 1)]
    for name in ("runs", "scopes", "nodes"):
        for column in data.table(name).itercolumns():
            assert not (str(column.type) == "double" and any(value is not None and math.isnan(value) for value in column.to_pylist()))


def test_saved_and_added_to(jobs, tmp_path):
    stored = tmp_path / "stored"
    data = resmon.dataset(jobs)
    told = []
    assert data.save(stored, told.append) == 2 and told == [2]
    assert resmon.dataset(jobs).save(stored) == 0  # they are there
    shutil.copy(jobs / "4711.json", tmp_path / "another name.json")
    assert resmon.dataset(tmp_path / "another name.json").save(stored) == 0
    with resmon.Monitor(interval=0.01) as monitor:
        pass
    monitor.snapshot().save(jobs / "later.json")
    assert resmon.dataset(jobs, jobs / "later.json").save(stored) == 1
    again = resmon.dataset(stored)
    assert sorted(again.runs["run_id"].to_pylist()) == sorted(resmon.dataset(jobs).runs["run_id"].to_pylist())
    for name in ("runs", "scopes", "nodes"):
        assert again.table(name).schema == data.table(name).schema
        key = "path" if name == "scopes" else "name" if name == "nodes" else "run_id"
        wanted = sorted(resmon.dataset(jobs).table(name).to_pylist(), key=lambda row: row[key])
        assert sorted(again.table(name).to_pylist(), key=lambda row: row[key]) == wanted


def test_what_others_read(jobs, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="datasets: duckdb is not installed")
    polars = pytest.importorskip("polars", reason="datasets: polars is not installed")
    resmon.dataset(jobs).save(tmp_path / "stored")
    files = f"{tmp_path}/stored/runs/**/*.parquet"
    rows = duckdb.sql(f"select job_name, wall_s from read_parquet('{files}', hive_partitioning=true) where job_id = '4711'").fetchall()
    wall_s = resmon.load(jobs / "4711.json").headline["wall_s"]
    assert rows == [("tr/ain 1", wall_s)]
    frame = polars.scan_parquet(files, hive_partitioning=True).filter(polars.col("ranks") == 2).collect()
    assert frame["wall_s"].to_list() == [wall_s]
    joined = duckdb.sql(f"""select r.job_id, s.path from read_parquet('{files}') r
                            join read_parquet('{tmp_path}/stored/scopes/**/*.parquet') s using (run_id) order by all""").fetchall()
    assert joined == [("4711", "train"), ("4711", "train/step")]


def test_which_files_are_parts(jobs, tmp_path):
    """Those that `resmon job` named: of PBS, a job has dots; a run of the user's own, named likewise, is none."""
    room = tmp_path / "names"
    room.mkdir()
    run = (jobs / "alone/run.json").read_text(encoding="utf-8")
    for count, name in enumerate(("12.pbs.json", "12.pbs.n1.r0.p5.json", "12.pbs.n1.monitor.p6.json", "a.json", "a.1.json")):
        own = json.loads(run)
        own["run"]["pid"] = 1000 + count
        (room / name).write_text(json.dumps(own))
    files = resmon.dataset(room).runs["file"].to_pylist()
    assert sorted(os.path.basename(file) for file in files) == ["12.pbs.json", "a.1.json", "a.json"]


def test_a_schema_that_stays():
    """Who has a dataset wants the columns that it has: new ones come behind them."""
    assert [name for name, _ in resmon.datasets.TABLES["runs"]][:8] == ["run_id", "date", "user", "job_name", "file", "start", "state", "end_reason"]
    counts = {name: len(columns) for name, columns in resmon.datasets.TABLES.items()}
    assert counts == {"runs": 44, "scopes": 18, "nodes": 22}


def test_what_is_left_out(jobs, tmp_path):
    (jobs / "broken.json").write_text("{")
    (jobs / "other.json").write_text("[]")
    running = json.loads((jobs / "alone/run.json").read_text(encoding="utf-8"))
    running["run"]["state"], running["run"]["pid"] = "running", os.getpid()
    (jobs / "running.json").write_text(json.dumps(running))
    with pytest.warns(resmon.ResmonWarning) as said:
        assert len(resmon.dataset(jobs).runs) == 2
    assert sorted(str(warning.message).partition(" is left out")[0].split("/")[-1] for warning in said) == ["broken.json", "other.json"]
    with pytest.raises(resmon.NotFoundError, match="nowhere does not exist"):
        resmon.dataset(tmp_path / "nowhere")
    with pytest.raises(resmon.ArgumentError, match="a directory is wanted"):
        resmon.dataset()
    with pytest.raises(resmon.ArgumentError, match="there is no table"):
        resmon.dataset(jobs).table("ranks")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert len(resmon.dataset(empty).runs) == 0 and resmon.dataset(empty).save(tmp_path / "none") == 0
