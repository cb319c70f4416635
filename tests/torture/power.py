#!/usr/bin/env python3
"""Cuts the power at every moment of a run, and resumes from what a disk may then hold.

    tests/torture/power.py [--cuts N] [--jobs N] [--seed N] [--model MODEL] [--show]

strace records what a small run does to its folder. A cut is a prefix of that record. What was synced is on the disk;
of the rest a file system may keep any part, and five models choose it:

    whole    everything
    synced   names in their order, of files only the synced bytes
    torn     names in their order, unsynced bytes cut at a random place or replaced by zeros
    late     of names, too, only what a sync of their folder followed
    mixed    each unsynced name and each unsynced content drawn: kept, lost or torn

Every cut ends in a folder in which the same command runs again. It must end with 0, with the tensors of the undisturbed
run, and without temporary files. The exit code is 1 if one did not.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from torture import leftovers, start, tensors
from verbs import SSLRUN, TINY, environment

RUN = ["train", TINY, "OPTIMIZER.num_epochs=2", "DATA.TRAIN.DATA_LIMIT=42", "LOSS.swav_loss.queue.start_iter=2",
       "CHECKPOINT.DIR=run"]
MODELS = ("whole", "synced", "torn", "late", "mixed")
CALLS = ("openat,creat,lseek,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,symlink,symlinkat,unlink,"
         "unlinkat,mkdir,mkdirat,ftruncate,copy_file_range,sendfile,mmap")


def calls_of(log):
    """Yields (process, name, arguments, result) of strace's lines; a call that was interrupted is joined again."""
    pending = {}
    for line in open(log, encoding="ascii", errors="replace"):
        process, rest = line.rstrip("\n").split(None, 1)
        if rest.endswith("<unfinished ...>"):
            pending[process] = rest[:-len("<unfinished ...>")]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        if resumed:
            rest = pending.pop(process) + resumed[1]
        m = re.match(r"(\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+)", rest)
        if m:
            yield m[1], m[2], int(m[3], 0)


def text(hexadecimal):
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


