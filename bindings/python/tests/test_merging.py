# SPDX-License-Identifier: MIT
"""The runs of a job's nodes and ranks as one."""
import math
import time

import pytest

import resmon


@pytest.fixture
def ranks(monkeypatch, tmp_path):
    """Four runs of a job on two nodes, of which the last takes twice as long in its scope."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("RESMON_JOB_ID", "4711")
    monkeypatch.setenv("RESMON_RANKS", "4")
    runs = []
    for rank in range(4):
        monkeypatch.setenv("RESMON_RANK", str(rank))
        monkeypatch.setenv("RESMON_LOCAL_RANK", str(rank % 2))
        monkeypatch.setenv("RESMON_NODE_NAME", f"n{rank // 2}")
        with resmon.Monitor(interval=0.01) as monitor:
            with resmon.scope("train"):
                time.sleep(0.02)
            if rank == 3:
                with resmon.scope("train"):
                    time.sleep(0.03)
        runs.append(monitor.snapshot())
    return runs


def test_runs(ranks):
    merged = resmon.merge(*ranks)
    assert [node.name for node in merged.nodes] == ["n0", "n1"]
    assert [(rank.rank, merged.nodes[rank.node].name) for rank in merged.ranks] == [(0, "n0"), (1, "n0"), (2, "n1"), (3, "n1")]
    spread = merged.over_ranks["train"]
    walls = [run.scopes["train"].wall_s for run in ranks]
    assert spread.walls_s == pytest.approx(walls)
    assert (spread.ranks, spread.max_rank) == (4, 3)
    assert spread.imbalance == pytest.approx(max(walls) / (sum(walls) / 4) - 1)
    assert spread.lost_s == pytest.approx(4 * max(walls) - sum(walls))
    assert merged.scopes["train"].calls == 5
    assert merged.summary["proc.cpu.time"].last == pytest.approx(sum(run.summary["proc.cpu.time"].last for run in ranks))
    # In any order, and by parts.
    again = resmon.merge(resmon.merge(ranks[3], ranks[0]), ranks[2], ranks[1])
    assert again.ranks == merged.ranks and again.nodes == merged.nodes
    assert "rank 3 on n1" in merged.summary.text()


def test_files_and_a_directory(ranks, tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    for rank, run in enumerate(ranks):
        run.save(job / f"{rank}.json")
    merged = resmon.merge(job)
    assert len(merged.ranks) == 4
    merged.save(job / "all.json")
    assert len(resmon.merge(str(job)).ranks) == 4  # what was made of them before is no part of it
    loaded = resmon.load(job / "all.json")
    assert loaded.ranks == merged.ranks and loaded.over_ranks["train"] == merged.over_ranks["train"]
    (job / "cut.json").write_text("{")
    with pytest.warns(resmon.ResmonWarning, match="cut.json is left out"):
        resmon.merge(job)


def test_what_does_not_belong(ranks, monkeypatch):
    monkeypatch.setenv("RESMON_JOB_ID", "12")
    with resmon.Monitor() as monitor:
        pass
    with pytest.warns(resmon.ResmonWarning, match="another job: id 12, where the others have 4711"):
        assert len(resmon.merge(ranks[0], monitor).ranks) == 1
    with pytest.warns(resmon.ResmonWarning, match="is already in the merge"):
        assert len(resmon.merge(ranks[0], ranks[0]).ranks) == 1
    with pytest.raises(resmon.NotFoundError):
        resmon.merge()


def test_other_runs_have_none(ranks):
    run = ranks[0]
    assert run.nodes == [] and run.ranks == [] and run.over_ranks == {}
    assert math.isnan(resmon.merge(run).nodes[0].gpus) or resmon.merge(run).nodes[0].gpus > 0
