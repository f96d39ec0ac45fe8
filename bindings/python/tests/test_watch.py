# SPDX-License-Identifier: MIT
"""Watches: what is used between two moments, without a monitor."""
import copy
import gc
import os
import pickle
import threading
import time

import pytest
from conftest import MIB, burn, open_descriptors, touched

import resmon


def unknown(value):
    return value != value


def test_wall_and_cpu():
    with resmon.Watch("cpu") as watch:
        burn(0.05)
    watched = watch.watched
    assert watched.wall_s >= 0.05 and 0.05 <= watched.cpu_s <= watched.wall_s * os.cpu_count() * 1.1
    assert unknown(watched.rss_bytes) and unknown(watched.io_write_bytes) and watched.rss_provenance == "none"


def test_only_what_was_asked_for():
    for meters, known in (("wall", set()), ("cpu", {"cpu_s"}), ("rss", {"rss_bytes", "rss_peak_bytes"}),
                          ("io", {"io_read_bytes", "io_write_bytes", "io_read_chars", "io_write_chars"})):
        values = resmon.Watch(meters).end().to_dict()
        assert values["wall_s"] >= 0
        found = {name for name, value in values.items() if isinstance(value, float) and value == value} - {"wall_s"}
        assert found == known


@pytest.mark.usefixtures("one_cpu")
def test_laps_begin_again():
    watch = resmon.Watch("cpu+rss")
    block = touched(60)
    first = watch.lap()
    del block
    watch.lap()
    begin = time.perf_counter()
    third = watch.lap()
    assert first.rss_peak_bytes > third.rss_peak_bytes + 40 * MIB
    assert third.rss_bytes <= third.rss_peak_bytes
    now, peak = watch.lap_rss()
    assert 0 < now <= peak
    total = watch.end()
    assert total.wall_s <= time.perf_counter() - begin, "it is the last lap's"


@pytest.mark.usefixtures("one_cpu")
def test_peak_is_not_missed():
    with resmon.Watch("rss") as watch:
        touched(64).close()
    assert watch.watched.rss_peak_bytes >= watch.watched.rss_bytes + 50 * MIB


def test_io(tmp_path):
    with resmon.Watch("io") as watch:
        with open(tmp_path / "file", "wb", buffering=0) as file:
            for _ in range(4):
                file.write(bytes(MIB))
        (tmp_path / "file").read_bytes()
    assert watch.watched.io_write_chars == pytest.approx(4 * MIB, rel=0.01)
    assert watch.watched.io_read_chars == pytest.approx(4 * MIB, rel=0.01)


def test_end_twice_and_lap_after_the_end():
    watch = resmon.Watch()
    watch.end()
    for call in (watch.end, watch.lap, watch.lap_rss):
        with pytest.raises(resmon.ArgumentError, match="no watch"):
            call()


def test_ended_inside_its_block():
    with resmon.Watch() as watch:
        watched = watch.end()
    assert watch.watched is watched


def test_an_ended_watch_does_not_end_another():
    old = resmon.Watch()
    old.end()
    new = resmon.Watch()
    with pytest.raises(resmon.ArgumentError):
        old.end()
    del old
    gc.collect()
    assert new.end().wall_s >= 0


@pytest.mark.parametrize("meters, kind", [("", ValueError), ("cpux", ValueError), ([], ValueError), (5, TypeError),
                                          (None, TypeError)])
def test_bad_meters(meters, kind):
    with pytest.raises(kind):
        resmon.Watch(meters)


def test_overlapping_and_across_threads():
    outer = resmon.Watch("cpu")
    inner = resmon.Watch("cpu")
    burn(0.02)
    found = []
    thread = threading.Thread(target=lambda: found.append(outer.end()))
    thread.start()
    thread.join()
    later = inner.end()
    assert found[0].cpu_s >= 0.02 and later.cpu_s >= 0.02


def test_as_many_as_there_are_and_dropping_gives_them_back():
    watches = [resmon.Watch("rss") for _ in range(64)]
    with pytest.raises(resmon.errors.NoSpaceError, match="64"):
        resmon.Watch("rss")
    del watches
    gc.collect()
    resmon.Watch("rss").end()


def test_descriptors_are_given_back():
    resmon.Watch("cpu+rss+io").end()
    before = open_descriptors()
    for _ in range(100):
        resmon.Watch("cpu+rss+io")
    gc.collect()
    assert open_descriptors() == before


def test_an_exception_ends_it():
    with pytest.raises(KeyError):
        with resmon.Watch() as watch:
            raise KeyError
    assert watch.watched.wall_s >= 0


def test_not_copied_not_pickled():
    watch = resmon.Watch()
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="watch"):
            call(watch)
    watch.end()


def test_in_the_child_of_a_fork():
    watch = resmon.Watch("rss")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            watch.lap()
        except resmon.StateError:
            own = resmon.Watch("rss")
            code = 0 if own.end().rss_bytes > 0 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert watch.end().rss_bytes > 0
