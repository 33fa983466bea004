"""Starts the processes that run the work: weft-case and peer.py, each with its own setting. Chooses the best setting
of each contestant and runs the contestants in turn."""
import json
import math
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "machine"))
import cases as table
import isa as isas
import peer
from options import add_options
from process import BOUND, Process, Setting, core_of, settings
from results import times
from runs import require


def add_team_options(parser, threads="numbers of threads, one after the other"):
    """Adds the options of the scripts that use a Team. `threads` is the help text of --threads."""
    add_options(parser, "cases", "list", "build", "json", repeat=15)
    parser.add_argument("--threads", metavar="N,...", default="1,2",
                        help=threads + " (default: %(default)s)")
    parser.add_argument("--min-time", metavar="S", type=float, default=0.005,
                        help="seconds of a repetition (default: %(default)s)")


def thread_counts(options):
    return sorted({int(count) for count in options.threads.split(",")})


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
        return json.loads(self.process.ask("ran"))


class Team:
    """All contestants with one number of threads. weft is bound to its cores. A peer is not bound to cores. It runs at
    several settings, of which the best one counts. With 1 thread, all contestants are bound to the same core and have
    only one setting."""

    def __init__(self, threads, options, isa=None):
        self.threads, self.build, self.min_time, self.isa = threads, options.build, options.min_time, isa
        self.weft_case = require(self.build / "bench/weft-case")
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
                       str(isas.sampler_library(self.build))]
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


@dataclass
class Runner:
    """A contestant at its best setting and formulation, whose work is prepared."""
    contestant: Contestant
    spec: table.Spec
    formulation: str
    reply: tuple  # (flops, bytes) per call
    trials: list  # one for each setting: {setting, formulation, seconds}
    samples: list = field(default_factory=list)

    def setting(self):
        """Returns the setting as text, and how much slower the other formulations were at their best settings."""
        fastest = {}
        for t in self.trials:
            fastest[t["formulation"]] = min(t["seconds"], fastest.get(t["formulation"], math.inf))
        own = fastest.pop(self.formulation)
        others = [f"{f} {s / own:.1f} x slower" for f, s in fastest.items()]
        return ", ".join([self.contestant.setting] + [self.formulation] * (self.formulation != "-") + others)

    def record(self, isa):
        measured, flops = times(self.samples), table.nominal_flops(self.spec)
        return {"setting": self.setting(), "kind": self.spec.kind, "b": self.spec.b, "n": self.spec.n, "d": self.spec.d,
                **measured, "gflops": flops / measured["seconds"] * 1e-9 if flops else None,
                **isas.record(self.contestant.ran(), isa), "trials": self.trials}


def best_runner(contestants, spec):
    """Returns the contestant with the lowest median of three runs, or None if none of them supports the work."""
    best, trials = None, []
    for contestant in contestants:
        for formulation in peer.formulations(spec.kind) if contestant.who == "torch" else ["-"]:
            if contestant.make(spec, formulation) is None:
                continue
            seconds = statistics.median(contestant.run() for _ in range(3))
            trials.append({"setting": contestant.setting, "formulation": formulation, "seconds": seconds})
            if best is None or seconds < best[0]:
                best = seconds, contestant, formulation
    if best is None:
        return None
    for other in contestants:
        if other is not best[1]:
            other.make(table.Spec("c2c", 1, 2))  # frees the memory
    return Runner(best[1], spec, best[2], best[1].make(spec, best[2]), trials)


def alternate(runners, repeat):
    """Times the contestants in turn."""
    for _ in range(repeat):
        for runner in runners:
            runner.samples.append(runner.contestant.run())
