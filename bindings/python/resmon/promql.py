# SPDX-License-Identifier: MIT
"""Values of a Kubernetes pod from the Prometheus server of its cluster, for notebooks that run in one.

The server is at ``url``, "http://prometheus:9090". Options are token, ca_path, timeout (seconds) and insecure_tls.
"""
from ctypes import byref, c_double

from . import _abi, records
from ._library import encoded, lib
from .options import milliseconds


class PodPeak(records.Record):
    """The highest use of a pod: cpu_cores, memory_bytes."""

    __slots__ = records._slots(_abi.PodPeak)


class PodEnergy(records.Record):
    """Energy of a pod, or of several, by component, in J, from Kepler's counters; mean_w in W."""

    __slots__ = records._slots(_abi.PodEnergy)


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
    struct = _abi.PodPeak()
    lib.promql_pod_peak(_options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"), window,
                        byref(struct))
    return PodPeak.of(struct)


def pod_energy(url, namespace, pod, begin, end, **options):
    """Returns the energy of a pod between two Unix times, and its mean power (mean_w)."""
    struct = _abi.PodEnergy()
    lib.promql_pod_energy(_options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"), begin, end,
                          byref(struct))
    return PodEnergy.of(struct)


def pods_energy(url, namespace, selector, begin, end, **options):
    """Returns the energy of all pods that a label selects, between two Unix times.

    :param selector: label as kube-state-metrics has it, for example "job-name=train"
    """
    struct = _abi.PodEnergy()
    lib.promql_pods_energy(_options(url, **options), encoded(namespace, "namespace"), encoded(selector, "selector"), begin, end,
                           byref(struct))
    return PodEnergy.of(struct)
