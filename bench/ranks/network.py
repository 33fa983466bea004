"""Several hosts on this machine: network namespaces with their own addresses, and a relay between them.

Each host has a virtual network card (TAP). The relay, a process of its own, reads the frames of all cards and writes
them to the card of their destination, as late as links with a certain rate and latency would deliver them. Making
namespaces and cards needs root."""
import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections import deque
from fcntl import ioctl
from pathlib import Path

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME = 65000    # bytes; larger frames than those of real networks cost the relay less time
AHEAD = 0.0005   # seconds that the relay may take frames before a host's link is free
SUBNET = "10.77.0"


def host(i):
    """The name of the i-th host, from 0: of its namespace and of its card."""
    return f"weft{i + 1}"


def address(i):
    return f"{SUBNET}.{i + 1}"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def open_card(i):
    """Makes the card of host i, and returns the descriptor that reads what the host sends."""
    card = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    ioctl(card, TUNSETIFF, struct.pack("16sH22x", host(i).encode(), IFF_TAP | IFF_NO_PI))
    ip("link", "set", host(i), "netns", host(i))
    ip("-n", host(i), "link", "set", "lo", "up")
    ip("-n", host(i), "address", "add", f"{address(i)}/24", "dev", host(i))
    ip("-n", host(i), "link", "set", host(i), "mtu", str(FRAME), "up")
    return card


def relay(cards, rate, latency):
    """Passes frames on until the process is killed. Each host sends at most `rate` bit/s and receives as many (0: no
    limit), and each frame arrives `latency` seconds after its last bit was sent."""
    known = {}                          # a card's hardware address: its descriptor
    sends = dict.fromkeys(cards, 0.0)   # the time at which its link has sent everything
    takes = dict.fromkeys(cards, 0.0)   # the time at which its link has received everything
    under_way = {card: deque() for card in cards}
    while True:
        now = time.monotonic()
        for card, frames in under_way.items():
            while frames and frames[0][0] <= now:
                with contextlib.suppress(OSError):  # a host whose card is down receives nothing
                    os.write(card, frames.popleft()[1])
        free = [card for card in cards if sends[card] <= now + AHEAD]
        times = [frames[0][0] for frames in under_way.values() if frames]
        times += [at - AHEAD for at in sends.values() if at > now + AHEAD]
        for card in select.select(free, [], [], max(0.0, min(times) - now) if times else None)[0]:
            try:
                frame = os.read(card, 1 << 17)
            except OSError:
                continue
            known[frame[6:12]] = card
            duration = 8 * len(frame) / rate if rate else 0.0
            sends[card] = max(time.monotonic(), sends[card]) + duration
            one = known.get(frame[:6])
            for to in cards if one is None else [one]:
                if to != card:
                    takes[to] = max(sends[card], takes[to] + duration)
                    under_way[to].append((takes[to] + latency, frame))


class Network:
    """Some hosts, which exist as long as the object is in use (with)."""

    def __init__(self, count):
        self.count = count
        self.process = None

    def __enter__(self):
        for i in range(self.count):
            if Path("/run/netns", host(i)).exists():
                sys.exit(f"network: there already is a namespace {host(i)}: ip netns delete {host(i)} removes it")
        for i in range(self.count):
            ip("netns", "add", host(i))
        return self

    def __exit__(self, *_):
        self.disconnect()
        for i in range(self.count):
            subprocess.run(["ip", "netns", "delete", host(i)], check=False)

    def connect(self, rate=0.0, latency=0.0):
        """Connects the hosts by links of this rate (bit/s; 0: no limit) and latency (s), in place of earlier ones."""
        self.disconnect()
        words = [sys.executable, __file__, str(self.count), str(rate), str(latency)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("network: the relay could not be started")

    def disconnect(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def take_down(self, i):
        """Host i is no longer connected."""
        ip("-n", host(i), "link", "set", host(i), "down")

    def mpirun(self, ranks, folder):
        """The words that start `ranks` ranks, one on each host, with mpirun on the first host. mpirun reaches the other
        hosts by a program that it believes to be ssh."""
        agent = folder / "agent"
        agent.write_text("#!/bin/sh\nnamespace=weft${1##*.}\nshift\n"
                         "exec ip netns exec $namespace unshare --uts sh -c \"hostname $namespace; $*\"\n")
        agent.chmod(0o755)
        hosts = folder / "hosts"
        hosts.write_text("".join(f"{address(i)} slots=1\n" for i in range(ranks)))
        network = ["oob_tcp_if_include", "btl_tcp_if_include"]
        return ["ip", "netns", "exec", host(0), "mpirun", "--allow-run-as-root", "--hostfile", hosts, "-n", ranks,
                "--bind-to", "none", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self",
                *[word for name in network for word in ("--mca", name, f"{SUBNET}.0/24")],
                # A host that doesn't answer for four seconds is lost.
                *[word for name, seconds in (("time", 2), ("intvl", 1), ("probes", 2))
                  for word in ("--mca", f"oob_tcp_keepalive_{name}", seconds)]]


if __name__ == "__main__":
    own_cards = [open_card(i) for i in range(int(sys.argv[1]))]
    print("ready", flush=True)
    relay(own_cards, float(sys.argv[2]), float(sys.argv[3]))
