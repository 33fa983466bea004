"""Clients of weft serve whose answers are compared with the answers that the same requests had before."""
import http.client
import json
import threading
import time

SEEDS = range(4)


def send(port, method, path, body=None, timeout=60):
    """Returns the status and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Refused(OSError):
    """The server has no room for a request at the moment."""


def text_of(port, seed, tokens, stream=False):
    """Returns a text that the server continues."""
    status, answer = send(port, "POST", "/v1/completions",
                          {"prompt": "The", "max_tokens": tokens, "seed": seed, "stream": stream})
    if status != 200:
        raise (Refused if status in (429, 503) else OSError)(f"status {status}: {answer[:200]!r}")
    if not stream:
        return json.loads(answer)["choices"][0]["text"]
    *events, end, _ = answer.decode().split("\n\n")
    parts = [json.loads(event.removeprefix("data: ")) for event in events if event != "data: [DONE]"]
    for part in parts:
        if "error" in part:
            raise (Refused if part["error"]["code"] == "out_of_memory" else OSError)(str(part["error"]))
    if end != "data: [DONE]":
        raise OSError("a stream was cut off")
    return "".join(part["choices"][0]["text"] for part in parts)


def texts_of(port, tokens):
    """Returns the texts for all SEEDS."""
    return [text_of(port, seed, tokens) for seed in SEEDS]


class Clients:
    """Threads that send requests to a port until they are stopped. Half of them read streams. `expected` are the texts
    of texts_of()."""

    def __init__(self, port, count, tokens, expected, pause=0):
        self.port, self.tokens, self.expected, self.pause, self.running = port, tokens, expected, pause, True
        self.right, self.wrong, self.refused, self.lost, self.times = 0, 0, [], [], []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.send_all, args=(i,)) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def send_all(self, client):
        seed = client
        while self.running:
            seed = (seed + 1) % len(self.expected)
            start = time.monotonic()
            try:
                is_right = text_of(self.port, seed, self.tokens, stream=client % 2 == 0) == self.expected[seed]
                with self.lock:
                    self.right += is_right
                    self.wrong += not is_right
            except Refused as error:
                self.refused.append(str(error))
            except Exception as error:  # whatever a wrong answer causes
                self.lost.append(f"{type(error).__name__}: {error}")
            self.times.append(time.monotonic() - start)
            time.sleep(self.pause)

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()
