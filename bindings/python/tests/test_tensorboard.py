# SPDX-License-Identifier: MIT
"""Event files, read by TensorBoard itself."""
import pytest
from conftest import burn

import resmon

accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator",
                                   reason="tensorboard: tensorboard is not installed")


def read(directory):
    accumulator = accumulators.EventAccumulator(str(directory), size_guidance={"scalars": 0})
    accumulator.Reload()
    return accumulator


def values(accumulator, tag):
    return [event.value for event in accumulator.Scalars(tag)]


def test_all_samples_of_a_short_run(tmp_path):
    with resmon.Monitor(3600, tensorboard=tmp_path / "logs" / "run 1") as monitor:
        with resmon.scope("train"), resmon.scope("a/b"):
            burn(0.01)
        monitor.sample_now()
    found = read(tmp_path / "logs" / "run 1")
    for metric, tag in (("proc.mem.rss", "proc/mem.rss (B)"), ("proc.cpu.time", "proc/cpu.time (s)"), ("proc.threads", "proc/threads")):
        assert values(found, tag) == pytest.approx(list(monitor.series(metric)), rel=1e-6)
    scope, = found.Scalars("scope/wall train (s)")
    assert scope.value == pytest.approx(monitor.scopes["train"].wall_s, rel=1e-6)
    assert any(tag.startswith(r"scope/wall train/a\/b") for tag in found.Tags()["scalars"])
    rows = found.Scalars("proc/mem.rss (B)")
    assert len(rows) == 3 and [row.step for row in rows] == sorted(row.step for row in rows)
    start = monitor.info.start_realtime_ns * 1e-9
    assert [row.wall_time - start for row in rows] == pytest.approx([row.step * 1e-3 for row in rows], abs=2e-3)


def test_points_while_it_runs(tmp_path):
    """All samples of the start, and fewer later on."""
    with resmon.Monitor(0.001, tensorboard={"path": tmp_path, "interval": 0.03}) as monitor:
        burn(0.3)
        assert values(read(tmp_path), "proc/cpu.time (s)")
        burn(1)
    events = read(tmp_path).Scalars("proc/cpu.time (s)")
    steps, points = [event.step for event in events], [event.value for event in events]
    assert 10 < len(points) <= 260 + 256 * 3 and points == sorted(points) and steps == sorted(steps)
    assert all(later - earlier >= later // 256 for earlier, later in zip(steps, steps[1:]))
    assert points[-1] <= monitor.summary["proc.cpu.time"].last * (1 + 1e-6)


def test_two_monitors_in_one_directory(tmp_path):
    for _ in range(2):
        with resmon.Monitor(3600, tensorboard=tmp_path):
            with resmon.Monitor(3600, tensorboard=tmp_path):
                pass
    assert len(list(tmp_path.iterdir())) == 4
    assert values(read(tmp_path), "proc/threads")


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(resmon.Error, match="file"):
        resmon.Monitor(3600, tensorboard=tmp_path / "file" / "logs")
