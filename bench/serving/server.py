"""Starts weft serve, and reads what its process uses."""
import json
import os
import subprocess
import time
from pathlib import Path

from clients import send

MB = 1 << 20


class Server:
    """A server on a free port. `prefix` are words before the command, such as prlimit with its options. They must
    replace themselves by the server, so that it has their process id."""

    def __init__(self, weft, model, *arguments, prefix=(), log=os.devnull):
        self.command = [str(word) for word in (*prefix, weft, "serve", model, *arguments)]
        self.log, self.port = log, 0
        self.start()

    def start(self):
        """Starts the server. If it has run before, it gets the same port."""
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([*self.command, "--port", str(self.port)], stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.kill()
            raise OSError(f"the server ended with {self.process.wait()}: {' '.join(self.command)}")
        self.port = int(line.rsplit(":", 1)[1])

    def post(self, path, body=None):
        """Returns the status and the JSON of an answer."""
        status, answer = send(self.port, "POST", path, body)
        return status, json.loads(answer)

    def get(self, path):
        return send(self.port, "GET", path)[1].decode()

    def models(self):
        return json.loads(self.get("/health"))["models"]

    def metric(self, name):
        """Returns the sum of a metric over all models."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics").splitlines()
                   if line.startswith(name + "{"))

    def is_alive(self):
        return self.process.poll() is None

    def memory(self, peak=False):
        """Returns the memory in MB that the process has, or the most that it had since reset_peak()."""
        name = "VmHWM:" if peak else "VmRSS:"
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

    def reset_peak(self):
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def address_space(self):
        """Returns the size in bytes of everything that the process has mapped."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def files(self):
        """Returns the number of open files and connections."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def path(self, path):
        """Returns the path of a file as the process sees it, which may have file systems of its own."""
        return Path(f"/proc/{self.process.pid}/root{path}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def soon(condition, seconds=20):
    """Waits until a condition holds. Returns False if it does not hold in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
