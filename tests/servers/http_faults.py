# SPDX-License-Identifier: MIT
"""Faults of an HTTP server, by rules that a test sends as JSON; README.md lists them.

A rule says which requests it takes (a part of the path, a method, the n-th, every k-th, the first N of
those that match) and what happens to them.  The first rule that takes a request gets it.  The server
asks choose(), and lets the rule's deliver() send the answer, or spoil it.
"""
import email.utils
import threading
import time

LARGEST_ENDLESS_MIB = 4096

DENIALS = {
    "host": (403, "Invalid Host header - possible DNS rebinding attack detected", {}),
    "cors": (403, "Cross-origin request blocked", {}),
    "permission": (403, "Permission denied", {}),
    "authentication": (401, "You are not authenticated. Please see the documentation on how to "
                       "authenticate.", {"WWW-Authenticate": 'Basic realm="mlflow"'}),
    "artifacts": (503, "This server does not serve artifacts.", {}),
}

GARBAGE = {
    "bytes": bytes(range(256)),
    "truncated": b'{"run":{"info":{"run_id":"',
    "shape": b'[["not", "an", "object"], 1, null]',
    "deep": b"[" * 100000,
    "empty": b"",
}


class Answer:
    """What goes back: status, body, and headers beside Content-Length."""

    def __init__(self, status, body=b"{}", content_type="application/json", headers=None):
        self.status = status
        self.body = body.encode() if isinstance(body, str) else body
        self.headers = {**({"Content-Type": content_type} if content_type else {}), **(headers or {})}


def html(status, title):
    return Answer(status, f"<!doctype html>\n<html lang=en>\n<title>{status} {title}</title>\n"
                  f"<h1>{title}</h1>\n<p>The server could not answer.</p>\n", "text/html; charset=utf-8")


def text(status, words, headers=None):
    return Answer(status, words, "text/plain; charset=utf-8", headers)


# ---- what may happen: each gets the connection, the rule's words, and the answer that was due -------


def status_instead(connection, rule, _answer):
    status = rule.get("status", 503)
    words = rule.get("body", '{"error_code":"TEMPORARILY_UNAVAILABLE","message":"injected fault"}')
    answer = {"html": html(status, "Injected Fault"), "text": text(status, "injected fault"),
              "json": Answer(status, words)}[rule.get("format", "json")]
    if "retry_after" in rule:
        answer.headers["Retry-After"] = str(rule["retry_after"])
    elif "retry_after_date" in rule:
        answer.headers["Retry-After"] = email.utils.formatdate(time.time() + rule["retry_after_date"],
                                                               usegmt=True)
    connection.send(answer)


def hang(connection, rule, answer):
    if rule.get("when") != "half":
        connection.pause(rule["seconds"])
        connection.send(answer)
        return
    wire = connection.wire(answer)
    connection.put(wire[:len(wire) // 2])
    connection.pause(rule["seconds"])
    connection.put(wire[len(wire) // 2:])


def close(connection, rule, answer):
    if rule.get("when") == "half":
        wire = connection.wire(answer)
        connection.put(wire[:len(wire) - max(1, len(answer.body) // 2)])
    connection.hang_up()


def garbage(connection, rule, _answer):
    if rule.get("what") == "head":
        connection.put(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        connection.hang_up()
        return
    connection.send(Answer(200, GARBAGE[rule.get("what", "bytes")]))


def endless(connection, rule, _answer):
    """A body that goes on until the client has had enough; bounded for one that never has."""
    connection.put(connection.head(Answer(200), None))
    block = b" " * 65536
    for _ in range(min(rule.get("mebibytes", 256), LARGEST_ENDLESS_MIB) * 16):
        if not connection.put(block):
            break
    connection.hang_up()


def redirect(connection, rule, _answer):
    where = rule["to"] if rule.get("exact") else rule["to"].rstrip("/") + connection.path
    connection.send(Answer(rule.get("status", 307), b"", "text/plain", {"Location": where}))


def deny(connection, rule, _answer):
    connection.send(text(*DENIALS[rule.get("what", "host")]))


def drip(connection, rule, answer):
    for byte in connection.wire(answer):
        if not connection.put(bytes([byte])):
            return
        connection.pause(rule["seconds"])


# do: (function, whether the request is carried out first, the keys it knows)
ACTIONS = {
    "status": (status_instead, False, {"status", "retry_after", "retry_after_date", "format", "body"}),
    "hang": (hang, True, {"seconds", "when"}),
    "close": (close, False, {"when"}),
    "garbage": (garbage, True, {"what"}),
    "endless": (endless, True, {"mebibytes"}),
    "redirect": (redirect, False, {"to", "exact", "status"}),
    "deny": (deny, False, {"what"}),
    "drip": (drip, True, {"seconds"}),
}
WHEN = {"hang": {"before", "answer", "half"}, "close": {"before", "after", "half"}}
WHAT = {"deny": set(DENIALS), "garbage": {*GARBAGE, "head"}}
REQUIRED = {"hang": {"seconds"}, "drip": {"seconds"}, "redirect": {"to"}}
SELECTORS = {"do", "path", "method", "nth", "every", "first", "after", "processed"}


class Rule:
    def __init__(self, words):
        if not isinstance(words, dict) or words.get("do") not in ACTIONS:
            raise ValueError(f"a rule is an object with do = one of {sorted(ACTIONS)}: {words}")
        self.words = words
        self.action, processed, known = ACTIONS[words["do"]]
        unknown = set(words) - known - SELECTORS
        missing = REQUIRED.get(words["do"], set()) - set(words)
        if unknown or missing:
            raise ValueError(f"rule {words}: unknown {sorted(unknown)}, missing {sorted(missing)}")
        if "when" in words and words["when"] not in WHEN[words["do"]]:
            raise ValueError(f"rule {words}: when is one of {sorted(WHEN[words['do']])}")
        if "what" in words and words["what"] not in WHAT[words["do"]]:
            raise ValueError(f"rule {words}: what is one of {sorted(WHAT[words['do']])}")
        self.seen = self.fired = 0
        # Whether the server carries the request out, and the client cannot know.
        self.processed = words.get("processed", processed or words.get("when") in ("after", "half"))

    def takes(self, method, path):
        if self.words.get("path", "") not in path or self.words.get("method", method) != method:
            return False
        self.seen += 1
        number = self.seen - self.words.get("after", 0)
        nth = self.words.get("nth")
        taken = number >= 1 and \
            (nth is None or number in (nth if isinstance(nth, list) else [nth])) and \
            number % self.words.get("every", 1) == 0 and number <= self.words.get("first", number)
        self.fired += taken
        return taken

    def waits_first(self):
        """Hangs before the request is carried out, not after it."""
        return self.words["do"] == "hang" and self.words.get("when", "before") == "before"


class Faults:
    def __init__(self):
        self.lock = threading.Lock()
        self.rules = []

    def set(self, rules):
        """Replaces all rules; ValueError, and no change, when one is malformed."""
        if not isinstance(rules, list):
            raise ValueError("a list of rules is wanted; [] for none")
        rules = [Rule(words) for words in rules]
        with self.lock:
            self.rules = rules

    def choose(self, method, path):
        with self.lock:
            return next((rule for rule in self.rules if rule.takes(method, path)), None)

    def state(self):
        with self.lock:
            return [{**rule.words, "seen": rule.seen, "fired": rule.fired} for rule in self.rules]
