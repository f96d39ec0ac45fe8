# SPDX-License-Identifier: MIT
"""Faults of settings and of what lies between: variables, credentials, TLS, proxies, redirects, names."""
import atexit
import http.server
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import urllib.request

from mlflow_rig import EXPERIMENT, HERE, SECRETS, Skipped, case, check_clean, check_settled, expected, runs_of, shown
from server import free_port, opener

# ---- variables ---------------------------------------------------------------------------------------

BAD_VARIABLES = {
    "MLFLOW_TRACKING_URI": ["sqlite:///mlflow.db", "file:///tmp/mlruns", "databricks", "databricks://profile",
                            "./mlruns", "http:/one-slash", "http://", "http:///path", "http://host/?q=1",
                            "http://host/#part", "http://ho st/", "ftp://host/", "http://user:pw-S3cret-1@",
                            "sqlite://user:pw-S3cret-1@host/db", "http://u:pw-S3cret-1@host/?q",
                            "http://" + "h" * 3000],
    "MLFLOW_RUN_ID": ["bad id!", "-x", "a/../b", "x" * 300],
    "MLFLOW_EXPERIMENT_ID": ["bad id!", "1'"],
    "MLFLOW_EXPERIMENT_NAME": ["x" * 600],
    "MLFLOW_WORKSPACE": ["a\r\nX-Other: b", "x" * 600],
    "MLFLOW_TRACKING_TOKEN": ["tok-S3cret-2\r\nX-Other: b", "tok-S3cret-2" * 1000],
    "MLFLOW_TRACKING_SERVER_CERT_PATH": ["/nowhere/ca.pem"],
    "MLFLOW_TRACKING_CLIENT_CERT_PATH": ["/nowhere/client.pem"],
    "MLFLOW_TRACKING_INSECURE_TLS": ["yes", "2"],
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": ["-1", "11", "many", "1 2", "0x3", "nan"],
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": ["-1", "121", "x", "inf"],
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": ["-0.1", "1e999", "nan"],
    "MLFLOW_HTTP_REQUEST_TIMEOUT": ["0", "-5", "nan", "inf", "1e99", "10s"],
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": ["on"],
    "MLFLOW_ALLOW_HTTP_REDIRECTS": ["no"],
    "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": ["enabled"],
    "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": ["0", "-1", "often"],
    "MLFLOW_RUN_CONTEXT": ["{", "[1]", "no JSON"],
}


@case()
def bad_variables(case):
    """Each is refused with its name, nothing is sent, and the program runs on."""
    fake = case.fake()
    for name, values in BAD_VARIABLES.items():
        word = "tracking URI" if name == "MLFLOW_TRACKING_URI" else name
        for value in values:
            result = case.run(fake.uri, "run", "work=1", env={name: value})
            line = result["add"]
            assert line["status"] == "RESMON_EINVAL" and word in line["text"], f"{name}={value[:60]!r}: {line}"
            result.expect("start", "RESMON_OK")
            result.expect("stop", "RESMON_OK")
        result = case.run(fake.uri, "plain", "work=1", env={name: values[0], "RESMON": "mlflow"})
        assert word in result.errors, f"{name}: {result.errors}"
    case.run(None, "run", "work=1").expect("add", "RESMON_EINVAL", "MLFLOW_TRACKING_URI")
    assert fake.state()["requests"] == []


@case()
def both_tls_variables(case):
    file = case.directory / "ca.pem"
    file.write_text("any")
    env = {"MLFLOW_TRACKING_INSECURE_TLS": "true", "MLFLOW_TRACKING_SERVER_CERT_PATH": str(file)}
    case.run("https://127.0.0.1:1", "run", "work=1", env=env).expect(
        "add", "RESMON_EINVAL", "MLFLOW_TRACKING_INSECURE_TLS", "MLFLOW_TRACKING_SERVER_CERT_PATH")


