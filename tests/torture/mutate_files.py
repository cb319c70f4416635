#!/usr/bin/env python3
"""Damages strangers' files in ways that a seed draws, and lets the program read them in batches.

    tests/torture/mutate_files.py [--count N] [--seed N] [--kinds K,...] [--program FILE] [--jobs N] [--replay KIND:NUMBER]

The fuzzers of tests/fuzz try more inputs, up to 4 or 8 kB each, inside one reader. This script tries whole files of real
size with the whole program as it is installed, and asks what a user would ask:

    CRASH     the program ends by a signal, or with another exit code than 0, 1 or 2
    HANG      a batch does not end within minutes
    MEMORY    it needs more memory than its documents allow
    SILENT    it refuses a file without one line that names it, or the key of a configuration
    UNNAMED   `tidy` neither reads a picture nor names it

Pictures are read by `tidy`, a folder of 1,000 at a time; weights by `inspect --stats`, features by `knn`, shards by
`tidy`, and configurations by `check`, one file each. A file that is wrong stays in build/mutants. The exit code is 1 if
there is one.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
BATCH = 1000
# Share of all mutations, and the most memory in MiB beyond the file's size. A picture has up to 178 million pixels of 3
# bytes, one in each of two threads.
KINDS = {"image": (0.70, 1400), "weights": (0.15, 64), "features": (0.06, 128), "shard": (0.06, 1400),
         "config": (0.03, 128)}
KEY = re.compile(r"\b[A-Z_]+(\.[A-Za-z_]+)+")
ENDINGS = {"cmyk": "jpg", "gray": "jpg", "jpeg": "jpg", "progressive": "jpg", "turned": "jpg", "lossless": "webp",
           "lossy": "webp", "moving": "webp", "transparent": "webp", "pnm": "ppm"}
KNOWN = ("jpg", "png", "webp", "tif", "heic", "avif", "gif", "bmp", "ppm", "dcm")


def ending_of(name):
    """Returns the ending of a seed, from its name or from its beginning such as "tif_..."; None: it has none."""
    ending = name.rsplit(".", 1)[-1] if "." in name else ENDINGS.get(name.split("_")[0], name.split("_")[0])
    return ending if ending in KNOWN else None


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def run(args, timeout, program):
    """Returns (exit code or None after the time, standard output, standard error, largest resident bytes)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        env = dict(os.environ, LC_ALL="C.UTF-8", OMP_NUM_THREADS="2" if args[0] == "tidy" else "1")
        p = subprocess.Popen([program] + args, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        until, usage = time.monotonic() + timeout, None
        while usage is None:
            pid, status, usage = os.wait4(p.pid, os.WNOHANG)
            if pid == 0:
                usage = None
                if time.monotonic() > until:
                    p.kill()
                    os.wait4(p.pid, 0)
                    p.returncode = -9
                    return None, "", "", 0
                time.sleep(0.002)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return (p.returncode, out.read().decode("utf8", "replace"), err.read().decode("utf8", "replace"),
                usage.ru_maxrss * 1024)


# ---- the corpus

def seeds_of(name):
    """The inputs of a fuzzer's corpus, by name."""
    out = {}
    with tarfile.open(os.path.join(ROOT, f"tests/fuzz/corpus/{name}.tar.gz")) as tar:
        for member in tar.getmembers():
            if member.isfile():
                out[os.path.basename(member.name)] = tar.extractfile(member).read()
    return out


def make_corpus(work, program):
    """Returns lists of (ending, bytes) by kind, from the tree's files and from what the program itself writes."""
    corpus = collections.defaultdict(list)
    # The fuzzer's inputs begin with two bytes that choose transforms, and come whole, bent and cut.
    seeds = {name: data[2:] for name, data in seeds_of("image").items() if not name.endswith(("_bent", "_cut"))}
    pictures = {os.path.basename(p): read(p) for p in sorted(glob.glob(ROOT + "/tests/data/files/*"))}
    for name, data in sorted(seeds.items()) + sorted(pictures.items()):
        ending = ending_of(name)
        if ending and data and (ending, data) not in corpus["image"]:
            corpus["image"].append((ending, data))
    for path in sorted(glob.glob(ROOT + "/tests/formats/files/*")):
        corpus["weights"].append((path.rsplit(".", 1)[-1], read(path)))
    images = os.path.join(work, "images")
    for i, (name, data) in enumerate(sorted(pictures.items())):
        folder = os.path.join(images, "ab"[i % 2])
        os.makedirs(folder, exist_ok=True)
        write(os.path.join(folder, name), data)
    run_dir = os.path.join(work, "run")

    def need(*args):
        code, _, err, _ = run(list(args), 300, program)
        if code != 0:
            sys.exit(f"mutate_files: {' '.join(args)}: exit code {code}\n{err}")
    need("train", "tests/cli/tiny.yaml", "CHECKPOINT.DIR=" + run_dir, "OPTIMIZER.num_epochs=1")
    for ending in ("safetensors", "pth", "npz"):
        need("convert", run_dir, os.path.join(work, "w." + ending))
        corpus["weights"].append((ending, read(os.path.join(work, "w." + ending))))
    corpus["weights"].append(("safetensors", read(os.path.join(run_dir, "checkpoint.safetensors"))))
    rows = os.path.join(work, "rows")
    need("extract", run_dir, "--nodes", "flatten", "--data", images, "--out", rows)
    features = sorted(glob.glob(rows + "/*.safetensors"))[0]
    for ending in ("npz", "safetensors", "pth"):
        path = os.path.join(work, "f." + ending)
        need("convert", features, path)
        need("knn", features, path)
        corpus["features"].append((ending, read(path)))
    shards = os.path.join(work, "shards")
    need("pack", images, "--out", shards)
    for path in sorted(glob.glob(shards + "/*.tar")):
        corpus["shard"].append(("tar", read(path)))
    for pattern in ("configs/*.yaml", "tests/cli/*.yaml"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            corpus["config"].append(("yaml", read(path)))
    return corpus


# ---- mutations

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF,
            0xFFFFFFFFFFFFFFFF)


def flip(rng, data, others):
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = place(rng, data)
        data[at] ^= 1 << rng.randrange(8)


def cut(rng, data, others):
    del data[place(rng, data):]


def number(rng, data, others):
    """A length, an offset or a count becomes another one."""
    size = rng.choice((1, 2, 4, 8))
    at = place(rng, data)
    old = data[at:at + size]
    order = rng.choice(("little", "big"))
    value = int.from_bytes(old, order) + rng.choice((-1, 1, 2, 256, -256)) if rng.random() < 0.5 else rng.choice(EXTREMES)
    data[at:at + size] = (value % (1 << (8 * len(old)))).to_bytes(len(old), order)


def digits(rng, data, others):
    """A number that is written in digits becomes another one."""
    at = place(rng, data)
    while at < len(data) and not 0x30 <= data[at] <= 0x39:
        at += 1
    end = at
    while end < len(data) and 0x30 <= data[end] <= 0x39:
        end += 1
    data[at:end] = rng.choice((b"0", b"-1", b"7", b"4294967296", b"99999999999999999999", b"1e400", b"0.5"))


def splice(rng, data, others):
    """The beginning of one file and the end of another."""
    other = rng.choice(others)[1]
    data[place(rng, data):] = other[rng.randrange(len(other)) if other else 0:]


def repeat(rng, data, others):
    at, n = place(rng, data), rng.choice((1, 4, 16, 256))
    data[at:at] = data[at:at + n] * rng.choice((1, 3, 50))


def drop(rng, data, others):
    at = place(rng, data)
    del data[at:at + rng.choice((1, 2, 4, 16, 200))]


def blank(rng, data, others):
    at, n = place(rng, data), rng.choice((1, 4, 16, 256))
    data[at:at + n] = bytes([rng.choice((0, 0xFF, 0x20))]) * len(data[at:at + n])


def place(rng, data):
    """Half of the places are in the first bytes, where headers are."""
    if not data:
        return 0
    return rng.randrange(min(len(data), 128) if rng.random() < 0.5 else len(data))


MUTATIONS = (flip, flip, number, number, digits, cut, splice, repeat, drop, blank)


def mutant(kind, index, seed, corpus):
    """Returns (ending, bytes) of a file; the same for a seed, whatever else is tried."""
    rng = random.Random(f"{seed} {kind} {index}")
    ending, data = rng.choice(corpus)
    data = bytearray(data)
    same = [x for x in corpus if x[0] == ending]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if data:
            rng.choice(MUTATIONS)(rng, data, same if rng.random() < 0.8 else corpus)
    return ending, bytes(data)


# ---- judging

class Judge:
    def __init__(self, options, corpus, work):
        self.o, self.corpus, self.work = options, corpus, work
        self.kept = os.path.join(ROOT, "build", "mutants")
        self.wrong = []
        self.counts = collections.Counter()
        self.peak = collections.Counter()

    def blame(self, kind, what, index, ending, data, text):
        os.makedirs(self.kept, exist_ok=True)
        path = os.path.join(self.kept, f"{what.lower()}-{kind}-{index}.{ending}")
        write(path, data)
        self.wrong.append(what)
        print(f"  {what} {kind}:{index}, kept as {os.path.relpath(path, ROOT)}: {text.strip()[-300:]}", flush=True)

    def batch(self, first, n):
        """A folder of n pictures by `tidy`. A batch that crashes, hangs or takes too much is halved."""
        files = {}
        folder = os.path.join(self.work, f"batch-{first}-{n}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for i in range(first, first + n):
            ending, data = mutant("image", i, self.o.seed, self.corpus["image"])
            files[i] = (ending, data)
            write(os.path.join(folder, f"{i}.{ending}"), data)
        keep = folder + ".txt"
        code, out, err, peak = run(["tidy", folder, "--json", "--keep", keep, "--drop", "unreadable"], 60 + n, self.o.program)
        self.peak["image"] = max(self.peak["image"], peak)
        bad = "HANG" if code is None else "CRASH" if code not in (0, 1, 2) else \
            "MEMORY" if peak > KINDS["image"][1] * MIB else "SILENT" if code else None
        if bad and n > 1:
            shutil.rmtree(folder)
            for at in range(first, first + n, max(n // 2, 1)):
                self.batch(at, min(max(n // 2, 1), first + n - at))
            return
        if bad:
            self.blame("image", bad, first, *files[first], f"exit code {code}, {peak} bytes: {err}")
        else:
            refused = {}
            for line in out.splitlines():
                finding = json.loads(line)
                if finding["issue"] == "unreadable":
                    refused[os.path.basename(finding["file"])] = finding.get("reason", "")
            kept = {os.path.basename(line) for line in read(keep).decode("utf8").splitlines()}
            for i, (ending, data) in files.items():
                name = f"{i}.{ending}"
                self.counts["image read" if name in kept else "image named"] += 1
                if (name in kept) == (name in refused) or (name in refused and not refused[name]):
                    self.blame("image", "UNNAMED", i, ending, data, refused.get(name, "neither read nor named"))
        shutil.rmtree(folder)
        if os.path.exists(keep):
            os.remove(keep)

    def one(self, kind, index):
        ending, data = mutant(kind, index, self.o.seed, self.corpus[kind])
        folder = os.path.join(self.work, f"{kind}-{index}")
        os.makedirs(folder)
        path = os.path.join(folder, f"x.{ending}")
        write(path, data)
        args = {"weights": ["inspect", path, "--stats"], "features": ["knn", os.path.join(self.work, "f.npz"), path], "shard": ["tidy", folder],
                "config": ["check", path]}[kind]
        code, out, err, peak = run(args, 120, self.o.program)
        self.peak[kind] = max(self.peak[kind], peak - len(data))
        last = err.strip().splitlines()[-1] if err.strip() else ""
        if code is None or code not in (0, 1, 2):
            self.blame(kind, "HANG" if code is None else "CRASH", index, ending, data, f"exit code {code}: {err}")
        elif peak - len(data) > KINDS[kind][1] * MIB:
            self.blame(kind, "MEMORY", index, ending, data, f"{peak} bytes for {len(data)}: {err}")
        elif code and not (last.startswith("sslrun: ") and (folder in last or kind == "config" and KEY.search(last))):
            self.blame(kind, "SILENT", index, ending, data, f"exit code {code}: {err}")
        self.counts[f"{kind} read" if code == 0 else f"{kind} named"] += 1
        shutil.rmtree(folder)

    def all_of(self, kind, count):
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(1 if kind == "image" else self.o.jobs) as pool:
            if kind == "image":
                jobs = [pool.submit(self.batch, at, min(BATCH, count - at)) for at in range(0, count, BATCH)]
            else:
                jobs = [pool.submit(self.one, kind, i) for i in range(count)]
            for job in concurrent.futures.as_completed(jobs):
                job.result()
        print(f"{kind}: {count} files of {len(self.corpus[kind])} seeds: {self.counts[kind + ' read']} read, "
              f"{self.counts[kind + ' named']} refused by name; {self.peak[kind] / MIB:.0f} MiB at most, "
              f"{time.monotonic() - began:.0f} s", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--count", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kinds", default=",".join(KINDS))
    p.add_argument("--program", default=os.path.join(ROOT, "sslrun"))
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--replay", help="write one file, KIND:NUMBER, to build/mutants")
    o = p.parse_args()
    o.program = os.path.abspath(o.program)
    work = tempfile.mkdtemp(prefix="sslrun-mutants-")
    try:
        judge = Judge(o, make_corpus(work, o.program), work)
        if o.replay:
            kind, index = o.replay.split(":")
            judge.blame(kind, "REPLAY", int(index), *mutant(kind, int(index), o.seed, judge.corpus[kind]), "")
            return
        for kind in o.kinds.split(","):
            if judge.corpus[kind]:
                judge.all_of(kind, int(o.count * KINDS[kind][0] + 0.5))
        print(f"mutate-files: seed {o.seed}, {sum(judge.counts.values())} files, {len(judge.wrong)} wrong")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(bool(judge.wrong))


if __name__ == "__main__":
    main()
