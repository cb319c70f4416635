#!/usr/bin/env python3
"""Lets one call fail at every point of a verb, and judges how the verb ends.

    tests/torture/torture.py [VERB ...] [--jobs N] [--seconds N] [--seed N] [--slice I/N] [--only KIND] [--show]

A point is the first call from one chain of callers (tests/torture/inject.c): an allocation, a new thread, or a system
call on files.  Every fault that fits the kind is tried at each point: an error number once, the same error from there
on, or half of the bytes.  After the fault the same command runs again without one.  A point is wrong if the program

    CRASH     ends by a signal or with another exit code than 0, 1 or 2
    HANG      does not end within a minute
    SILENT    fails without a line, or with one that names nothing (libgomp's own line about memory counts as one)
    USAGE     calls a fault of the system an error of usage (exit code 2)
    DAMAGE    ends with 0, another result and not a word about it
    LEFTOVER  leaves a temporary file behind
    AGAIN     does not reach the undisturbed result when the command runs again; it does not run again where the first
              command changed nothing in the folder, since that is how the undisturbed one began

--seconds bounds the points of one verb; points are drawn at random then, and the line of the verb says how many of all
were tried. TMPDIR=/dev/shm keeps the folders in memory, which takes half of the time. The exit code is 1 if a point was
wrong.
"""
import argparse
import collections
import concurrent.futures
import errno
import glob
import hashlib
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from verbs import ROOT, SSLRUN, TINY, VERBS, environment, make_inputs

# Faults of each kind: what SR_INJECT names after the call's number.
FAULTS = {
    "alloc": [f"{errno.ENOMEM}", f"{errno.ENOMEM}:on"],
    "thread": [f"{errno.EAGAIN}"],
    "mmap": [f"{errno.ENOMEM}", f"{errno.ENOMEM}:on"],
    "open": [f"{errno.EMFILE}", f"{errno.EIO}", f"{errno.EINTR}", f"{errno.EMFILE}:on"],
    "read": [f"{errno.EIO}", f"{errno.EINTR}", "short"],
    "write": [f"{errno.ENOSPC}", f"{errno.EIO}", f"{errno.EINTR}", "short", f"{errno.ENOSPC}:on"],
    "fsync": [f"{errno.EIO}"],
    "rename": [f"{errno.ENOSPC}", f"{errno.EROFS}"],
    "close": [f"{errno.EIO}"],
    "unlink": [f"{errno.EROFS}"],
    "create": [f"{errno.EROFS}", f"{errno.ENOSPC}"],
    "stat": [f"{errno.EIO}"],
}


def start(args, cwd, env, program=SSLRUN):
    """Runs the program. Returns (exit code or None after a minute, standard output, lines of standard error)."""
    try:
        p = subprocess.run([program] + args, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                           check=False)
        return p.returncode, p.stdout, p.stderr.decode("utf8", "replace").splitlines()
    except subprocess.TimeoutExpired:
        return None, b"", []


def request(address):
    """Returns the status of a page and its length in hundreds of bytes, since pages hold times. (0, 0): no answer.

    A page that says what cannot be read counts as one that failed.
    """
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            text = answer.read()
            return 503 if b"cannot be read: " in text else answer.status, len(text) // 100
    except urllib.error.HTTPError as e:
        return e.code, 0
    except (OSError, http.client.HTTPException):
        return 0, 0


