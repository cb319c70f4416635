#!/usr/bin/python3
"""Accuracy of a linear probe on the labels that `sslrun select` asks for, next to a random choice.

usage: folder_select.py SSLRUN POOL TEST OUT.csv MODEL [--per-class N] [--seeds 0,1,2,3,4] [--labels 50,100,200,500]
       folder_select.py --draw OUT.csv OUT.svg       draws the means over seeds, with the range of the seeds

POOL, TEST: folders of classes.  MODEL: the arguments of `extract` behind its name, in one word: "resnet20 --weights FILE
--nodes avg_pool2d --size 32"; select gets the same features by --layer.  Each seed draws N images of each class as the pool.
The probe is scikit-learn's logistic regression on standardised features, so that nothing of ours judges the choice.
"""
import csv
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

METHODS = ("random", "typical", "centres", "both")


def extract(sslrun, model, folder, out):
    """Features (N, D), and class names in the order of the files."""
    words = model.split()
    subprocess.run([sslrun, "-q", "extract", *words, "--data", folder, "--out", out], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    data = open(f"{out}/features-00000.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    head, body = json.loads(data[8:8 + size]), data[8 + size:]
    name = words[words.index("--nodes") + 1]
    first, end = head[name]["data_offsets"]
    rows = np.frombuffer(body[first:end], np.float32).reshape(head[name]["shape"][0], -1)
    names = sorted(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs)
    if len(names) != len(rows):
        sys.exit(f"{folder} has {len(names)} files, but {len(rows)} rows")
    return rows, names


def accuracy(train, given, test, truth):
    scale = StandardScaler().fit(train)
    probe = LogisticRegression(C=0.01, max_iter=300).fit(scale.transform(train), given)
    return 100 * probe.score(scale.transform(test), truth)


def pool_of(source, per_class, seed, folder):
    draw = random.Random(seed)
    for name in sorted(os.listdir(source)):
        files = sorted(os.listdir(f"{source}/{name}"))
        os.makedirs(f"{folder}/{name}")
        for file in draw.sample(files, min(per_class, len(files))):
            shutil.copy(f"{source}/{name}/{file}", f"{folder}/{name}/{file}")


def choose(sslrun, method, n, folder, model, index, seed, names):
    if method == "random":
        return random.Random(100 + seed).sample(names, n)
    words = model.split()
    node = words[words.index("--nodes") + 1]
    rest = [w for i, w in enumerate(words[1:], 1) if w != "--nodes" and words[i - 1] != "--nodes"]
    out = subprocess.run([sslrun, "-q", "select", str(n), folder, "--model", words[0], *rest, "--layer", node, "--index",
                          index, "--method", method, "--seed", str(seed)], check=True, capture_output=True, text=True)
    return out.stdout.splitlines()


def draw(table, svg):
    """Curves of the methods over the number of labels, which is logarithmic."""
    rows = list(csv.DictReader(open(table, encoding="utf-8")))
    labels = sorted({int(r["labels"]) for r in rows})
    values = [float(r["accuracy"]) for r in rows]
    low, high = min(values) - 1, max(values) + 1
    colors = dict(zip(METHODS, ("#777777", "#0b6e99", "#b5651d", "#2e7d32")))

    def x(n):
        return 50 + 380 * np.log(n / labels[0]) / np.log(labels[-1] / labels[0])

    def y(v):
        return 220 - 190 * (v - low) / (high - low)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 260" font-family="sans-serif" font-size="11">',
           "<title>Accuracy of a linear probe over the number of labels</title>",
           '<rect width="560" height="260" fill="#ffffff"/>']
    for n in labels:
        out.append(f'<text x="{x(n):.1f}" y="238" text-anchor="middle">{n}</text>')
    out.append('<text x="240" y="254" text-anchor="middle">labels</text>')
    for v in np.linspace(np.ceil(low), np.floor(high), 5):
        out.append(f'<path d="M50 {y(v):.1f}H430" stroke="#dddddd"/>'
                   f'<text x="44" y="{y(v) + 4:.1f}" text-anchor="end">{v:.0f}</text>')
    for k, (method, color) in enumerate(colors.items()):
        of = [[float(r["accuracy"]) for r in rows if r["method"] == method and int(r["labels"]) == n] for n in labels]
        line = " ".join(f"{x(n):.1f},{y(np.mean(v)):.1f}" for n, v in zip(labels, of))
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        for n, v in zip(labels, of):
            out.append(f'<path d="M{x(n):.1f} {y(min(v)):.1f}V{y(max(v)):.1f}" stroke="{color}"/>')
        out.append(f'<text x="442" y="{40 + 18 * k}" fill="{color}">{method}</text>')
    open(svg, "w", encoding="utf-8").write("\n".join(out + ["</svg>", ""]))


def main():
    if sys.argv[1:2] == ["--draw"]:
        draw(sys.argv[2], sys.argv[3])
        return
    words, options = [], {"--per-class": "200", "--seeds": "0,1,2,3,4", "--labels": "50,100,200,500"}
    args = iter(sys.argv[1:])
    for word in args:
        if word in options:
            options[word] = next(args)
        else:
            words.append(word)
    sslrun, source, test, out, model = words
    with open(out, "w", newline="", encoding="utf-8") as file, tempfile.TemporaryDirectory(dir=".") as place:
        table = csv.writer(file)
        table.writerow(["seed", "labels", "method", "accuracy", "classes"])
        judged, names = extract(sslrun, model, test, f"{place}/test")
        truth = [n.split("/")[-2] for n in names]
        for seed in map(int, options["--seeds"].split(",")):
            folder = f"{place}/pool{seed}"
            pool_of(source, int(options["--per-class"]), seed, folder)
            rows, names = extract(sslrun, model, folder, f"{place}/features{seed}")
            at = {n: i for i, n in enumerate(names)}
            for n in map(int, options["--labels"].split(",")):
                for method in METHODS:
                    chosen = choose(sslrun, method, n, folder, model, f"{place}/{seed}.index", seed, names)
                    given = [c.split("/")[-2] for c in chosen]
                    hit = accuracy(rows[[at[c] for c in chosen]], given, judged, truth)
                    table.writerow([seed, n, method, f"{hit:.2f}", len(set(given))])
                    file.flush()


main()
