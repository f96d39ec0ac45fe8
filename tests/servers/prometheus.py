# SPDX-License-Identifier: MIT
"""promtool, Prometheus's storage, a Pushgateway and a node_exporter read what the library writes."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

from server import free_port, need, request, server

writer = sys.argv[1]
promtool = need("promtool", "prometheus")
pushgateway = need("prometheus-pushgateway", "prometheus-pushgateway")
node_exporter = need("prometheus-node-exporter", "prometheus-node-exporter")
prometheus = need("prometheus", "prometheus")
curl = need("curl", "curl")

UNITS = {"B": ("bytes", "bytes", 1), "s": ("seconds", "seconds", 1), "%": ("ratio", "percent", 100),
         "1": ("", None, 1), "J": ("joules", "joules", 1), "W": ("watts", "watts", 1),
         "Hz": ("hertz", "hertz", 1), "C": ("celsius", "celsius", 1), "g": ("grams", "grams", 1)}
DASHBOARD = os.path.join(os.path.dirname(__file__), "../../examples/site/grafana.json")
JOB = f"test-{os.getpid()}"  # of which no other test has a process here


def series_name(column):
    """The rule of <resmon/prometheus.h>, once more."""
    word, spoken, divisor = UNITS[column["unit"]]
    words = [w for w in re.split(r"[._]", column["metric"]) if w not in (spoken, word)]
    name = "_".join(["resmon"] + words + ([word] if word else []))
    return name + ("_total" if column["kind"] == "counter" else ""), divisor


def instance_label(column):
    return "mountpoint" if column["metric"].startswith("node.fs.") else "device"


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, timeout=100, **more).stdout


def read_texts(directory):
    with open(f"{directory}/real.json", encoding="utf-8") as file:
        document = json.load(file)
    texts = {}
    for name in ("hostile", "real", "full"):
        with open(f"{directory}/{name}.prom", encoding="utf-8") as file:
            texts[name] = file.read()
    return document, texts


def check_linter(texts):
    for name, text in texts.items():
        result = subprocess.run([promtool, "check", "metrics"], input=text, text=True, timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert result.returncode == 0 and result.stdout == "", (name, result.stdout)
        print(f"promtool check metrics: nothing to say of {len(text.splitlines())} lines of {name}.prom")


def check_pushgateway(directory, texts):
    base = f"http://127.0.0.1:{free_port()}"
    command = [pushgateway, f"--web.listen-address={base[7:]}",
               f"--persistence.file={directory}/pushgateway.data"]
    groups = [
        {"job": "resmon", "node": "n1", "job_id": "4711"},
        {"job": "a b%2F+&?#;é", "node": "x y", "path": "/var/tmp", "none": ""},
        {"job": "..", "dot": ".", "slash": "/", "lines": "a\n# HELP b\n\"\\"},
    ]
    with server(command, f"{base}/-/healthy", f"{directory}/pushgateway.log"):
        for group in groups:
            labels = [x for name, value in group.items() if name != "job" for x in (name, value)]
            url = run(writer, "url", base, group["job"], *labels).strip()
            body = "hostile" if group is groups[-1] else "real"
            code = run(curl, "-sS", "-o", f"{directory}/answer", "-w", "%{http_code}", "-X", "PUT",
                       "--data-binary", f"@{directory}/{body}.prom",
                       "-H", "Content-Type: text/plain; version=0.0.4", url)
            with open(f"{directory}/answer", encoding="utf-8") as answer:
                assert code == "200", (url, code, answer.read())
        _, text = request(f"{base}/api/v1/metrics")
        found = [group["labels"] for group in json.loads(text)["data"]]
        for group in groups:
            wanted = {name: value for name, value in group.items() if value or name != "none"}
            assert any(wanted.items() <= labels.items() for labels in found), (wanted, found)
        assert len(found) == len(groups), found
    print(f"Pushgateway: {len(groups)} groups, each under its labels")


def query(base, promql):
    _, text = request(f"{base}/api/v1/query?query={urllib.parse.quote(promql)}")
    return [(series["metric"], float(series["value"][1])) for series in json.loads(text)["data"]["result"]]


def check_push(directory):
    """From the sink through a Pushgateway into a Prometheus that scrapes it, number by number."""
    gateway, base = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    config = f"{directory}/prometheus.yml"
    with open(config, "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: gateway\n  honor_labels: true\n"
                   f"  static_configs: [{{targets: ['{gateway[7:]}']}}]\n")
    with server([pushgateway, f"--web.listen-address={gateway[7:]}",
                 f"--persistence.file={directory}/gateway.data"], f"{gateway}/-/healthy",
                f"{directory}/gateway.log"):
        environment = {**os.environ, "NO_PROXY": "*", "RESMON_JOB_ID": JOB, "RESMON_RANK": "0",
                       "RESMON_NODE_NAME": "n001", "RESMON_LOCAL_RANK": "0"}
        run(writer, "push", gateway + "/", directory, env=environment)
        with open(f"{directory}/pushed.json", encoding="utf-8") as file:
            document = json.load(file)
        _, text = request(f"{gateway}/api/v1/metrics")
        groups = json.loads(text)["data"]
        assert len(groups) == 1 and {"job": "resmon", "node": "n001", "job_id": JOB, "rank": "0",
                                     "place": 'a/b "c"'}.items() <= groups[0]["labels"].items(), groups[0]["labels"]
        command = [prometheus, f"--config.file={config}", f"--web.listen-address={base[7:]}",
                   f"--storage.tsdb.path={directory}/prometheus-data"]
        with server(command, f"{base}/-/ready", f"{directory}/prometheus.log"):
            wait_for(lambda: query(base, "resmon_build_info"))
            checked = 0
            for column, summary in zip(document["columns"], document["summary"]["columns"]):
                name, divisor = series_name(column)
                if summary.get("last") is None:
                    continue
                matcher = f'{{{instance_label(column)}="{column["instance"]}"}}' if column["instance"] else ""
                found = query(base, name + matcher)
                assert len(found) == 1 and found[0][1] == summary["last"] / divisor, (name, found, summary)
                checked += 1
            assert checked > 50
            wall = query(base, 'resmon_scope_wall_seconds_total{scope="work"}')
            scope = next(scope for scope in document["scopes"] if scope["name"] == "work")
            assert math.isclose(wall[0][1], scope["wall_ns"] / 1e9, rel_tol=1e-12), (wall, scope)
    print(f"push: {checked} figures in a Prometheus that scraped the Pushgateway, equal to the document's")


def check_dashboard(directory, texts):
    """Each query of the dashboard for Grafana finds something in a Prometheus that has every metric there is."""
    own = re.search(r"{(.*)}", texts["full"])[1]  # hostile labels, whose line ends no regular expression matches
    lines = texts["full"].replace(own, 'node="n1",pid="1"').splitlines()
    lines += [line for line in texts["real"].splitlines() if line.startswith("resmon_scope_")]
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    base, begin = f"http://127.0.0.1:{free_port()}", (int(time.time()) - 4 * 3600) // 60 * 60
    with open(f"{directory}/full.om", "w", encoding="utf-8") as file:
        for line in lines:
            if not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                growth = 1 if "_total{" in line else 0
                file.writelines(f"{series} {float(value) + growth * t:.17g} {begin + t}\n" for t in range(0, 601, 15))
        file.write("# EOF\n")
    run(promtool, "tsdb", "create-blocks-from", "openmetrics", f"{directory}/full.om", f"{directory}/full-data")
    command = [prometheus, f"--config.file={directory}/none.yml", f"--web.listen-address={base[7:]}",
               f"--storage.tsdb.path={directory}/full-data", "--storage.tsdb.retention.time=30d"]
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    with server(command, f"{base}/-/ready", f"{directory}/full.log"):
        for words in queries:
            words = re.sub(r"\$__rate_interval", "1m", re.sub(r"\$(node|pid)", ".*", words))
            for promql in words, re.sub(r" (== 0|> 0)", "", words):  # what is rare may be absent
                _, answer = request(f"{base}/api/v1/query?time={begin + 300}&query={urllib.parse.quote(promql)}")
                answer = json.loads(answer)
                assert answer["status"] == "success", (promql, answer)
            assert answer["data"]["result"], promql
    assert len(queries) > 20 and len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    print(f"dashboard: each of {len(queries)} queries of {len(dashboard['panels'])} panels finds something")


POD = {"namespace": "jupyter\"hub", "pod": "a\\b-0"}  # names that a query must not break at


def later_kepler():
    """Three pods as Kepler has them since 0.10: the first has a GPU, whose series know its id only."""
    for i in range(3):
        own = f'pod_id="{i}",pod_name="train-{i}",pod_namespace="batch",state="running"'
        for zone, watts in (("package", 20.0), ("core", 12.0), ("dram", 3.0)):
            yield "kepler_pod_cpu_joules", "counter", f'{own},zone="{zone}"', "_total", lambda t, watts=watts: watts * t
    for pod, watts in (("0", 100.0), ("7", 1000.0), ("", 10000.0)):
        own = f'container_id="c{pod}",pod_id="{pod}",state="running"'
        yield "kepler_container_gpu_joules", "counter", own, "_total", lambda t, watts=watts: watts * t


def pod_series(begin):
    """An hour of a pod, every 15 s: 0.5 cores, 1.75 for ten minutes, with 45 W of which 44 are the package's."""
    quote = lambda text: text.replace("\\", "\\\\").replace('"', '\\"')
    labels = f'namespace="{quote(POD["namespace"])}",pod="{quote(POD["pod"])}"'
    kepler = f'container_namespace="{quote(POD["namespace"])}",pod_name="{quote(POD["pod"])}"'
    exported = labels.replace("namespace=", "exported_namespace=").replace("pod=", "exported_pod=")
    times = range(0, 3601, 15)
    cpu = lambda t: 0.5 * t + 1.25 * min(max(t - 1200, 0), 600)
    families = [
        ("container_cpu_usage_seconds", "counter", labels + ',container="work"', "_total", cpu),
        ("container_cpu_usage_seconds", "counter", labels + ',container=""', "_total", lambda t: 100 * t),
        ("container_memory_working_set_bytes", "gauge", labels + ',container="work"', "",
         lambda t: 1 << 30 if 600 <= t < 660 else 1 << 20),
        # Two GPUs as the DCGM exporter has them by default, and one of another pod.
        *(("DCGM_FI_DEV_GPU_UTIL", "gauge", f'gpu="{gpu}",{of},namespace="monitoring",pod="dcgm-1"', "", value)
          for gpu, of, value in ((0, exported, lambda t: 80 if 900 <= t < 960 else 20), (1, exported, lambda t: 30),
                                 (2, 'exported_namespace="batch",exported_pod="train-0"', lambda t: 99))),
        ("DCGM_FI_DEV_FB_USED", "gauge", f'gpu="0",{exported},namespace="monitoring",pod="dcgm-1"', "", lambda t: 100 + t),
        ("kepler_container_joules", "counter", kepler, "_total", lambda t: 45.0 * t),
        ("kepler_container_package_joules", "counter", kepler, "_total", lambda t: 44.0 * t),
        *later_kepler(),
        ("kube_pod_labels", "gauge", labels + ',label_app_name="jupyter"', "", lambda t: 1),
        *(("kube_pod_labels", "gauge", f'namespace="batch",pod="train-{i}",label_job_name="{job}"', "", lambda t: 1)
          for i, job in enumerate(("train", "train", "other"))),
    ]
    lines, before = [], None
    for name, kind, own, suffix, value in families:
        lines += [f"# TYPE {name} {kind}"] if name != before else []
        lines += [f"{name}{suffix}{{{own}}} {value(t):.17g} {begin + t}" for t in times]
        before = name
    return "\n".join(lines + ["# EOF", ""])


