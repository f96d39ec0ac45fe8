#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of this directory anew from the packages that publish their figures.

update.py [--check]

The packages come from PyPI, in the versions named below; nothing of them is run.  Rows of other sources
(sources.csv says which) have no package: they are edited here by hand, and kept.  --check writes nothing
and ends with 1 when a file would change.

To take newer figures: raise a version, run this, read the difference, and say so in CHANGELOG.md.
"""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PACKAGES = {"codecarbon": "3.3.0", "carbontracker": "2.4.3", "eco2ai": "0.3.12"}
HERE = pathlib.Path(__file__).resolve().parent
GRAMS_PER_POUND = 453.59237
# Combustion only, as codecarbon computes the regions of Canada (g/kWh); all else counts as 0.
CANADIAN_FUELS = {"coal": 995.725971, "petroleum": 816.6885263, "naturalGas": 743.8415916}
CANADIAN_CODES = {"alberta": "AB", "british columbia": "BC", "manitoba": "MB", "new brunswick": "NB",
                  "newfoundland and labrador": "NL", "northwest territories": "NT", "nova scotia": "NS",
                  "nunavut": "NU", "ontario": "ON", "prince edward island": "PE", "quebec": "QC",
                  "saskatchewan": "SK", "yukon": "YT"}
AUSTRALIAN_NAMES = {"australian capital territory": "ACT", "new south wales": "NSW", "northern territory": "NT",
                    "queensland": "QLD", "south australia": "SA", "tasmania": "TAS", "victoria": "VIC",
                    "western australia": "WA"}
AUSTRALIAN_CODES = {code.lower() for code in AUSTRALIAN_NAMES.values()}
NORDIC_COUNTRIES = {"SE": "SWE", "NO": "NOR", "FI": "FIN"}
# codecarbon's 0 for this country counts as missing there: what it uses is 26, of hydroelectricity.
CODECARBON_ZERO = {"CAF": "26"}
IS_BY_HAND = {"google-2024", "ccf-aws", "ccf-azure", "ccf", "kepler", "iea-2019", "iea-2025"}


def fetch(directory):
    """{package: its files, as a ZipFile}"""
    for name, version in PACKAGES.items():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--dest", directory, f"{name}=={version}"], check=True)
    return {name: zipfile.ZipFile(next(pathlib.Path(directory).glob(f"{name}-*.whl"))) for name in PACKAGES}


def rows_of(package, path):
    return list(csv.DictReader(io.StringIO(package.read(path).decode("utf-8-sig"))))


def json_of(package, path):
    return json.loads(package.read(path))


def kept(name, has_source):
    """The rows of the file as it is that are kept by hand."""
    path = HERE / name
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row[has_source] in IS_BY_HAND]


def number(value):
    """At most 6 decimals, none that say nothing."""
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


def countries(packages):
    """Both sets beside each other: the newest figures, and those that codecarbon has."""
    table = {}
    for row in rows_of(packages["carbontracker"], "carbontracker/data/carbon-intensities.csv"):
        if len(row["Code"]) == 3 and len(row["alpha-2"]) == 2:
            table[row["Code"]] = {"iso3": row["Code"], "iso2": row["alpha-2"], "name": row["Entity"],
                                  "g_per_kwh": number(row["Carbon intensity of electricity (gCO2eq/kWh)"]),
                                  "year": row["Year"], "source": "owid"}
    iso2 = {row["alpha_3_code"]: row["alpha_2_code"] or "NA"  # Namibia
            for row in rows_of(packages["eco2ai"], "eco2ai/data/carbon_index.csv")}
    for code, mix in json_of(packages["codecarbon"], "codecarbon/data/private_infra/global_energy_mix.json").items():
        figure = CODECARBON_ZERO.get(code) or number(mix["carbon_intensity"])
        if len(code) != 3 or float(figure) <= 0:
            continue
        row = table.setdefault(code, {"iso3": code, "iso2": iso2.get(code, ""), "name": mix["country_name"],
                                      "g_per_kwh": figure, "year": mix["year"], "source": "codecarbon"})
        row |= {"codecarbon_g_per_kwh": figure, "codecarbon_year": mix["year"]}
    table |= {row["iso3"]: row for row in kept("country.csv", "source")}
    return sorted(table.values(), key=lambda row: row["iso3"])


def regions(packages):
    table = []
    codecarbon = packages["codecarbon"]
    for name, state in json_of(codecarbon, "codecarbon/data/private_infra/2016/usa_emissions.json").items():
        if isinstance(state, dict) and len(state.get("regionCode", "")) == 2 and name != "usa":
            table.append({"iso3": "USA", "code": state["regionCode"], "name": name, "year": "2016",
                          "g_per_kwh": number(state["emissions"] * GRAMS_PER_POUND / 1000), "source": "egrid-2016"})
    mixes = json_of(codecarbon, "codecarbon/data/private_infra/2023/canada_energy_mix.json")
    for name, code in CANADIAN_CODES.items():
        grams = sum(mixes[name][fuel] / mixes[name]["total"] * factor for fuel, factor in CANADIAN_FUELS.items())
        table.append({"iso3": "CAN", "code": code, "name": name, "year": "2023", "g_per_kwh": number(grams),
                      "source": "cer-2023"})
    zones = json_of(codecarbon, "codecarbon/data/private_infra/nordic_emissions.json")["data"]
    for code, zone in zones.items():
        table.append({"iso3": NORDIC_COUNTRIES[code[:2]], "code": code, "name": zone["description"],
                      "year": zone["year"], "g_per_kwh": number(zone["emission_factor"]), "source": "nordic"})
    have = {row["iso3"] for row in table}
    for row in rows_of(packages["eco2ai"], "eco2ai/data/carbon_index.csv"):
        country, name = row["alpha_3_code"], row["region"].strip().lower().replace("\u2019", "'")
        if name == "whole country" or country in have or len(country) != 3:
            continue
        is_code = country == "AUS" and name in AUSTRALIAN_CODES
        table.append({"iso3": country, "code": name.upper() if is_code else AUSTRALIAN_NAMES.get(name, ""),
                      "name": name, "year": "", "g_per_kwh": number(row["Emission intensity, kg/MWh"]),
                      "source": "eco2ai"})
    by_place = {(row["iso3"], row["code"] or row["name"]): row for row in table}
    return sorted(by_place.values(), key=lambda row: (row["iso3"], row["code"], row["name"]))


def clouds(packages):
    mine = {(row["provider"], row["region"]): dict(row, codecarbon_g_per_kwh="", codecarbon_year="")
            for row in kept("cloud.csv", "source")}
    for row in rows_of(packages["codecarbon"], "codecarbon/data/cloud/impact.csv"):
        place = (row["provider"], row["region"])
        if place in mine:  # its "me-cenrtal1" is nowhere, and finds nothing there either
            mine[place] |= {"codecarbon_g_per_kwh": number(row["impact"]), "codecarbon_year": "2023"}
    return [mine[place] for place in sorted(mine)]


def words_of(name):
    """What makes a model: its words in any order, without the maker."""
    return frozenset(re.sub("[^a-z0-9]", " ", name.lower()).split()) - {"amd", "intel"}


def name_of(text):
    """Without remarks, footnotes and what is not ASCII."""
    text = re.sub(r"[^ -~]", "", re.sub(r"\[[0-9]*\]", "", text.replace("\u00a0", " ")))
    return " ".join(re.sub(r" (\([0-9]+M Cache|and Near Silent).*", "", text).split())


def cpus(packages):
    """One row a model, codecarbon's first."""
    table, models = {}, set()
    for row in rows_of(packages["codecarbon"], "codecarbon/data/hardware/cpu_power.csv"):
        name = name_of(row["Name"])
        watts = row["TDP"] if row["TDP"].count(".") < 2 else row["TDP"].split(".")[1]  # "27.29.5": a range
        table.setdefault(name.lower(), {"name": name, "watts": number(watts), "source": "codecarbon"})
        models.add(words_of(name))
    for row in rows_of(packages["eco2ai"], "eco2ai/data/cpu_names.csv"):
        name = name_of(row["Model"])
        is_figure = re.fullmatch("[0-9.]+", row["TDP"]) and float(row["TDP"]) > 0
        if words_of(name) in models or not is_figure or not re.search("[0-9]", name):  # "Intel Xeon" is none
            continue
        table.setdefault(name.lower(), {"name": name, "watts": number(row["TDP"]), "source": "eco2ai"})
        models.add(words_of(name))
    return [table[name] for name in sorted(table)]


FILES = {
    "country.csv": (countries, "iso3,iso2,name,g_per_kwh,year,codecarbon_g_per_kwh,codecarbon_year,source"),
    "region.csv": (regions, "iso3,code,name,g_per_kwh,year,source"),
    "cloud.csv": (clouds, "provider,region,iso3,g_per_kwh,year,codecarbon_g_per_kwh,codecarbon_year,pue,wue,source"),
    "cpu_tdp.csv": (cpus, "name,watts,source"),
}


def text_of(rows, columns):
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns.split(","), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def main():
    parser = argparse.ArgumentParser(description="Makes the tables of this directory anew.")
    parser.add_argument("--check", action="store_true", help="write nothing, end with 1 when a file would change")
    options = parser.parse_args()
    changed = 0
    with tempfile.TemporaryDirectory() as directory:
        packages = fetch(directory)
        for name, (make, columns) in FILES.items():
            text = text_of(make(packages), columns)
            old = (HERE / name).read_text(encoding="utf-8") if (HERE / name).exists() else ""
            print(f"{name}: {text.count(chr(10)) - 1} rows{'' if text == old else ', changed'}")
            changed += text != old
            if not options.check:
                (HERE / name).write_text(text, encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