class Record:
    """What a run did to its folder, in order, with files as numbers that survive renames."""

    def __init__(self, log, cwd):
        self.cwd, self.events, self.names, self.files = cwd, [], {}, {}
        self.at = {}  # number of an open file -> where its next write goes
        for name, args, result in calls_of(log):
            if result >= 0:
                self.note(name, args, result)

    def path(self, quoted):
        path = os.path.normpath(os.path.join(self.cwd, text(quoted).decode()))
        return path if path.startswith(self.cwd + "/run") else None

    def note(self, name, args, result):
        paths = [self.path(p) for p in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', args)] if "write" not in name else []
        opened = re.match(r"(\d+)<((?:\\x[0-9a-f]{2})+)>", args)
        if name in ("openat", "creat") and paths[0]:
            self.note_open(paths[0], args, result)
        elif name == "mkdir" or name == "mkdirat":
            self.add(("mkdir", paths[0])) if paths[0] else None
        elif name.startswith("rename") and paths[1]:
            self.add(("name", paths[0], None))
            self.add(("name", paths[1], self.names.pop(paths[0])), joined=True)
            self.names[paths[1]] = self.events[-1][2]
        elif name.startswith("symlink") and self.path(re.findall(r'"([^"]*)"', args)[1]):
            target, link = (text(p).decode() for p in re.findall(r'"([^"]*)"', args))
            self.names[os.path.join(self.cwd, link)] = target
            self.add(("name", os.path.join(self.cwd, link), target))
        elif name.startswith("unlink") and paths[0]:
            self.names.pop(paths[0], None)
            self.add(("name", paths[0], None))
        elif opened:
            self.note_file(name, int(opened[1]), self.path(opened[2]), args, result)

    def note_open(self, path, args, result):
        writes = "O_WRONLY" in args or "O_RDWR" in args
        if path not in self.names and "O_CREAT" in args:
            self.names[path] = len(self.files)
            self.files[len(self.files)] = bytearray()
            self.add(("name", path, self.names[path]))
        if writes and "O_TRUNC" in args:
            self.add(("length", self.names[path], 0))
            del self.files[self.names[path]][:]
        if writes:
            self.at[result] = len(self.files[self.names[path]]) if "O_APPEND" in args else 0

    def note_file(self, name, number, path, args, result):
        file = self.names.get(path)
        if path and name in ("fsync", "fdatasync"):
            self.add(("sync", file) if file is not None else ("folder", path))
        elif name == "lseek" and number in self.at:
            self.at[number] = result
        elif isinstance(file, int) and name == "ftruncate":
            length = int(args.split(", ")[1])
            self.add(("length", file, length))
            del self.files[file][length:]
            self.files[file] += bytes(length - len(self.files[file]))
        elif isinstance(file, int) and name in ("write", "writev", "pwrite64"):
            data = b"".join(text(s) for s in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', args))[:result]
            if len(data) != result:
                sys.exit(f"power: strace cut the bytes of a write to {path}")
            where = int(args.rsplit(", ", 1)[1]) if name == "pwrite64" else self.at[number]
            if name != "pwrite64":
                self.at[number] = where + result
            self.put(self.files[file], where, data)
            self.add(("data", file, where, data))
        elif isinstance(file, int) and (name in ("copy_file_range", "sendfile") or "PROT_WRITE" in args and
                                        "MAP_SHARED" in args):
            sys.exit(f"power: {name} on {path} is not followed")

    @staticmethod
    def put(file, where, data):
        file += bytes(max(0, where - len(file)))
        file[where:where + len(data)] = data

    def add(self, event, joined=False):
        """Appends an event. `joined`: it happens together with the one before, as the two halves of a rename do."""
        self.events.append(event + (joined,) if event[0] == "name" else event)


def durable_names(events):
    """Returns for each event whether a sync of the name's folder follows it."""
    follows, result = set(), [False] * len(events)
    for i in range(len(events) - 1, -1, -1):
        if events[i][0] == "folder":
            follows.add(events[i][1])
        elif events[i][0] == "name":
            result[i] = os.path.dirname(events[i][1]) in follows
    return result


def disk_after(events, model, draw):
    """Returns (folders, names, contents) that a disk holds after these events."""
    files, synced, names, folders = {}, {}, {}, []
    durable, keep = durable_names(events), True
    for i, e in enumerate(events):
        if e[0] == "data":
            Record.put(files.setdefault(e[1], bytearray()), e[2], e[3])
        elif e[0] == "length":
            file = files.setdefault(e[1], bytearray())
            del file[e[2]:]
            file += bytes(e[2] - len(file))
        elif e[0] == "sync":
            synced[e[1]] = bytes(files.get(e[1], b""))
        elif e[0] == "mkdir":
            folders.append(e[1])
        elif e[0] == "name":
            if not e[3]:
                keep = durable[i] or model in ("whole", "synced", "torn") or model == "mixed" and draw.random() < 0.5
            if keep and e[2] is None:
                names.pop(e[1], None)
            elif keep:
                names[e[1]] = e[2]
    contents = {}
    for file, data in files.items():
        whole, safe = bytes(data), synced.get(file, b"")
        torn = whole[:draw.randrange(len(whole) + 1)]
        torn = torn if draw.random() < 0.5 else torn + bytes(len(whole) - len(torn))
        kept = {"whole": whole, "synced": safe, "late": safe, "torn": torn}.get(model)
        kept = draw.choice([whole, safe, torn]) if model == "mixed" else kept
        contents[file] = whole if whole == safe else kept
    return folders, names, contents


def record(cwd):
    log = cwd + "/calls"
    command = ["strace", "-f", "-y", "-xx", "-s", "100000000", "-e", "trace=" + CALLS, "-e", "signal=none", "-o", log]
    try:
        p = subprocess.run(command + [SSLRUN] + RUN, cwd=cwd, env=environment(), capture_output=True, check=False)
    except FileNotFoundError:
        sys.exit("power: there is no strace; install it by apt-get install strace")
    if p.returncode != 0:
        sys.exit("power: the run that is recorded does not train:\n" + p.stderr.decode())
    return Record(log, cwd)


def judge(reference, scratch, number, cut, model, seed):
    """Returns what is wrong with the run that goes on after the cut; empty: nothing."""
    cwd = f"{scratch}/cut{number}"
    os.makedirs(cwd)
    try:
        folders, names, contents = disk_after(reference.events[:cut], model, random.Random(f"{seed} {cut} {model}"))
        for folder in folders:
            os.makedirs(folder.replace(reference.cwd, cwd, 1), exist_ok=True)
        for path, file in names.items():
            path = path.replace(reference.cwd, cwd, 1)
            if isinstance(file, str):
                os.symlink(file, path)
            else:
                with open(path, "wb") as f:
                    f.write(contents.get(file, b""))
        code, _, err = start(RUN, cwd, environment())
        if code != 0:
            return f"ends with {code}: {err[-1] if err else ''}"
        if tensors(f"{cwd}/run/checkpoint.safetensors") != tensors(f"{reference.cwd}/run/checkpoint.safetensors"):
            return "other tensors"
        left = leftovers(cwd)
        return f"left {left}" if left else ""
    finally:
        shutil.rmtree(cwd, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cuts", type=int, default=0, help="moments that are drawn for each model; 0: all")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--model", choices=MODELS, action="append")
    p.add_argument("--show", action="store_true", help="print the cuts that were right, too")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="sslrun-power-") as scratch:
        os.makedirs(scratch + "/reference")
        reference = record(scratch + "/reference")
        counts = collections.Counter(e[0] for e in reference.events)
        print(f"power: {len(reference.events)} events: " + ", ".join(f"{n} {k}" for k, n in counts.most_common()))
        cuts = [(cut, model) for model in options.model or MODELS for cut in range(len(reference.events) + 1)]
        if options.cuts:
            draw = random.Random(options.seed)
            cuts = [c for model in options.model or MODELS
                    for c in draw.sample([c for c in cuts if c[1] == model], min(options.cuts, len(reference.events)))]
        tried, wrong = collections.Counter(), collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def one(i):
                return judge(reference, scratch, i, *cuts[i], options.seed)
            for (cut, model), fault in zip(cuts, pool.map(one, range(len(cuts)))):
                tried[model] += 1
                wrong[model] += bool(fault)
                if fault or options.show:
                    last = reference.events[cut - 1][:2] if cut else ""
                    print(f"{model}, cut {cut} after {last}: {fault or 'ok'}", flush=True)
        for model in options.model or MODELS:
            print(f"power, {model}: {tried[model]} cuts, {wrong[model] or 'nothing'} wrong")
    sys.exit(sum(wrong.values()) > 0)


if __name__ == "__main__":
    main()
