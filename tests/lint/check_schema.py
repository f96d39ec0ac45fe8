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
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)
if not hello.exists():
    print("skipped: the examples are not built")
    sys.exit(77)
schema = json.loads((root / "lib/sink/resmon-run.schema.json").read_text())
jsonschema.Draft7Validator.check_schema(schema)
with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory) / "run.json"
    environment = dict(os.environ, RESMON=f"json={path},interval=5ms,scopes=wall+cpu+rss+io,name=hello")
    result = subprocess.run([str(hello)], env=environment, capture_output=True, text=True, check=True)
    if "built without JSON" in result.stderr:
        print("skipped: built without JSON")
        sys.exit(77)
    document = json.loads(path.read_text())
jsonschema.validate(document, schema)
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
