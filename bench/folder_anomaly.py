#!/usr/bin/python3
"""Image AUROC of `sslrun anomaly` on defects that are planted into pictures of Fashion-MNIST (MIT licence).

usage: folder_anomaly.py SSLRUN OUT.csv MODEL ...

MODEL: a name and the arguments of `anomaly fit`, in one word: "resnet20=--model resnet20 --weights FILE --size 64
--layers layer2,layer3".  Each category has 100 good pictures to fit, 50 to test, and 25 with each defect: a scratch, a
hole, two swapped quarters, blur.  Needs Debian's dataset-fashion-mnist and python3-numpy.
"""
import csv
import gzip
import io
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

DATA = "/usr/share/datasets/fashion-mnist/"
CATEGORIES = {"trouser": 1, "pullover": 2, "sneaker": 7, "bag": 8, "boot": 9}
FIT, GOOD, DEFECTS = 100, 50, 25


def pictures(category):
    def load(name, skip):
        return np.frombuffer(gzip.open(DATA + name).read(), np.uint8)[skip:]
    label = load("train-labels-idx1-ubyte.gz", 8)
    return load("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)[label == category]


def png(path, grey):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    h, w = grey.shape
    raw = b"".join(b"\0" + row.tobytes() for row in grey)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def scratch(x, draw):
    y, slope, start = draw.integers(8, 20), draw.uniform(-0.5, 0.5), draw.integers(4, 12)
    for i in range(12):
        row = int(np.clip(y + slope * i, 0, 27))
        x[row, start + i] = 255 - x[row, start + i]
    return x


def hole(x, draw):
    y, z = draw.integers(8, 18, 2)
    x[y:y + 4, z:z + 4] = 0 if x[y:y + 4, z:z + 4].mean() > 64 else 220
    return x


def swap(x, draw):
    if draw.integers(2):
        x[:14], x[14:] = x[14:].copy(), x[:14].copy()
    else:
        x[:, :14], x[:, 14:] = x[:, 14:].copy(), x[:, :14].copy()
    return x


def blur(x, draw):
    wide = np.pad(x.astype(float), 2, mode="edge")
    return (sum(wide[a:a + 28, b:b + 28] for a in range(5) for b in range(5)) / 25).astype(np.uint8)


def make(folder, category):
    draw = np.random.default_rng(category)
    all_of = pictures(category)
    all_of = all_of[draw.permutation(len(all_of))]
    kinds = [("fit/x", FIT, None), ("test/good", GOOD, None), ("test/scratch", DEFECTS, scratch),
             ("test/hole", DEFECTS, hole), ("test/swap", DEFECTS, swap), ("test/blur", DEFECTS, blur)]
    first = 0
    for name, n, change in kinds:
        for i in range(n):
            x = all_of[first + i].copy()
            png(f"{folder}/{name}/{i:03}.png", change(x, draw) if change else x)
        first += n


def run(command):
    began = time.time()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return out, time.time() - began


def main():
    sslrun, out, *models = sys.argv[1:]
    with open(out, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["category", "model", "method", "kind", "auroc", "images", "found", "fit_seconds",
                        "score_seconds", "largest_mb_so_far"])
        for name, category in CATEGORIES.items():
            with tempfile.TemporaryDirectory(dir=".") as folder:
                make(folder, category)
                for model in models:
                    label, words = model.split("=", 1)
                    for method in ("patchcore", "padim"):
                        detector = os.path.join(folder, "d.safetensors")
                        more = ["--padim"] if method == "padim" else []
                        _, fit = run([sslrun, "-q", "anomaly", "fit", folder + "/fit", *words.split(), *more, "--out",
                                      detector])
                        text, score = run([sslrun, "-q", "anomaly", "eval", detector, folder + "/test", "--csv"])
                        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                        for row in csv.DictReader(io.StringIO(text)):
                            table.writerow([name, label, method, row["kind"], row["auroc"], row["images"],
                                            row["found"], f"{fit:.1f}", f"{score:.1f}", f"{peak:.0f}"])
                        file.flush()


main()