@case()
def good_variables(case):
    fake = case.fake()
    env = {"MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "TRUE", "MLFLOW_SYSTEM_METRICS_NODE_ID": "n/../%7",
           "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "0.05", "MLFLOW_RUN_CONTEXT": '{"a b": "c\\u00e9", "x%": "1"}',
           "MLFLOW_EXPERIMENT_NAME": "a \"name\" / with é"}
    case.live(fake.uri, env=env).expect("stop", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    run, = runs_of(state, env["MLFLOW_EXPERIMENT_NAME"])
    assert run["tags"]["a b"] == "cé" and run["tags"]["x_"] == "1", run["tags"]
    assert any(p["key"].startswith("system/n/_7/") for p in run["points"]), run["points"]


# ---- experiments and runs ----------------------------------------------------------------------------


def id_of(fake, name=EXPERIMENT):
    return fake.post("experiments/create", name=name)["experiment_id"]


@case()
def deleted_experiment(case):
    fake = case.fake()
    number = id_of(fake)
    fake.post("experiments/delete", experiment_id=number)
    case.live(fake.uri).expect("stop", "RESMON_EREMOTE", "was deleted", "restore", EXPERIMENT)
    fake.post("experiments/restore", experiment_id=number)
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case))


@case()
def deleted_experiment_by_id(case):
    fake = case.fake()
    number = id_of(fake)
    fake.post("experiments/delete", experiment_id=number)
    env = {"MLFLOW_EXPERIMENT_NAME": None, "MLFLOW_EXPERIMENT_ID": number}
    case.live(fake.uri, env=env).expect("stop", "RESMON_EREMOTE", "must be in the 'active' state")
    fake.post("experiments/restore", experiment_id=number)
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case))