def serve(verb, cwd, env):
    """Runs a server, requests its pages twice, and ends it. Returns what start() does; the output is the answers."""
    with open(cwd + "/out", "w+b") as out, open(cwd + "/err", "w+b") as err:
        p = subprocess.Popen([verb.program] + verb.args, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        end, port, answers = time.time() + 60, None, []
        while time.time() < end and p.poll() is None and not port:
            time.sleep(0.002)
            port = re.search(r"http://127.0.0.1:(\d+)/", open(cwd + "/out").read())
        if port:
            time.sleep(0.02)  # its threads begin
            answers = [[request(f"http://127.0.0.1:{port[1]}{page}") for page in verb.pages] for _ in range(2)]
        p.send_signal(signal.SIGINT)
        try:
            code = p.wait(60)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            code = None
        err.seek(0)
        return code, answers, err.read().decode("utf8", "replace").splitlines()


def tensors(path):
    """Returns a hash of a checkpoint's tensors alone; its metadata hold times."""
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        f.seek(8 + n)
        return hashlib.sha256(f.read()).hexdigest()


def result_of(verb, cwd, out):
    """Returns what must be equal. A page counts by its length, and a configuration by its lines, since both hold times."""
    if not verb.files:
        return re.sub(rb"\d+:\d\d:\d\d", b"", out) if isinstance(out, bytes) else out
    result = {}  # an index is named by a hash of the folder's path
    for path in sorted(glob.glob(f"{cwd}/{verb.files}")):
        if path.endswith(".html"):
            result[path[len(cwd):]] = os.path.getsize(path) // 1000
        elif path.endswith(".yaml"):
            result[path[len(cwd):]] = open(path).read().count("\n")
        elif path.endswith(".safetensors"):
            result[path[len(cwd):]] = tensors(path)
        elif path.endswith(".index"):
            result["index"] = os.path.getsize(path)
        elif os.path.isfile(path):
            with open(path, "rb") as f:
                result[path[len(cwd):]] = hashlib.sha256(f.read()).hexdigest()
    return result


def state_of(cwd):
    """Returns what changes when anything in a folder is written, made, replaced or removed."""
    paths = [cwd] + [f"{folder}/{n}" for folder, folders, names in os.walk(cwd) for n in folders + names]
    looks = [(path, os.lstat(path)) for path in sorted(paths)]
    return [(path, s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns) for path, s in looks]


def leftovers(cwd):
    return [n for _, folders, names in os.walk(cwd) for n in folders + names if ".tmp" in n or n.startswith("core")]


class Attack:
    """Everything that the points of one verb share."""

    def __init__(self, name, base, scratch):
        self.name, self.verb, self.base, self.scratch = name, VERBS[name], base, scratch
        self.inject = ROOT + "/build/inject.so"
        self.folder("reference")
        code, out, err = self.run("reference", SR_INJECT_POINTS=f"{scratch}/points", injected=True)
        if code != 0:
            sys.exit(f"torture: {name} ends with {code} without a fault:\n" + "\n".join(err))
        self.words = set(err)
        self.reference = result_of(self.verb, f"{scratch}/reference", out)
        self.points = []
        for row in open(f"{scratch}/points"):
            kind, n = row.split()
            self.points += [(kind, int(n), fault) for fault in FAULTS[kind]]

    def folder(self, name):
        path = f"{self.scratch}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        for need in self.verb.needs:
            copy = shutil.copytree if os.path.isdir(f"{self.base}/{need}") else shutil.copy
            if need == "classifier":
                copy(f"{self.base}/classifier/run", f"{path}/run", symlinks=True)
            else:
                copy(f"{self.base}/{need}", f"{path}/{need}")
        return path

    def run(self, name, injected=False, **more):
        if injected:
            more.update(LD_PRELOAD=self.inject, SR_INJECT_COUNTS=f"{self.scratch}/{name}.counts")
        if self.verb.pages:
            return serve(self.verb, f"{self.scratch}/{name}", environment(**more))
        return start(self.verb.args, f"{self.scratch}/{name}", environment(**more), self.verb.program)

    def judge(self, number):
        """Tries point `number`. Returns (its fault, what was wrong, last lines), or None if the call did not come."""
        kind, n, fault = self.points[number]
        name = f"p{number}"
        cwd = self.folder(name)
        before = state_of(cwd)
        try:
            code, out, err = self.run(name, injected=True, SR_INJECT=f"{kind}:{n}:{fault}")
            counts = f"{self.scratch}/{name}.counts"
            if code == 0 and (not os.path.exists(counts) or "happened 1" not in open(counts).read()):
                return None
            own = [line for line in err if line not in self.words]
            wrong = self.faults_of_end(code, cwd, out, own, fault)
            if state_of(cwd) != before:
                wrong += self.faults_of_repeat(name, code)
            return f"{kind}:{n}:{fault}", wrong, own[-3:]
        finally:
            shutil.rmtree(cwd, ignore_errors=True)

    def is_right(self, cwd, out, fault):
        """Tells whether the result is the undisturbed one. A server may answer with an error while the fault lasts."""
        if not self.verb.pages:
            return result_of(self.verb, cwd, out) == self.reference
        right = self.reference[0]
        honest = all(a[0] != 200 or a == r for answers in out for a, r in zip(answers, right))
        answered = [r in pages for r, pages in zip(right, zip(*out))]  # each page, in one of the two rounds
        return honest and (fault.endswith(":on") or len(answered) == len(right) and all(answered))

    def faults_of_end(self, code, cwd, out, own, fault):
        wrong = []
        if code is None:
            wrong.append("HANG")
        elif code not in (0, 1, 2):
            wrong.append(f"CRASH({code})")
        if code in (1, 2) and (not own or any(line.startswith("sslrun: :") for line in own)):
            wrong.append("SILENT")
        if code == 2:
            wrong.append("USAGE")
        if code == 0 and not own and not self.is_right(cwd, out, fault):
            wrong.append("DAMAGE")
        if leftovers(cwd):
            wrong.append("LEFTOVER")
        return wrong

    def faults_of_repeat(self, name, code):
        again, out, err = self.run(name)
        refused = again == 2 and any("exists" in line for line in err)
        if refused and code == 0:
            return []  # the output is there, and the program does not replace it
        if again != 0:
            return [f"AGAIN(exit {again}: {err[-1] if err else ''})"]
        return [] if result_of(self.verb, f"{self.scratch}/{name}", out) == self.reference else ["AGAIN(differs)"]


def draw_order(points, options):
    """Draws the order of the points, of all kinds in turn, so that few of each are tried before most of one."""
    order = [i for i, p in enumerate(points) if options.only in (None, p[0])]
    random.Random(options.seed).shuffle(order)
    seen = collections.Counter()
    turn = {}
    for i in order:
        turn[i] = seen[points[i][0]]
        seen[points[i][0]] += 1
    return sorted(order, key=turn.get)


def attack(name, base, options):
    """Tries the points of a verb and prints those that are wrong. Returns how many there were."""
    with tempfile.TemporaryDirectory(prefix=f"sslrun-torture-{name}-") as scratch:
        a = Attack(name, base, scratch)
        order = draw_order(a.points, options)
        part, parts = map(int, options.slice.split("/"))
        order = order[part - 1::parts]
        tried, bad, kinds, end = 0, 0, {}, time.time() + options.seconds
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def one(i):
                return a.judge(i) if time.time() < end else None
            for judged in pool.map(one, order):
                if not judged:
                    continue
                fault, wrong, lines = judged
                tried += 1
                bad += bool(wrong)
                for w in wrong:
                    kinds[w.split("(")[0]] = kinds.get(w.split("(")[0], 0) + 1
                if wrong or options.show:
                    print(f"{name} {fault}: {' '.join(wrong) or 'ok'}  [{' | '.join(lines)}]", flush=True)
        found = ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())) or "nothing wrong"
        print(f"{name}: {tried} faults injected, of {len(order)}: {found}", flush=True)
        return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verbs", nargs="*", choices=[[], *VERBS], metavar="VERB")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--seconds", type=float, default=75)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", choices=sorted(FAULTS))
    p.add_argument("--slice", default="1/1", help="2/5: the second fifth of the points of each verb")
    p.add_argument("--show", action="store_true", help="print the points that were right, too")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="sslrun-torture-") as base:
        make_inputs(base)
        bad = sum(attack(name, base, options) for name in options.verbs or VERBS)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
