#!/usr/bin/python3
"""Average precision of outliers and wrong labels that are planted into a folder of images.

usage: folder_faults.py SSLRUN IMAGES STRANGERS OUT.csv [--per-class N] [--seeds 0,1,2] [--shares 1,5,10] MODEL ...

IMAGES: a folder of classes.  STRANGERS: a folder of other images (any depth), which become outliers.  MODEL: the
arguments of --model and what follows, in one word and with a name: "pixels=pixels", "trained=runs/photos",
"weights=resnet20 --weights resnet20.th --size 32".  Each line of OUT.csv is one search: fault, share, seed, model,
average precision, precision at k (k: the number of planted faults), and how many were found by the automatic cut-off.
"""
import csv
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time


def files(folder):
    return sorted(os.path.join(d, f) for d, _, names in os.walk(folder) for f in names)


def average_precision(ranking):
    hits, total = 0, 0.0
    for place, planted in enumerate(ranking, 1):
        hits += planted
        total += hits / place if planted else 0
    return total / max(hits, 1)


def sample(images, per_class, seed):
    """(path, class) of per_class images of each class."""
    draw = random.Random(seed)
    out = []
    for name in sorted(os.listdir(images)):
        all_of = files(os.path.join(images, name))
        out += [(p, name) for p in draw.sample(all_of, min(per_class, len(all_of)))]
    return out


def plant(kind, images, strangers, share, seed, folder):
    """Links the images into a folder and returns the set of planted names."""
    draw = random.Random(1000 + seed)
    classes = sorted({c for _, c in images})
    wrong = set(draw.sample(range(len(images)), round(share * len(images)))) if kind == "mislabeled" else set()
    planted = set()
    for i, (path, name) in enumerate(images):
        if i in wrong:
            name = draw.choice([c for c in classes if c != name])
        to = os.path.join(folder, name, f"{i:06}{os.path.splitext(path)[1]}")
        os.makedirs(os.path.dirname(to), exist_ok=True)
        os.link(path, to) if os.stat(path).st_dev == os.stat(folder).st_dev else shutil.copy(path, to)
        if i in wrong:
            planted.add(to)
    if kind == "outliers":
        for i, path in enumerate(draw.sample(strangers, round(share * len(images)))):
            to = os.path.join(folder, draw.choice(classes), f"x{i:05}{os.path.splitext(path)[1]}")
            shutil.copy(path, to)
            planted.add(to)
    return planted


def search(sslrun, kind, folder, model, index):
    began = time.time()
    command = [sslrun, "-q", kind, folder, "--model", *model.split(), "--index", index, "--all", "--csv"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(out))), time.time() - began


def ranked(rows, column, planted, largest=True):
    def key(row):
        return float(row[column]) if row[column] else float("inf")
    return [row["file"] in planted for row in sorted(rows, key=key, reverse=largest)]


def main():
    words, options = [], {"--per-class": "200", "--seeds": "0,1,2", "--shares": "1,5,10"}
    args = iter(sys.argv[1:])
    for word in args:
        if word in options:
            options[word] = next(args)
        else:
            words.append(word)
    sslrun, images, strangers, out, *models = words
    strangers = files(strangers)
    scores = {"outliers": [("distance", True), ("leaf", True)],
              "mislabeled": [("doubt", True), ("given_probability", False), ("ratio", False)]}
    with open(out, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["fault", "share", "seed", "model", "score", "average_precision", "precision_at_k", "flagged",
                        "flagged_right", "planted", "images", "seconds"])
        for seed in map(int, options["--seeds"].split(",")):
            chosen = sample(images, int(options["--per-class"]), seed)
            for share in (int(s) / 100 for s in options["--shares"].split(",")):
                for kind, columns in scores.items():
                    with tempfile.TemporaryDirectory(dir=".") as place:
                        folder = os.path.join(place, "images")
                        os.mkdir(folder)
                        planted = plant(kind, chosen, strangers, share, seed, folder)
                        for model in models:
                            name, words = model.split("=", 1)
                            rows, seconds = search(sslrun, kind, folder, words, os.path.join(place, name + ".index"))
                            flag = "outlier" if kind == "outliers" else "mislabeled"
                            flagged = [r["file"] for r in rows if r[flag] == "yes"]
                            for column, largest in columns:
                                ranking = ranked(rows, column, planted, largest)
                                table.writerow([kind, share, seed, name, column, f"{average_precision(ranking):.4f}",
                                                f"{sum(ranking[:len(planted)]) / len(planted):.4f}", len(flagged),
                                                len(planted.intersection(flagged)), len(planted), len(rows),
                                                f"{seconds:.1f}"])
                            file.flush()


main()
