# SPDX-License-Identifier: MIT
"""Values of a Kubernetes pod from the Prometheus server of its cluster, for notebooks that run in one.

The server is at ``url``, "http://prometheus:9090". Options are token, ca_path, timeout (seconds) and insecure_tls.
"""
from ctypes import byref, c_double

from . import _abi
from ._generated_records import PodEnergy, PodPeak
from ._library import encoded, lib
from .options import milliseconds


__all__ = ["PodEnergy", "PodPeak", "pod_energy", "pod_peak", "pods_energy", "value"]


def _options(url, token=None, ca_path=None, timeout=0.0, insecure_tls=False):
    return byref(_abi.PromqlOptions(flags=_abi.PROMQL_INSECURE_TLS if insecure_tls else 0, url=encoded(url, "url"),
                                    token=encoded(token, "token"), ca_path=encoded(ca_path, "ca_path"),
                                    timeout_ms=milliseconds(timeout, "timeout")))


def value(url, query, at=0.0, **options):
    """Returns the value of an instant query, at a Unix time (0: now); of several series, the largest."""
    result = c_double()
    lib.promql_value(_options(url, **options), encoded(query, "query"), at, byref(result))
    return result.value


def pod_peak(url, namespace, pod, window=864000.0, **options):
    """Returns the highest CPU and memory use of a pod over the last `window` seconds (default ten days)."""
    return PodPeak.read(lib.promql_pod_peak, _options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"), window)


def pod_energy(url, namespace, pod, begin, end, **options):
    """Returns the energy of a pod between two Unix times, and its mean power (mean_w)."""
    return PodEnergy.read(lib.promql_pod_energy, _options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"),
                          begin, end)


def pods_energy(url, namespace, selector, begin, end, **options):
    """Returns the energy of all pods that a label selects, between two Unix times.

    :param selector: label as kube-state-metrics has it, for example "job-name=train"
    """
    return PodEnergy.read(lib.promql_pods_energy, _options(url, **options), encoded(namespace, "namespace"),
                          encoded(selector, "selector"), begin, end)
