"""Starts programs that answer requests. Each program is stopped while another one is timed."""
import os
import signal
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Process:
    """A program that answers each line of its input with one line. It is stopped between requests, because active
    waiting would take CPU time from the other programs."""

    def __init__(self, command, environment, core=None):
        bind = ["taskset", "-c", str(core)] if core is not None else []
        self.process = subprocess.Popen(bind + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment}, cwd=HERE)

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
        self.process.kill()
        self.process.wait()