def check_watts(energy, watts):
    """Each component over 2400 s, and none that the series do not have."""
    for name, joules in zip(("total", "core", "uncore", "package", "dram", "other", "gpu"), energy):
        assert math.isclose(joules, 2400 * watts[name], rel_tol=1e-9) if name in watts else math.isnan(joules), (name, energy)
    assert math.isclose(energy[7], watts["total"], rel_tol=1e-9), energy


def check_pod(directory):
    """The figures of a pod, from a Prometheus with a made hour of it."""
    base = f"http://127.0.0.1:{free_port()}"
    begin = (int(time.time()) - 4 * 3600) // 60 * 60
    with open(f"{directory}/pod.om", "w", encoding="utf-8") as file:
        file.write(pod_series(begin))
    run(promtool, "tsdb", "create-blocks-from", "openmetrics", f"{directory}/pod.om", f"{directory}/pod-data")
    command = [prometheus, f"--config.file={directory}/none.yml", f"--web.listen-address={base[7:]}",
               f"--storage.tsdb.path={directory}/pod-data", "--storage.tsdb.retention.time=30d"]
    with server(command, f"{base}/-/ready", f"{directory}/pod.log"):
        times = (str(begin + 600), str(begin + 3000))
        environment = {**os.environ, "NO_PROXY": "*"}

        def ask(what, *words):
            return tuple(map(float, run(writer, what, base, *words, env=environment).split()))

        peak = ask("peak", POD["namespace"], POD["pod"])
        assert math.isclose(peak[0], 1.75, rel_tol=1e-9) and peak[1:] == (1 << 30, 80, 3700 << 20), peak
        check_watts(ask("pod", POD["namespace"], POD["pod"], *times), {"total": 45, "package": 44})
        check_watts(ask("pod", "batch", "train-0", *times), {"total": 123, "core": 12, "package": 20, "dram": 3, "gpu": 100})
        check_watts(ask("pod", "batch", "train-1", *times), {"total": 23, "core": 12, "package": 20, "dram": 3})
        check_watts(ask("pods", "batch", "job-name=train", *times),
                    {"total": 146, "core": 24, "package": 40, "dram": 6, "gpu": 100})
        check_watts(ask("pods", POD["namespace"], "app.name=jupyter", *times), {"total": 45, "package": 44})
        for namespace in ("jupyterhub", '" or vector(1) or x{a="', "\\"):
            result = subprocess.run([writer, "pod", base, namespace, POD["pod"], *times], env=environment,
                                    stderr=subprocess.PIPE, text=True, check=False)
            assert result.returncode != 0 and "no such series" in result.stderr, (namespace, result)
    print(f"pod: {peak[0]} cores, {peak[1]:.0f} B, {peak[2]:.0f} % of a GPU; energy of pods by both kinds of names of Kepler, and by a label")


