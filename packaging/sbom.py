# SPDX-License-Identifier: MIT
"""Writes what a file that packaging/build makes consists of, in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).

sbom.py FILE NAME VERSION SECONDS COMPONENT...    SECONDS: when it was made; COMPONENT: "NAME VERSION LICENSE URL"
"""
import json
import pathlib
import sys
import time


def package(name, version, license_id, url):
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": url,
            "filesAnalyzed": False, "licenseConcluded": license_id, "licenseDeclared": license_id,
            "copyrightText": "NOASSERTION"}


def main():
    file, name, version, seconds, *components = sys.argv[1:]
    packages = [package(*component.split(" ")) for component in components]
    made = package("resmon", version, "MIT", "NOASSERTION")
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:resmon:{version}:{name}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds))),
                         "creators": ["Tool: packaging/build"]},
        "packages": [made, *packages],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": made["SPDXID"]},
            *({"spdxElementId": made["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": one["SPDXID"]}
              for one in packages)],
    }
    pathlib.Path(file).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
