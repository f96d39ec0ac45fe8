# SPDX-License-Identifier: MIT
"""A run document made here, against the installed JSON Schema."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
hello = build / "examples/hello"
try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)
if not hello.exists():
    print("skipped: the examples are not built")
    sys.exit(77)
schema = json.loads((root / "lib/common/format/resmon-run.schema.json").read_text())
jsonschema.Draft7Validator.check_schema(schema)
# No program here takes stacks for sure, or has checkpoints: a document that was made with some.
stacks = json.loads((root / "tests/fuzz/corpus/document/stacks.json").read_text())
for part in ("profile", "lines"):
    jsonschema.validate(stacks[part], schema["properties"][part])
with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory) / "run.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    environment.update(RESMON=f"json={path},interval=5ms,scopes=wall+cpu+rss+io,name=hello")
    subprocess.run([str(hello)], env=environment, check=True, stdout=subprocess.DEVNULL)
    document = json.loads(path.read_text())
    job = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_NTASKS": "2",
           "SLURMD_NODENAME": "n2", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2"}
    path = pathlib.Path(directory) / "run-4711-n2-1.json"
    environment.update(job, RESMON=f"json={directory}/run-%j-%n-%r.json")
    subprocess.run([str(hello)], env=environment, check=True)
    in_job = json.loads(path.read_text())
jsonschema.validate(document, schema)
jsonschema.validate(in_job, schema)
if document["job"] is not None or in_job["job"] != {
        "system": "slurm", "id": "4711", "step": "0", "key": "slurm:4711.0", "node_name": "n2", "node_index": 1,
        "node_count": 2, "rank": 1, "rank_count": 2, "reports_host": 1, "hosts": "n[1-2]"}:
    print(f"the documents have the jobs {document['job']} and {in_job['job']}")
    sys.exit(1)
# The schema must be able to fail: any foreign or missing member is an error.
for broken in ({**document, "extra": 1}, {k: v for k, v in document.items() if k != "columns"},
               {**document, "version": 2}, {**document, "scopes": [{"name": 3}]}):
    try:
        jsonschema.validate(broken, schema)
    except jsonschema.ValidationError:
        continue
    print("the schema accepts a document that is not one")
    sys.exit(1)
print(f"a document of {len(document['columns'])} columns and {len(document['scopes'])} top scopes is valid")