def file_count(directory):
    return sum(name.endswith(".prom") for name in os.listdir(directory))


def wait_for(condition):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "waited for 90 s"
        time.sleep(0.02)


def check_node_exporter(directory):
    files = f"{directory}/textfile"
    os.mkdir(files)
    base = f"127.0.0.1:{free_port()}"
    command = [node_exporter, f"--web.listen-address={base}", "--collector.disable-defaults",
               "--collector.textfile", f"--collector.textfile.directory={files}"]
    live = [subprocess.Popen([writer, "live", files], stdin=subprocess.PIPE) for _ in range(2)]
    try:
        wait_for(lambda: file_count(files) == 2)
        with server(command, f"http://{base}/metrics", f"{directory}/node_exporter.log"):
            for _ in range(20):
                _, text = request(f"http://{base}/metrics")
                assert "\nnode_textfile_scrape_error 0\n" in text, text[-3000:]
                for process in live:
                    found = re.findall(rf'^resmon_proc_mem_rss_bytes{{.*pid="{process.pid}".*}} (\S+)$',
                                       text, re.M)
                    assert len(found) == 1 and float(found[0]) > 1e5, found
                time.sleep(0.02)
            for process in live:
                process.stdin.close()
            for process in live:
                assert process.wait(90) == 0
            assert os.listdir(files) == [], os.listdir(files)
            _, text = request(f"http://{base}/metrics")
            assert "resmon_" not in text
    finally:
        for process in live:
            process.kill()
            process.wait()
    print("node_exporter: 20 scrapes of two files without an error; gone after stop")


def main():
    with tempfile.TemporaryDirectory(prefix="resmon-servers-") as directory:
        run(writer, "texts", directory)
        if not os.path.exists(f"{directory}/real.json"):
            print("skipped: the library was built without cJSON, and there is no document to compare with")
            sys.exit(77)
        document, texts = read_texts(directory)
        check_linter(texts)
        check_pushgateway(directory, texts)
        check_push(directory)
        with open(f"{directory}/none.yml", "w", encoding="utf-8") as file:
            file.write("global: {}\n")
        check_dashboard(directory, texts)
        check_pod(directory)
        check_node_exporter(directory)
        assert math.isfinite(document["run"]["duration_ns"])


main()
