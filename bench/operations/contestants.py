"""Starts the processes that run the work: weft-case and peer.py, each with its own setting."""
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "machine"))
import isa as isas
from process import Process


class Contestant:
    """A process of weft or a peer at one setting, with the name of the setting."""

    def __init__(self, who, process, setting):
        self.who, self.process, self.setting = who, process, setting

    def make(self, spec, formulation="-"):
        """Prepares the work. Returns (flops, bytes) per call, or None if the contestant does not support the work."""
        prefix = f"case {self.who} " if self.who in ("weft", "fftw") else "case "
        suffix = "" if self.who in ("weft", "fftw") else f" {formulation}"
        answer = self.process.ask(prefix + spec.request() + suffix).split()
        return None if answer[0] == "none" else (float(answer[1]), float(answer[2]))

    def run(self):
        return float(self.process.ask("run"))

    def ran(self):
        """Makes more calls and returns samples of their vector instructions."""
        kinds = self.process.ask("ran").split()
        return dict(zip(kinds[::2], map(int, kinds[1::2])))


class Team:
    """All contestants with one number of threads. weft is bound to its cores. A peer is not bound to cores. It runs at
    several settings, of which the best one counts. With 1 thread, all contestants are bound to the same core and have
    only one setting."""

    def __init__(self, threads, weft_case, min_time, isa=None):
        self.threads, self.weft_case, self.min_time, self.isa = threads, weft_case, min_time, isa
        self.core = min(os.sched_getaffinity(0)) if threads == 1 else None
        self.made = {}

    def settings(self):
        """Returns a peer's settings (threads, OMP_WAIT_POLICY). A single thread never waits, so it needs no policy."""
        if self.threads == 1:
            return [(1, None)]
        return [(1, None), (self.threads, "active"), (self.threads, "passive")]

    def start(self, who, threads, policy):
        environment = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        if policy:
            environment["OMP_WAIT_POLICY"] = policy
        if who in ("weft", "fftw"):
            command = [str(self.weft_case), "--threads", str(threads), "--min-time", str(self.min_time),
                       *isas.weft_flags(self.isa)]
            if who == "weft":
                environment.update(OMP_PROC_BIND="true", OMP_PLACES="cores")
        else:
            environment.update(isas.environment(self.isa))
            command = [sys.executable, str(HERE / "peer.py"), who, str(threads), str(self.min_time),
                       str(isas.Sampler.beside(self.weft_case))]
        setting = f"{threads} thread{'s' if threads > 1 else ''}" + (f", {policy}" if policy else "")
        return Contestant(who, Process(command, environment, self.core), setting)

    def contestants(self, who, role="peer"):
        """Returns the contestants of a program. weft has a single contestant for each role, in a separate process."""
        if (who, role) not in self.made:
            settings = [(self.threads, None)] if who == "weft" else self.settings()
            self.made[who, role] = [self.start(who, threads, policy) for threads, policy in settings]
        return self.made[who, role]

    def close(self):
        for group in self.made.values():
            for contestant in group:
                contestant.process.close()
