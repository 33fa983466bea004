#!python
"""The command weft. It is part of the package's module."""
import os
import signal
import sys

from weft._weft import run_command

# Python handles these signals itself, and only after the command ends. Here they do what they do in other programs.
for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
sys.exit(run_command([os.fsencode(word) for word in sys.argv]))
