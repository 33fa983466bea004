"""Answers the requests of Process in process.py."""
import json
import sys


def serve(answers):
    """Answers each line of standard input with one line. `answers` has a function for each request, whose arguments are
    the other words of the line. Answers that are not text are written as JSON."""
    for line in sys.stdin:
        request, *words = line.split()
        answer = answers[request](*words)
        print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)