@case()
def experiment_that_disagrees(case):
    fake = case.fake()
    id_of(fake)
    other = id_of(fake, "other")
    result = case.live(fake.uri, env={"MLFLOW_EXPERIMENT_ID": other})
    result.expect("stop", "RESMON_EINVAL", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID")
    assert fake.state()["runs"] == {}


@case()
def experiment_that_agrees(case):
    fake = case.fake()
    case.live(fake.uri, env={"MLFLOW_EXPERIMENT_ID": id_of(fake)}).expect("stop", "RESMON_OK")
    check_settled(fake.state(), expected(case))


@case()
def unknown_experiment_id(case):
    fake = case.fake()
    env = {"MLFLOW_EXPERIMENT_NAME": None, "MLFLOW_EXPERIMENT_ID": "77"}
    result = case.live(fake.uri, env=env)
    line = result.expect("stop", "RESMON_EREMOTE", "No Experiment with id=77")
    assert "prefix" not in line["text"], line["text"]


def made_run(fake):
    run = fake.post("runs/create", experiment_id="0", start_time=1700000000000)
    return run["run"]["info"]["run_id"]


def attached(case, fake, number):
    """What it should hold: all but the status, the name and the tags of making it."""
    wanted = expected(case)
    run = shown(fake.state()["runs"][number])
    assert run["points"] == wanted["points"] and run["artifacts"] == wanted["artifacts"]
    tags = {key: value for key, value in wanted["tags"].items() if key.startswith("resmon.node")}
    assert all(run["tags"].get(key) == value for key, value in tags.items()), run["tags"]
    check_clean(fake.state())
    assert len(fake.state()["runs"]) == 1
    return run, wanted


@case()
def attached_run(case):
    fake = case.fake()
    number = made_run(fake)
    case.live(fake.uri, env={"MLFLOW_RUN_ID": number}).expect("stop", "RESMON_OK")
    run, wanted = attached(case, fake, number)
    assert run["status"] == "RUNNING" and run["end"] is None and run["params"] == wanted["params"]


@case()
def attached_run_is_finished_if_wanted(case):
    fake = case.fake()
    number = made_run(fake)
    case.live(fake.uri, "finish", f"run_id={number}").expect("stop", "RESMON_OK")
    assert attached(case, fake, number)[0]["status"] == "FINISHED"


@case()
def attached_run_with_other_params(case):
    fake = case.fake()
    number = made_run(fake)
    fake.post("runs/log-parameter", run_id=number, key="resmon.version", value="another")
    result = case.live(fake.uri, env={"MLFLOW_RUN_ID": number})
    result.expect("stop", "RESMON_OK")
    assert "Changing param values" in result.errors, result.errors
    assert attached(case, fake, number)[0]["params"] == {"resmon.version": "another"}


@case()
def attached_run_with_other_params_by_push(case):
    """What a run does not take of parameters is no failure of a push."""
    fake = case.fake()
    number = made_run(fake)
    fake.post("runs/log-parameter", run_id=number, key="resmon.version", value="another")
    fake.faults({"do": "status", "status": 503})
    case.live(fake.uri, env={"MLFLOW_RUN_ID": number}).expect("stop", "RESMON_EREMOTE")
    fake.faults()
    case.push_kept(fake.uri)
    assert attached(case, fake, number)[0]["params"] == {"resmon.version": "another"}


@case()
def deleted_run(case):
    fake = case.fake()
    number = made_run(fake)
    fake.post("runs/delete", run_id=number)
    result = case.live(fake.uri, env={"MLFLOW_RUN_ID": number})
    result.expect("stop", "RESMON_EREMOTE", "must be in the 'active'", number)
    fake.post("runs/restore", run_id=number)
    case.push_kept(fake.uri)
    attached(case, fake, number)


@case()
def run_of_another_server(case):
    fake = case.fake()
    result = case.live(fake.uri, env={"MLFLOW_RUN_ID": "0123456789abcdef0123456789abcdef"})
    line = result.expect("stop", "RESMON_EREMOTE", "not found")
    assert "prefix" not in line["text"], line["text"]
    number = made_run(fake)
    case.run(fake.uri, "push", case.kept()[0], f"run_id={number}").expect("push", "RESMON_OK")
    attached(case, fake, number)


# ---- credentials -------------------------------------------------------------------------------------

PW, TOKEN, OTHER = SECRETS[:3]
BASIC = ["--auth", f"basic:user:{PW}"]
BEARER = ["--auth", f"bearer:{TOKEN}"]


def with_credentials(case, arguments, kind, *words, user=None, env=None, home=None):
    fake = case.fake(*arguments)
    if home:
        path = case.directory / ".mlflow" / "credentials"
        path.parent.mkdir()
        path.write_text(home, encoding="ascii")
    uri = fake.uri.replace("http://", f"http://{user}@") if user else fake.uri
    result = case.live(uri, *words, env=env)
    result.expect("stop", "RESMON_OK")
    state = fake.state()
    assert {r["credential"] for r in state["requests"]} == {kind}
    assert {r["status"] for r in state["requests"]} <= {200, 404}
    check_clean(state)
    assert len(state["runs"]) == 1


def home(name, password):
    return ("[other]\nmlflow_tracking_password = no\n[mlflow]\nmlflow_tracking_username = " + name +
            "\r\nmlflow_tracking_password = " + password + "\n")


CREDENTIALS = {
    "in the URI": (BASIC, "Basic", {"user": f"user:{PW}"}),
    "in the URI, encoded": (BASIC, "Basic", {"user": "us%65r:" + PW.replace("-", "%2D")}),
    "in the file": (BASIC, "Basic", {"home": home("user", PW)}),
    "in variables": (BASIC, "Basic", {"env": {"MLFLOW_TRACKING_USERNAME": "user", "MLFLOW_TRACKING_PASSWORD": PW}}),
    "token": (BEARER, "Bearer", {"env": {"MLFLOW_TRACKING_TOKEN": TOKEN}}),
    "user and password before a token": (BASIC, "Basic", {"env": {
        "MLFLOW_TRACKING_TOKEN": TOKEN, "MLFLOW_TRACKING_USERNAME": "user", "MLFLOW_TRACKING_PASSWORD": PW}}),
    "variables before the file": (BASIC, "Basic", {"home": home("user", OTHER), "env": {
        "MLFLOW_TRACKING_PASSWORD": PW}}),
    "variables before the URI": (BASIC, "Basic", {"user": f"user:{OTHER}", "env": {"MLFLOW_TRACKING_PASSWORD": PW}}),
    "the URI before the file": (BASIC, "Basic", {"user": f"user:{PW}", "home": home("user", OTHER)}),
    "a token beside a user without password": (BEARER, "Bearer", {"env": {
        "MLFLOW_TRACKING_TOKEN": TOKEN, "MLFLOW_TRACKING_USERNAME": "user"}}),
    "a secret as the user of the URI": ([], None, {"user": TOKEN}),
}
for credentials_name, (server, kind, given) in CREDENTIALS.items():
    case(f"credentials: {credentials_name}")(
        lambda c, server=server, kind=kind, given=given: with_credentials(c, server, kind, **given))


@case()
def credentials_as_options(case):
    with_credentials(case, BASIC, "Basic", "user=user", "password=$PROGRAM_PASSWORD",
                     env={"MLFLOW_TRACKING_PASSWORD": OTHER})


@case()
def credentials_are_not_kept(case):
    port = free_port()
    env = {"MLFLOW_TRACKING_USERNAME": "user", "MLFLOW_TRACKING_PASSWORD": PW}
    case.live(f"http://user:{OTHER}@127.0.0.1:{port}", "series", env=env).expect("stop", "RESMON_ENET")
    fake = case.fake(*BASIC, port=port)
    case.run(fake.uri, "push", case.kept()[0]).expect("push", "RESMON_EACCES", "401", "MLFLOW_TRACKING_USERNAME")
    assert fake.state()["runs"] == {}
    case.push_kept(fake.uri, env=env)
    check_settled(fake.state(), expected(case, "series"))


@case()
def wrong_password(case):
    fake = case.fake(*BASIC)
    case.live(fake.uri.replace("//", f"//user:{OTHER}@")).expect("stop", "RESMON_EACCES", "401", "MLFLOW_TRACKING_")


@case()
def workspace(case):
    fake = case.fake("--workspace", "team a")
    case.live(fake.uri).expect("stop", "RESMON_EREMOTE", "X-MLFLOW-WORKSPACE")
    assert fake.state()["runs"] == {}
    case.push_kept(fake.uri, env={"MLFLOW_WORKSPACE": "team a"})
    check_settled(fake.state(), expected(case))
    assert {r["workspace"] for r in fake.state()["requests"]} == {None, "team a"}


# ---- redirects ---------------------------------------------------------------------------------------


def redirected(case, status):
    """To the same server: method, body and credentials are kept."""
    fake = case.fake(*BASIC)
    fake.faults({"do": "redirect", "to": fake.uri, "status": status, "every": 2})
    case.live(fake.uri, "series", "user=user", "password=$PROGRAM_PASSWORD").expect("stop", "RESMON_OK")
    state = fake.state()
    assert {r["credential"] for r in state["requests"]} == {"Basic"}
    check_settled(state, expected(case, "series"))


for redirect_status in (301, 302, 307, 308):
    case(f"redirect {redirect_status} to the same server")(lambda c, s=redirect_status: redirected(c, s))


def redirected_elsewhere(case, host, status, words, kind):
    fake, other = case.fake(), case.fake("--bind", host)
    other.uri = f"http://{host}:{other.port}"
    fake.faults({"do": "redirect", "to": other.uri, "status": status})
    result = case.live(fake.uri, *words, env={"no_proxy": "127.0.0.1,127.0.0.2"})
    result.expect("stop", "RESMON_OK")
    assert {r["credential"] for r in other.state()["requests"]} == {None}, "credentials went elsewhere"
    assert {r["credential"] for r in fake.state()["requests"]} == {kind}
    check_settled(other.state(), expected(case))


for redirect_host in ("127.0.0.1", "127.0.0.2"):
    for redirect_kind, redirect_words in (("Basic", ["user=user", "password=$PROGRAM_PASSWORD"]),
                                          ("Bearer", ["token=$PROGRAM_TOKEN"])):
        case(f"redirect to another port of {redirect_host}, {redirect_kind}")(
            lambda c, h=redirect_host, k=redirect_kind, w=redirect_words: redirected_elsewhere(c, h, 307, w, k))


@case()
def redirect_loop(case):
    fake = case.fake()
    fake.faults({"do": "redirect", "to": fake.uri})
    line = case.live(fake.uri)["stop"]
    assert line["status"] in ("RESMON_ENET", "RESMON_EREMOTE") and "redirect" in line["text"], line
    assert len(fake.state()["requests"]) <= 14, "it went round and round"
    fake.faults()
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case))


