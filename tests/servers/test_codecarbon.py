#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""codecarbon itself and our emissions.csv: each adds lines to the other's file, and pandas reads them.

test_codecarbon.py PROGRAM

codecarbon comes from PyPI into build/codecarbon, once: what tests/locks/codecarbon.in says.  77: it cannot be had here.
"""
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import mlflow_server
from live import needs_live
from locked import Environments


def observe(program, path):
    environment = {**os.environ, "RESMON": f"emissions={path}", "RESMON_COUNTRY": "FR", "RESMON_PUE": "1.25"}
    subprocess.run([program], env=environment, stdout=subprocess.DEVNULL, check=True)


def check(program):
    """With codecarbon and pandas at hand."""
    import pandas
    from codecarbon.output_methods.emissions_data import EmissionsData
    from codecarbon.output_methods.file import FileOutput

    fields = EmissionsData.__dataclass_fields__
    theirs = EmissionsData(**{name: 1.0 if field.type in (float, "float") else "x" for name, field in fields.items()})

    def add_theirs(directory):
        output = FileOutput(output_file_name="emissions.csv", output_dir=str(directory), on_csv_write="append")
        assert not (directory / "emissions.csv").exists() or output.has_valid_headers(theirs)
        output.out(theirs, None)

    with tempfile.TemporaryDirectory(prefix="resmon-codecarbon-") as work:
        ours_first, theirs_first = pathlib.Path(work, "a"), pathlib.Path(work, "b")
        for directory in (ours_first, theirs_first):
            directory.mkdir()
        observe(program, ours_first / "emissions.csv")
        add_theirs(ours_first)
        observe(program, ours_first / "emissions.csv")
        add_theirs(theirs_first)
        observe(program, theirs_first / "emissions.csv")
        for directory, lines in ((ours_first, [1, 0, 1]), (theirs_first, [0, 1])):
            assert sorted(path.name for path in directory.iterdir()) == ["emissions.csv"], list(directory.iterdir())
            table = pandas.read_csv(directory / "emissions.csv")
            assert list(table.columns) == list(theirs.values.keys()), table.columns
            assert list(table.country_iso_code == "FRA") == [line == 1 for line in lines]
            check_ours(table[table.country_iso_code == "FRA"])
    print(f"{importlib.metadata.version('codecarbon')}: each adds to the other's file, {len(theirs.values)} columns")
    return 0


def check_ours(table):
    """What codecarbon's own columns promise of each other."""
    for _, row in table.iterrows():
        parts = [row.cpu_energy, row.ram_energy] + ([row.gpu_energy] if row.gpu_energy == row.gpu_energy else [])
        near(sum(parts), row.energy_consumed)
        near(row.emissions_rate * row.duration, row.emissions)
        near(row.cpu_power * row.duration / 3.6e6 * row.pue, row.cpu_energy)
        near(row.emissions / row.energy_consumed, 44.179085e-3)  # France
        assert row.pue == 1.25 and row.country_name == "France" and row.tracking_mode == "machine"


def near(found, wanted):
    assert abs(found - wanted) <= 1e-6 * abs(wanted), (found, wanted)


def main(program):
    if importlib.util.find_spec("codecarbon"):
        return check(program)
    needs_live("codecarbon", "codecarbon, from PyPI")
    python = Environments(mlflow_server.venv_directory().parent).environment("codecarbon", sys.executable, "codecarbon")
    return subprocess.run([python, __file__, program], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
