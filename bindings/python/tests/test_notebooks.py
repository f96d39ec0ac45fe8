# SPDX-License-Identifier: MIT
"""The notebooks of examples/, run by a real Jupyter kernel; what they show is looked at."""
import base64
import io
import os
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks: nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="notebooks: nbformat is not installed")
pytest.importorskip("ipykernel", reason="notebooks: ipykernel is not installed")
pytest.importorskip("matplotlib", reason="notebooks: matplotlib is not installed")
pytest.importorskip("pandas", reason="notebooks: pandas is not installed")

HERE = pathlib.Path(os.environ.get("RESMON_NOTEBOOKS", pathlib.Path(__file__).parents[3] / "examples/notebooks"))


@pytest.fixture(autouse=True)
def this_kernel(tmp_path, monkeypatch):
    """A kernel of this interpreter, wherever others are registered."""
    import json
    import sys
    directory = tmp_path / "kernels/resmon-test"
    directory.mkdir(parents=True)
    (directory / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "resmon test",
        "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))


def executed(notebook, tmp_path):
    client = nbclient.NotebookClient(notebook, timeout=180, kernel_name="resmon-test",
                                     resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def read(name):
    path = HERE / name
    if not path.exists():
        pytest.skip(f"notebooks: {path} is not there (tests of an installed package)")
    return nbformat.read(path, as_version=4)


def images(outputs):
    return [base64.b64decode(output["data"]["image/png"]) for output in outputs if "image/png" in output.get("data", {})]


def is_drawn(png):
    """Whether there is more than one colour in every quarter of the picture."""
    from matplotlib import image
    pixels = image.imread(io.BytesIO(png))
    rows, columns = pixels.shape[0] // 2, pixels.shape[1] // 2
    quarters = (pixels[:rows, :columns], pixels[rows:, :columns], pixels[:rows, columns:], pixels[rows:, columns:])
    return all(quarter.reshape(-1, quarter.shape[-1]).std(axis=0).max() > 0.01 for quarter in quarters)


def html_of(outputs):
    return "".join(output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {}))


def test_training_loop(tmp_path):
    outputs = executed(read("training_loop.ipynb"), tmp_path)
    figures = images(outputs)
    assert len(figures) == 1 and is_drawn(figures[0])
    shown = html_of(outputs)
    assert "epoch" in shown and "checkpoint" in shown and "peak RSS" in shown and "<svg" in shown
    texts = "".join(output.get("text", "") for output in outputs)
    assert "epoch/step           4 calls" in texts and "report.html" in texts


def test_cells_and_lines(tmp_path):
    outputs = executed(read("cells_and_lines.ipynb"), tmp_path)
    figures = images(outputs)
    assert len(figures) == 1 and is_drawn(figures[0])
    texts = "".join(output.get("text", "") for output in outputs)
    assert texts.count("resmon: wall") >= 5, texts
    assert "row_sums finished in" in texts and "(exact)" in texts or "(sampled)" in texts
    shown = html_of(outputs)
    assert "cells.append(row[column])" in shown and "passing = len(bytearray(96" in shown


def test_cluster_month(tmp_path):
    for package in ("duckdb", "pyarrow"):
        pytest.importorskip(package, reason=f"notebooks: {package} is not installed")
    outputs = executed(read("cluster_month.ipynb"), tmp_path)
    texts = "".join(output.get("text", "") for output in outputs)
    assert texts.splitlines() == ["40 runs are new", "0 runs are new", "40 runs, 80 scopes"]
    waste, joules = (output["data"]["text/plain"] for output in outputs if "wasted" in str(output) or "joules" in str(output))
    assert "ann" in waste and "1024.0" in waste and "convert" in joules
    [figure] = images(outputs)
    assert is_drawn(figure)


def test_live_is_renewed_while_the_cell_runs(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(
        "import resmon, time\nm = resmon.Monitor(interval=0.02)\nm.live(0.1)\nend = time.perf_counter() + 1.5\n"
        "while time.perf_counter() < end: sum(range(1000))\nm.stop()\ntime.sleep(0.3)")])
    renewed = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, cell, cell_index):
            if message["msg_type"] == "update_display_data":
                renewed.append(message["content"]["data"]["text/html"])
            return super().process_message(message, cell, cell_index)

    Client(notebook, timeout=60, kernel_name="resmon-test").execute()
    assert len(renewed) >= 3 and len(set(renewed)) >= 3
    assert "running" in renewed[0] and "stopped" in renewed[-1]
