#!/usr/bin/python3
"""PatchCore from its paper (Roth et al., CVPR 2022) in plain NumPy, next to `sslrun anomaly`.

usage: patchcore.py SSLRUN WEIGHTS

WEIGHTS: resnet20-12fca82f.th of github.com/akamaster/pytorch_resnet_cifar10.  Features come from `sslrun extract`, which
zoo.py compares with torchvision; pooling, bank and scores are computed here.  Images are noise with and without a square.
Two layers have 96 channels, so that no random projection takes part.  Without NumPy the script says so and passes.
"""
import csv
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy as np
except ImportError as error:
    print(f"patchcore: skipped, {error}")
    sys.exit(0)

SSLRUN, WEIGHTS = sys.argv[1:3]
LIMIT, BANK, SIDE = 2e-4, 120, 32  # LIMIT: half a unit of the last digit that the program prints, and float's rounding


def png(path, rgb):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    h, w, _ = rgb.shape
    raw = b"".join(b"\0" + row.tobytes() for row in rgb)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def images(folder):
    draw = np.random.default_rng(1)
    for i in range(20):
        png(f"{folder}/fit/x/{i:02}.png", draw.integers(60, 160, (SIDE, SIDE, 3)).astype(np.uint8))
    for i in range(6):
        x = draw.integers(60, 160, (SIDE, SIDE, 3)).astype(np.uint8)
        if i % 2:
            x[10:20, 10:20] = 230
        png(f"{folder}/test/x/{i:02}.png", x)


def features(folder, name):
    """Two lists of maps, (N, h, w, C) each."""
    out = f"{folder}/{name}-features"
    subprocess.run([SSLRUN, "-q", "extract", "resnet20", "--weights", WEIGHTS, "--nodes", "layer2,layer3", "--data",
                    f"{folder}/{name}", "--size", str(SIDE), "--out", out], check=True, stdout=subprocess.DEVNULL)
    data = open(f"{out}/features-00000.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    head, body = json.loads(data[8:8 + size]), data[8 + size:]
    maps = []
    for layer in ("layer2", "layer3"):
        first, end = head[layer]["data_offsets"]
        maps.append(np.frombuffer(body[first:end], np.float32).reshape(head[layer]["shape"]).transpose(0, 2, 3, 1))
    return maps


def pooled(x):
    n, h, w, _ = x.shape
    wide = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sum(wide[:, a:a + h, b:b + w] for a in range(3) for b in range(3)) / 9


def resized(x, height, width):
    h, w = x.shape[1:3]

    def places(n, m):
        at = np.maximum((np.arange(n) + 0.5) * m / n - 0.5, 0)
        low = np.minimum(at.astype(int), m - 1)
        return low, np.minimum(low + 1, m - 1), at - low

    a, b, p = places(height, h)
    c, d, q = places(width, w)
    p, q = p[:, None, None], q[None, :, None]
    return (1 - p) * ((1 - q) * x[:, a][:, :, c] + q * x[:, a][:, :, d]) + \
        p * ((1 - q) * x[:, b][:, :, c] + q * x[:, b][:, :, d])


def patches(maps):
    fine, coarse = (pooled(m) for m in maps)
    return np.concatenate([fine, resized(coarse, *fine.shape[1:3])], 3).reshape(len(fine), -1, 96)


def distances(x, y):
    return np.sqrt(np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T, 0))


def bank_of(x):
    chosen = [int(np.argmin(((x - x.mean(0))**2).sum(1)))]
    nearest = ((x - x[chosen[0]])**2).sum(1)
    while len(chosen) < BANK:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, ((x - x[chosen[-1]])**2).sum(1))
    return x[chosen]


def score(bank, x):
    full = distances(x, bank)
    near = full.min(1)
    worst = int(near.argmax())
    around = np.argsort(((bank - bank[full[worst].argmin()])**2).sum(1), kind="stable")[:9]
    weight = 1 - np.exp(near[worst]) / np.exp(full[worst, around]).sum()
    return weight * near[worst]


def main():
    with tempfile.TemporaryDirectory() as folder:
        images(folder)
        good = patches(features(folder, "fit"))
        fitted = good[[i for i in range(len(good)) if i % 5 != 4]].reshape(-1, 96)
        bank = bank_of(fitted)
        expected = {f"{i:02}.png": score(bank, x) for i, x in enumerate(patches(features(folder, "test")))}
        detector = f"{folder}/d.safetensors"
        subprocess.run([SSLRUN, "-q", "anomaly", "fit", f"{folder}/fit", "--model", "resnet20", "--weights", WEIGHTS,
                        "--size", str(SIDE), "--layers", "layer2,layer3", "--bank", str(BANK), "--out", detector],
                       check=True, stdout=subprocess.DEVNULL)
        out = subprocess.run([SSLRUN, "-q", "anomaly", "score", detector, f"{folder}/test", "--csv"], check=True,
                             capture_output=True, text=True).stdout
    worst = 0
    for row in csv.DictReader(io.StringIO(out)):
        worst = max(worst, abs(float(row["score"]) - expected[os.path.basename(row["file"])]))
    print(f"{'ok  ' if worst <= LIMIT else 'FAIL'} PatchCore's scores of {len(expected)} images: off by {worst:.1e}")
    sys.exit(int(worst > LIMIT))


main()
