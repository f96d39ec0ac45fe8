# SPDX-License-Identifier: MIT
"""What a receiver of OpenTelemetry gets: read by OpenTelemetry's own messages, named as its conventions say."""
import http.server
import importlib
import inspect
import os
import re
import threading

import pytest
from conftest import burn

import resmon

service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2",
                              reason="otlp: opentelemetry-proto is not installed")
CONVENTIONS = "opentelemetry.semconv._incubating"
pytest.importorskip(f"{CONVENTIONS}.metrics.process_metrics", reason="otlp: opentelemetry-semantic-conventions is not installed")
CUMULATIVE = 2


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = service.ExportMetricsServiceRequest()
        message.ParseFromString(body)
        self.server.messages.append((self.path, self.headers, message))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(self.server.reply.SerializeToString())

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver(monkeypatch):
    for name in [name for name in os.environ if name.startswith("OTEL_")] + ["http_proxy", "HTTP_PROXY"]:
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.messages, server.reply = [], service.ExportMetricsServiceResponse()
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def observe(**how):
    try:
        with resmon.Monitor(3600, **how) as monitor:
            for _ in range(3):
                with resmon.scope("train"), resmon.scope("a/b"):
                    burn(0.01)
    except resmon.NotSupportedError:
        pytest.skip("this build has no HTTP")
    return monitor


def attributes(of):
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in of.attributes}


def metrics_of(message):
    part, = message.resource_metrics
    scope, = part.scope_metrics
    assert scope.scope.name == "libresmon" and scope.scope.version == resmon.__version__
    metrics = {metric.name: metric for metric in scope.metrics}
    assert len(metrics) == len(scope.metrics)
    return metrics


def points(metric):
    return list(getattr(metric, metric.WhichOneof("data")).data_points)


def test_values_are_those_of_the_run(receiver):
    monitor = observe(otlp=receiver.url)
    path, headers, message = receiver.messages[-1]
    assert path == "/v1/metrics" and headers["Content-Type"] == "application/x-protobuf"
    metrics, run = metrics_of(message), monitor.summary
    start_ns, = {point.start_time_unix_nano for point in points(metrics["process.cpu.time"])}
    for name, column, divisor in (("process.memory.usage", "proc.mem.rss", 1), ("resmon.proc.cpu.time", "proc.cpu.time", 1),
                                  ("resmon.proc.mem.host_percent", "proc.mem.host_percent", 1),
                                  ("system.memory.utilization", "node.mem.percent", 100),
                                  ("resmon.tree.mem.rss", "tree.mem.rss", 1)):
        point, = points(metrics[name])
        assert point.as_double == pytest.approx(run[column].last / divisor, rel=1e-12), name
        assert point.time_unix_nano > start_ns > 1.7e18
    modes = {attributes(point)["cpu.mode"]: point.as_double for point in points(metrics["process.cpu.time"])}
    assert modes == {"user": run["proc.cpu.user"].last, "system": run["proc.cpu.system"].last}
    for metric in metrics.values():
        kind = metric.WhichOneof("data")
        assert kind == "gauge" or getattr(metric, kind).aggregation_temporality == CUMULATIVE, metric.name
        assert metric.description
        keys = [tuple(sorted(attributes(point).items())) for point in points(metric)]
        assert len(keys) == len(set(keys)), metric.name


def test_scopes_are_a_histogram(receiver):
    monitor = observe(otlp=receiver.url)
    histogram = metrics_of(receiver.messages[-1][2])["resmon.scope.duration"]
    found = {attributes(point)["scope"]: point for point in points(histogram)}
    assert set(found) == {"train", r"train/a\/b"} and histogram.unit == "s"
    scope = monitor.scopes["train"]
    point = found["train"]
    assert point.count == 3 and not point.bucket_counts and not point.explicit_bounds
    assert (point.sum, point.min, point.max) == pytest.approx((scope.wall_s, scope.wall_min_s, scope.wall_max_s))


def conventions():
    """name: (instrument, unit) of all metrics of processes and systems that are not deprecated."""
    found = {}
    for module in ("process_metrics", "system_metrics"):
        source = inspect.getsource(importlib.import_module(f"{CONVENTIONS}.metrics.{module}"))
        for name, text in re.findall(r'^[A-Z_]+: Final = "([^"]+)"\n"""\n(.*?)\n"""', source, re.S | re.M):
            instrument, unit = re.search(r"^Instrument: (\S+)", text, re.M), re.search(r"^Unit: (\S+)", text, re.M)
            if instrument and unit:
                found[name] = instrument[1], unit[1]
    return found


def known_attributes():
    known = set()
    for module in ("process", "system", "cpu", "disk", "network"):
        attributes_ = importlib.import_module(f"{CONVENTIONS}.attributes.{module}_attributes")
        known |= {value for name, value in vars(attributes_).items() if name.isupper() and isinstance(value, str)
                  and not (inspect.getsource(attributes_).split(f'{name}: Final = "{value}"\n"""\n')[-1]).startswith("Deprecated")}
    return known


def test_names_are_those_of_the_conventions(receiver):
    observe(otlp=receiver.url, domains=("process", "node"))
    theirs, known = conventions(), known_attributes()
    ours = {name: metric for name, metric in metrics_of(receiver.messages[-1][2]).items() if not name.startswith("resmon.")}
    assert len(theirs) > 30 and {"process.cpu.time", "process.memory.usage", "system.cpu.time", "system.memory.limit"} <= set(ours)
    for name, metric in ours.items():
        kind = {"gauge": "gauge", "sum": "counter" if metric.sum.is_monotonic else "updowncounter"}[metric.WhichOneof("data")]
        assert (kind, metric.unit) == theirs[name], name
        for point in points(metric):
            assert set(attributes(point)) <= known, name


def test_variables(receiver, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url + "/base/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20ecret")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "trainer")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=other")
    observe(otlp=True, label={"team.name": "blue"})
    path, headers, message = receiver.messages[-1]
    assert path == "/base/v1/metrics" and headers["api-key"] == "s ecret"
    resource = attributes(message.resource_metrics[0].resource)
    assert resource.items() >= {"service.name": "trainer", "deployment.environment.name": "test", "team.name": "blue",
                                "process.pid": os.getpid()}.items()


def test_points_that_are_rejected(receiver):
    receiver.reply.partial_success.rejected_data_points = 7
    receiver.reply.partial_success.error_message = "too old"
    with pytest.warns(resmon.ResmonWarning, match="rejected 7 points: too old"):
        observe(otlp={"endpoint": receiver.url, "timeout": 10})