@case()
def redirects_that_are_not_wanted(case):
    fake = case.fake()
    fake.faults({"do": "redirect", "to": fake.uri})
    result = case.live(fake.uri, env={"MLFLOW_ALLOW_HTTP_REDIRECTS": "false"})
    result.expect("stop", "RESMON_EREMOTE", "HTTP 307", "MLFLOW_ALLOW_HTTP_REDIRECTS")
    assert len(fake.state()["requests"]) == 2


# ---- names and TLS -----------------------------------------------------------------------------------


@case()
def no_such_host(case):
    host = "mlflow" + 64 * "x" + ".invalid"  # no server of names is asked for a word of more than 63 letters
    line = case.live(f"http://{host}:5000")["stop"]
    assert line["status"] in ("RESMON_ENET", "RESMON_ETIMEDOUT") and host in line["text"], line
    fake = case.fake()
    case.run(f"{fake.uri}", "push", case.kept()[0]).expect("push", "RESMON_OK")
    check_settled(fake.state(), expected(case))


made = {}
made_lock = threading.Lock()


def certificates():
    with made_lock:
        if "directory" not in made:
            directory = tempfile.mkdtemp(prefix="faults-tls-")
            atexit.register(shutil.rmtree, directory, ignore_errors=True)
            done = subprocess.run(["sh", HERE / "certificates.sh", directory], capture_output=True, text=True)
            made["directory"] = pathlib.Path(directory) if done.returncode == 0 else None
            made["why"] = done.stdout + done.stderr
    if made["directory"] is None:
        raise Skipped(made["why"])
    return made["directory"]


