"""The faults of bench/serving/faults. Each is a function that injects the fault and returns what the faulty clients
got, one text for each of them."""
import http.client
import itertools
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from clients import SEEDS
from server import MB, soon

MAX_TOKENS = 100000   # of a text
PATIENCE = 100        # seconds until a client no longer waits. The server ends a request after 60 seconds
FILES = 24            # file descriptors of the server that has too few
MEMORY = 32 * MB      # address space that the server with too little memory has beyond what it needs
TMPFS = "64k"         # size of the full disk
FAULTS = []


class Site:
    """What a fault may use: the server, its model and its folder for states."""

    def __init__(self, folder):
        self.model, self.states, self.server = folder / "model", folder / "states", None
        self.address_space, self.stream_bytes, self.open = 0, 0, []

    def measure(self):
        """Finds out what a server without faults needs."""
        self.address_space = self.server.address_space()
        reader = self.request(stream_of(MAX_TOKENS // 10))
        reader.recv(1)
        self.stream_bytes = int(self.server.metric("weft_stream_bytes"))
        self.close()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE)
        self.open.append(connection)
        return connection

    def request(self, *parts):
        """Returns a connection to which these parts were sent, or those before the server answered or closed it."""
        connection = self.connect()
        for part in parts:
            if select.select([connection], [], [], 0)[0]:
                break
            try:
                connection.sendall(part)
            except OSError:
                break
        return connection

    def close(self):
        for connection in self.open:
            connection.close()
        self.open.clear()


@dataclass
class Fault:
    name: str
    inject: object          # a function of a Site
    expected: tuple         # regular expressions. Each result must match one, and each must match a result
    start: object           # a function of a Site that returns words before the command, the log, and more arguments
    may_lose: bool = False    # whether the other clients may lose answers
    may_refuse: bool = False  # whether they may have to try again
    may_fill: bool = False    # whether the server may take much memory

    def __str__(self):
        return self.name

    def without_limits(self):
        return Fault(self.name, None, (), lambda site: ((), os.devnull, ()))

    def unexpected(self, got):
        wrong = [what for what in got if not any(re.fullmatch(pattern, what) for pattern in self.expected)]
        missing = [pattern for pattern in self.expected if not any(re.fullmatch(pattern, what) for what in got)]
        return [f"the faulty clients got {what}" for what in wrong] + [f"none of them got {what}" for what in missing]


def fault(name, *expected, start=lambda site: ((), os.devnull, ()), **allowed):
    """Adds a function to FAULTS."""
    def add(inject):
        FAULTS.append(Fault(name, inject, expected, start, **allowed))
        return inject
    return add


def head(path, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: weft", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def with_body(path, body):
    """Returns a request. The body is bytes, or a value that becomes JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(path, f"Content-Length: {len(body)}") + body


def stream_of(tokens):
    return with_body("/v1/completions", {"prompt": "The", "max_tokens": tokens, "seed": 1, "stream": True})


def code_of(status, body):
    """Returns the status and, for an error, its code."""
    error = body.get("error") if isinstance(body, dict) else None
    return f"{status} {error['code']}" if error else str(status)


def outcome(connection):
    """Returns what the server answers on a connection."""
    answer = http.client.HTTPResponse(connection)
    try:
        answer.begin()
        return code_of(answer.status, json.loads(answer.read()))
    except TimeoutError:
        return "no answer"
    except (OSError, http.client.HTTPException):
        return "closed"


def outcomes(connections):
    """Returns what the server answers on each connection. They are closed afterwards."""
    for connection in connections:
        yield outcome(connection)
        connection.close()


READER = """
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
s.recv(1)
print("reads", flush=True)
while s.recv(4096): pass
"""


@fault("clients are killed while they read a stream", "killed")
def killed_readers(site):
    moments = random.Random(1)
    for _ in range(8):
        reader = subprocess.Popen([sys.executable, "-S", "-E", "-c", READER, str(site.server.port)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        reader.stdin.write(stream_of(MAX_TOKENS))
        reader.stdin.close()
        has_begun = reader.stdout.readline() == b"reads\n"
        time.sleep(moments.uniform(0, 0.3))
        reader.kill()
        reader.stdout.close()
        yield "killed" if reader.wait() == -signal.SIGKILL and has_begun else "no stream"


@fault("connections are reset while they read a stream", "reset")
def reset_readers(site):
    linger = b"\1\0\0\0\0\0\0\0"  # struct linger {1, 0}: closing the socket sends a reset
    for _ in range(8):
        connection = site.request(stream_of(MAX_TOKENS))
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.close()
        yield "reset"


@fault("a byte of the head per second", r"(closed|400 invalid_request) after (9|10|11) s")
def slow_heads(site):
    connections = [site.request(b"GET /health HTTP/1.1\r\nA: ") for _ in range(8)]
    start = time.monotonic()
    while connections and time.monotonic() - start < PATIENCE:
        for connection in list(connections):
            if select.select([connection], [], [], 0)[0]:
                connections.remove(connection)
                yield f"{outcome(connection)} after {time.monotonic() - start:.0f} s"
            else:
                connection.send(b"x")
        time.sleep(1)
    yield from ("open" for _ in connections)


@fault("a byte of the body per second", "(closed|408 incomplete_body)",
       start=lambda site: ((), os.devnull, ("--timeout", 8)))
def slow_bodies(site):
    connections = [site.request(head("/tokenize", "Content-Length: 1000")) for _ in range(4)]
    for _ in range(12):
        for connection in connections:
            try:
                connection.send(b" ")
            except OSError:
                pass  # closed
        time.sleep(1)
    yield from outcomes(connections)


@fault("100 connections that send nothing", "closed")
def silent(site):
    yield from outcomes([site.connect() for _ in range(100)])


@fault("100 connections that send half a head", "closed|400 invalid_request")
def half_heads(site):
    yield from outcomes([site.request(b"POST /v1/completions HTTP/1.1\r\nContent-") for _ in range(100)])


@fault("a body of 1 GB, with its length", "413 body_too_large")
def large_body(site):
    parts = itertools.repeat(b" " * MB, 1024)
    yield outcome(site.request(head("/v1/completions", f"Content-Length: {1 << 30}"), *parts))


@fault("a body of 1 GB, in chunks", "413 body_too_large")
def large_chunks(site):
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    parts = itertools.repeat(chunk, (1 << 30) // 0x10000)
    yield outcome(site.request(head("/v1/completions", "Transfer-Encoding: chunked"), *parts, b"0\r\n\r\n"))


@fault("invalid UTF-8 in the body", "400 invalid_json")
def invalid_utf8(site):
    for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"):
        yield outcome(site.request(with_body("/v1/completions", b'{"prompt": "%s"}' % text)))
        yield outcome(site.request(with_body("/tokenize", b'{"%s": 1}' % text)))


@fault("invalid UTF-8 in the path and in headers", "404 unknown_path", "200")
def invalid_names(site):
    yield outcome(site.request(with_body("/\xff\xfe", {}).replace("\xff".encode(), b"\xff")))
    yield outcome(site.request(b"GET /health HTTP/1.1\r\nA\xff: \xfe\r\nB: \xc0\xaf\r\n\r\n"))


@fault("JSON that is nested 10,000 deep", "400 invalid_json")
def deep(site):
    for begin in (b"[", b'{"a":', b'{"prompt": [', b'{"a": "\\"", "b": [1, {"c":'):
        yield outcome(site.request(with_body("/v1/completions", begin * 10000)))
    yield outcome(site.request(with_body("/v1/completions", b'{"prompt": ' + b"[" * 10000 + b"]" * 10000 + b"}")))


@fault("an endless line in the head", "closed|400 invalid_request")
def endless_line(site):
    for begin in (b"", b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\nA: "):
        yield outcome(site.request(begin, *itertools.repeat(b"G" * 65536, 1024)))


@fault("endless headers", "closed|400 invalid_request")
def endless_headers(site):
    for line in (b"A: b\r\n", b"A\n", b"Content-Length: 1\r\n"):
        yield outcome(site.request(b"GET /health HTTP/1.1\r\n", *itertools.repeat(line * 10000, 1024)))


def save(site, seed=1, **more):
    """Returns the status of a request that saves a state, and the id of the state."""
    status, answer = site.server.post("/v1/completions", {"prompt": "The", "max_tokens": 8, "seed": seed, "save": True})
    return code_of(status, answer), None if status != 200 else answer["choices"][0].get("state") or answer.get("state")


def go_on(site, state):
    """Returns the status and the text of a request that goes on from a state."""
    status, answer = site.server.post("/v1/completions", {"prompt": " and", "state": state, "seed": 1})
    return code_of(status, answer), answer["choices"][0]["text"] if status == 200 else None


@fault("kill -9 while states are saved, and a restart", "state kept", "200 ok", may_lose=True)
def killed_server(site):
    texts = {seed: go_on(site, save(site, seed)[1]) for seed in SEEDS}
    saved = []

    def save_states():
        try:
            for seed in itertools.cycle(SEEDS):
                saved.append((seed, save(site, seed)[1]))
        except (OSError, http.client.HTTPException):
            pass  # the server was killed

    saver = threading.Thread(target=save_states)
    saver.start()
    time.sleep(1)
    site.server.kill()
    saver.join()
    site.server.start()
    for seed, state in saved[:20] + saved[-20:]:
        yield "state kept" if go_on(site, state) == texts[seed] else "state lost"
    yield f"200 {json.loads(site.server.get('/health'))['status']}"


@fault("saved states are damaged or removed", "404 state_not_found")
def damaged_states(site):
    whole = (site.states / f"{save(site)[1]}.json").read_bytes()
    for damage in (b"", b"{", b"[]", b"\xff" * 100, b'{"model": 1}', whole[:-2], whole.replace(b"[", b"[-"),
                   b"[" * 100000, b"[" * 100000 + b"]" * 100000, None):
        state = save(site)[1]
        path = site.states / f"{state}.json"
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
        yield go_on(site, state)[0]


@fault("the log is on a full disk", "200", start=lambda site: ((), "/dev/full", ()))
def full_log(site):
    for _ in range(4):
        touch(site)
        site.server.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
    yield code_of(*site.server.post("/admin/reload"))


def with_small_disk(site):
    user = () if os.geteuid() == 0 else ("--map-root-user",)
    mount = f'mount -t tmpfs -o size={TMPFS} none "$0" && exec "$@"'
    return ("unshare", "--mount", *user, "sh", "-c", mount, site.states), os.devnull, ()


@fault("the disk of the states is full", "200", "507 state_not_saved", "200, earlier state", "200, after deleting",
       start=with_small_disk)
def full_disk(site):
    first = save(site)[1]
    status = "200"
    for _ in range(100):
        if status == "200":
            status = save(site)[0]
            yield status
    yield from (save(site)[0] for _ in range(5))
    yield f"{go_on(site, first)[0]}, earlier state"
    for path in site.server.path(site.states).iterdir():
        path.unlink()
    yield f"{save(site)[0]}, after deleting"


@fault("no file descriptors are left", "closed", "503 state_not_read", "507 state_not_saved", "reload fails",
       "200, afterwards",
       start=lambda site: (("prlimit", f"--nofile={FILES}"), os.devnull, ()))
def no_files(site):
    state = save(site)[1]
    kept = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=PATIENCE)
    kept.connect()
    kept.request("GET", "/health")
    kept.getresponse().read()
    silent = [site.connect() for _ in range(3 * FILES)]
    soon(lambda: site.server.files() >= FILES, 5)
    touch(site)
    for path, body in (("/v1/completions", {"prompt": "The", "max_tokens": 1, "save": True}),
                       ("/v1/completions", {"prompt": "The", "state": state}), ("/admin/reload", {})):
        kept.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = kept.getresponse()
        answer_json = json.loads(answer.read())
        yield "reload fails" if answer_json.get("errors") else code_of(answer.status, answer_json)
    kept.close()
    yield from outcomes(silent)
    yield f"{code_of(*site.server.post('/admin/reload', {}))}, afterwards"


def clients_at_once(site, bodies, rounds):
    """Sends each of the bodies several times, each from a client of its own. Returns what they got."""
    got = []

    def client(path, body):
        for _ in range(rounds):
            try:
                got.append(outcome(site.request(with_body(path, body))))
            except OSError as error:  # the server is gone
                got.append(type(error).__name__)

    threads = [threading.Thread(target=client, args=each) for each in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


def with_little_memory(site):
    return ("prlimit", f"--as={site.address_space + MEMORY}"), os.devnull, ()


@fault("too little address space for a prompt", "503 out_of_memory", start=with_little_memory, may_refuse=True,
       may_fill=True)
def little_memory(site):
    scored = {"prompt": "the cat " * 8000, "echo": True, "logprobs": 1, "max_tokens": 0}
    for _ in range(4):
        yield code_of(*site.server.post("/v1/completions", scored))


# Without memory for an error, the server closes a connection. So the other clients may lose answers, too. The server
# itself must go on. It does not always do so, because the destructors of JSON values need memory.
@fault("too little address space for many requests", "200", "503 out_of_memory|closed", start=with_little_memory,
       may_lose=True, may_refuse=True, may_fill=True)
def exhausted_memory(site):
    touch(site)
    cats = "the cat " * 4000
    return clients_at_once(site, [
        ("/v1/completions", {"prompt": cats, "echo": True, "logprobs": 1, "max_tokens": 0}),
        ("/v1/completions", {"prompt": "The", "n": 64, "logprobs": 5, "max_tokens": 100}),
        ("/v1/completions", {"prompt": "The", "save": True}),
        ("/v1/embeddings", {"input": [cats[:800]] * 100}),
        ("/tokenize", {"text": cats * 2}),
        ("/admin/reload", {}),
    ], 6)


@fault("texts beyond --max-memory", "400 invalid_value", "200",
       start=lambda site: ((), os.devnull, ("--max-memory", site.stream_bytes)))
def little_stream_memory(site):
    for _ in range(4):
        yield code_of(*site.server.post("/v1/completions", {"prompt": "The", "max_tokens": MAX_TOKENS}))
    yield code_of(*site.server.post("/v1/completions", {"prompt": "The", "max_tokens": 200, "n": 32}))


def touch(site):
    """Makes the checkpoint look new, so that a reload loads it again."""
    for path in site.model.iterdir():
        os.utime(path)


def reload(site):
    """Reloads the model. Returns its error, as the answer and /health describe it."""
    status, answer = site.server.post("/admin/reload", {})
    error = answer["errors"].get(site.model.name)
    if site.server.models()[0]["error"] != error:
        return "another error in /health"
    return f"{status}, the earlier model stays" if error else f"{status}, reloaded"


@fault("the checkpoint disappears before a reload", "200, the earlier model stays", "200, reloaded")
def missing_checkpoint(site):
    away = site.model.with_name("away")
    for path in (site.model, site.model / "config.json", site.model / "model.safetensors"):
        path.rename(away)
        yield reload(site)
        away.rename(path)
    touch(site)
    yield reload(site)


@fault("the checkpoint is damaged before a reload", "200, the earlier model stays", "200, reloaded")
def damaged_checkpoint(site):
    for name in ("model.safetensors", "config.json"):
        path = site.model / name
        whole = path.read_bytes()
        for damaged in (b"", whole[:-1], whole[:len(whole) // 2], b"\xff" * len(whole), b"[" * 100000):
            path.write_bytes(damaged)
            yield reload(site)
        path.write_bytes(whole)
        yield reload(site)


@fault("the checkpoint is written again during reloads", "200, (the earlier model stays|reloaded)")
def changing_checkpoint(site):
    copy = site.model.with_name("copy")
    shutil.copytree(site.model, copy)
    running = True

    def write():
        while running:
            for path in copy.iterdir():
                (site.model / path.name).write_bytes(path.read_bytes())
                time.sleep(0.003)

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(40):
        yield reload(site)
    running = False
    writer.join()
    shutil.rmtree(copy)
