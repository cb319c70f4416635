#!/usr/bin/env python3
"""Measures the seconds from exec to the end of the first training step with real data: the time that a user waits.

usage: first_step.py SSLRUN CONFIG [KEY=VALUE ...]     five starts, each in its own run folder

The program writes a line of stdout.json after each update (LOG_FREQUENCY=1); the clock stops when the first is there.
"""
import os
import subprocess
import sys
import tempfile
import time


def one(program, words):
    with tempfile.TemporaryDirectory() as folder:
        args = [program, *words, f"CHECKPOINT.DIR={folder}", "LOG_FREQUENCY=1", "TEST_MODEL=False"]
        path = f"{folder}/stdout.json"
        began = time.perf_counter()
        run = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while run.poll() is None and not (os.path.exists(path) and os.path.getsize(path) > 0):
            time.sleep(0.001)
        seconds = time.perf_counter() - began
        run.kill()
        run.wait()
        return seconds


times = sorted(one(sys.argv[1], sys.argv[2:]) for _ in range(5))
print("first step after " + ", ".join(f"{t:.2f}" for t in times) + f" s; median {times[2]:.2f} s")