def tls(case, name, *words, more=(), env=None):
    found = certificates()
    fake = case.fake("--tls", found / f"{name}.pem", found / f"{name}.key", *more, scheme="https")
    result = case.live(fake.uri, *[word.format(tls=found) for word in words],
                       env={key: value.format(tls=found) for key, value in (env or {}).items()})
    fake.child.kill()
    return result


GOOD_TLS = {
    "CA file as an option": ("server", ["ca={tls}/ca.pem"], {}, []),
    "CA file as a variable": ("server", [], {"MLFLOW_TRACKING_SERVER_CERT_PATH": "{tls}/ca.pem"}, []),
    "insecure by a flag": ("expired", ["insecure"], {}, []),
    "insecure by a variable": ("other-host", [], {"MLFLOW_TRACKING_INSECURE_TLS": "true"}, []),
    "self-signed is given": ("self-signed", ["ca={tls}/self-signed.pem"], {}, []),
    "client certificate": ("server", ["ca={tls}/ca.pem", "cert={tls}/client.pem"], {}, ["--client-ca", "{tls}/ca.pem"]),
    "client certificate as a variable": ("server", ["ca={tls}/ca.pem"], {
        "MLFLOW_TRACKING_CLIENT_CERT_PATH": "{tls}/client.pem"}, ["--client-ca", "{tls}/ca.pem"]),
}
BAD_TLS = {
    "unknown authority": ("server", [], []),
    "another authority": ("server", ["ca={tls}/other-ca.pem"], []),
    "expired": ("expired", ["ca={tls}/ca.pem"], []),
    "wrong host": ("other-host", ["ca={tls}/ca.pem"], []),
    "self-signed": ("self-signed", ["ca={tls}/ca.pem"], []),
    "no client certificate": ("server", ["ca={tls}/ca.pem"], ["--client-ca", "{tls}/ca.pem"]),
    "CA file of garbage": ("server", ["ca={tls}/server.key"], []),
}


def good_tls(case, name, words, env, more):
    more = [word.format(tls=certificates()) for word in more]
    tls(case, name, *words, env=env, more=more).expect("stop", "RESMON_OK")


def bad_tls(case, name, words, more):
    """Nothing is said over a connection that is not trusted."""
    more = [word.format(tls=certificates()) for word in more]
    result = tls(case, name, *words, "user=user", "password=$PROGRAM_PASSWORD", more=more)
    line = result.expect("stop", "RESMON_ENET", "https://127.0.0.1", "resmon push --mlflow")
    assert any(word in line["text"].lower() for word in ("certificate", "ssl", "tls")), line["text"]
    if not more:
        assert "MLFLOW_TRACKING_SERVER_CERT_PATH" in line["text"], f"no remedy in: {line['text']}"


