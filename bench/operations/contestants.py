"""Starts the processes that run the work: weft-case and peer.py, each with its own setting."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "machine"))
import isa as isas
from process import BOUND, Process, Setting, core_of, settings


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
        self.made = {}

    def start(self, who, setting):
        environment, threads = setting.environment(), str(setting.threads)
        if who in ("weft", "fftw"):
            command = [str(self.weft_case), "--threads", threads, "--min-time", str(self.min_time),
                       *isas.weft_flags(self.isa)]
            if who == "weft":
                environment.update(BOUND)
        else:
            environment.update(isas.environment(self.isa))
            command = [sys.executable, str(HERE / "peer.py"), who, threads, str(self.min_time),
                       str(isas.Sampler.beside(self.weft_case))]
        return Contestant(who, Process(command, environment, core_of(self.threads)), str(setting))

    def contestants(self, who, role="peer"):
        """Returns the contestants of a program. weft has a single contestant for each role, in a separate process."""
        if (who, role) not in self.made:
            tried = [Setting(self.threads)] if who == "weft" else settings(self.threads)
            self.made[who, role] = [self.start(who, setting) for setting in tried]
        return self.made[who, role]

    def close(self):
        for group in self.made.values():
            for contestant in group:
                contestant.process.close()
