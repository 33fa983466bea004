"""Starts programs that answer requests, at each setting of a peer. Each program is stopped while another one is
timed."""
import atexit
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BOUND = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}  # binds weft's threads to cores


class Setting(NamedTuple):
    """A peer's number of threads and OMP_WAIT_POLICY."""
    threads: int
    policy: str | None = None

    def __str__(self):
        return f"{self.threads} thread{'s' * (self.threads > 1)}" + (f", {self.policy}" if self.policy else "")

    def environment(self):
        return {"OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads),
                "OPENBLAS_NUM_THREADS": str(self.threads), **({"OMP_WAIT_POLICY": self.policy} if self.policy else {})}


def settings(threads):
    """Returns the settings at which a peer is tried. A single thread never waits, so it needs no policy."""
    waiting = [Setting(threads, policy) for policy in ("active", "passive")] if threads > 1 else []
    return [*waiting, Setting(1)]


def end_on_sigterm():
    """Ends the script on SIGTERM by an exception, so that it kills the programs that it started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def core_of(threads):
    """Returns the core to which weft and its peers are bound if they use one thread."""
    return min(os.sched_getaffinity(0)) if threads == 1 else None


class Process:
    """A program that answers each line of its input with one line. It is stopped between requests, because active
    waiting would take CPU time from the other programs."""

    def __init__(self, command, environment, core=None):
        bind = ["taskset", "-c", str(core)] if core is not None else []
        self.process = subprocess.Popen(bind + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment}, cwd=HERE)
        atexit.register(self.close)  # if the script ends before it closes the process

    def ask(self, request):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()} at: {request}")
        if answer.startswith("error"):
            raise RuntimeError(answer)
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def close(self):
        atexit.unregister(self.close)
        self.process.kill()
        self.process.wait()