for tls_name, tls_words in GOOD_TLS.items():
    case(f"TLS: {tls_name}")(lambda c, w=tls_words: good_tls(c, *w))
for tls_name, tls_words in BAD_TLS.items():
    case(f"TLS refused: {tls_name}")(lambda c, w=tls_words: bad_tls(c, *w))


@case()
def https_stays_https(case):
    found = certificates()
    plain = case.fake()
    secure = case.fake("--tls", found / "server.pem", found / "server.key", scheme="https")
    opener_of_test = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                 urllib.request.HTTPSHandler(context=unverified()))
    rule = f'[{{"do": "redirect", "to": "{plain.uri}"}}]'.encode()
    opener_of_test.open(urllib.request.Request(f"{secure.uri}/_fault", rule, method="POST"), timeout=10).close()
    result = case.live(secure.uri, f"ca={found}/ca.pem", "user=user", "password=$PROGRAM_PASSWORD")
    result.expect("stop", "RESMON_EFORMAT", "redirect")
    assert plain.state()["requests"] == [], "it went on in clear"


def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


# ---- proxies -----------------------------------------------------------------------------------------


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        self.server.seen.append((self.path, self.headers.get("Proxy-Authorization")))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        there = self.server.there + "/" + self.path.split("/", 3)[3]
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        call = urllib.request.Request(there, body if self.command != "GET" else None, headers, method=self.command)
        try:
            answer = opener.open(call, timeout=10)
        except urllib.error.HTTPError as error:
            answer = error
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = forward

    def log_message(self, *_):
        pass


def with_proxy(case, name, uri, no_proxy, is_used):
    fake = case.fake()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        proxy.seen, proxy.there = [], fake.uri
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        env = {name: f"http://proxy:{OTHER}@127.0.0.1:{proxy.server_port}", "no_proxy": no_proxy}
        case.live(uri or fake.uri, env=env).expect("stop", "RESMON_OK")
        proxy.shutdown()
    assert bool(proxy.seen) == is_used, proxy.seen
    assert all(credential for _, credential in proxy.seen)
    check_settled(fake.state(), expected(case))


PROXIES = {"http_proxy": ("http_proxy", "http://mlflow.invalid:5000", None, True),
           "all_proxy": ("all_proxy", "http://mlflow.invalid:5000", None, True),
           "HTTP_PROXY, as the mlflow package has it": ("HTTP_PROXY", "http://mlflow.invalid:5000", None, True),
           "no_proxy": ("http_proxy", None, "localhost,127.0.0.1", False),
           "no_proxy of another host": ("http_proxy", "http://mlflow.invalid:5000", "127.0.0.1", True)}
for proxy_name, proxy_words in PROXIES.items():
    case(f"proxy: {proxy_name}")(lambda c, w=proxy_words: with_proxy(c, *w))


@case()
def proxy_is_down(case):
    port = free_port()
    line = case.live("http://mlflow.invalid:5000", env={"http_proxy": f"http://proxy:{OTHER}@127.0.0.1:{port}",
                                                        "no_proxy": None})["stop"]
    assert line["status"] == "RESMON_ENET" and f" by the proxy http://127.0.0.1:{port} (http_proxy)" in line["text"], line
    assert OTHER not in line["text"], line


class Refusing(http.server.BaseHTTPRequestHandler):
    """A proxy that does not know the way to machines of its users."""

    def do_GET(self):
        self.send_error(403, "Forbidden by the policy of the site")

    do_POST = do_GET

    def log_message(self, *_):
        pass


@case()
def loopback_goes_to_the_proxy_of_the_site(case):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        line = case.live("http://127.0.0.1:5000", env={"http_proxy": f"http://127.0.0.1:{proxy.server_port}",
                                                       "no_proxy": None})["stop"]
        proxy.shutdown()
    assert line["status"] == "RESMON_EACCES" and f" by the proxy http://127.0.0.1:{proxy.server_port} (http_proxy)" in line["text"], line
