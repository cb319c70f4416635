#!/usr/bin/python3
"""Average precision of outliers and wrong labels that are planted into a folder of images.

usage: folder_faults.py SSLRUN IMAGES STRANGERS OUT.csv [--per-class N] [--seeds 0,1,2] [--shares 1,5,10] MODEL ...
       folder_faults.py --table OUT.csv ...

IMAGES: a folder of classes.  STRANGERS: a folder of other images (any depth), which become outliers.  MODEL: the
arguments of --model and what follows, in one word and with a name: "pixels=pixels", "trained=runs/photos",
"weights=resnet20 --weights resnet20.th --size 32".  Each line of OUT.csv is one search: fault, share, seed, model,
average precision, precision at k (k: the number of planted faults), and how many were found by the automatic
cut-off.  --table prints means and ranges over the seeds as Markdown.
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


def print_table(paths):
    scores, models = {}, []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = row["fault"], row["score"], float(row["share"])
                cell = scores.setdefault(key, {}).setdefault(row["model"], [])
                cell.append((float(row["average_precision"]), float(row["precision_at_k"])))
                models += [row["model"]] if row["model"] not in models else []
    print("| fault, ranked by | share |", " | ".join(models), "|")
    print("|---|---|" + "---|" * len(models))
    for (fault, score, share), cells in sorted(scores.items()):
        text = []
        for model in models:
            ap, precision = ([v[i] for v in cells.get(model, [])] for i in range(2))
            text.append(f"{sum(ap) / len(ap):.2f} ({min(ap):.2f} to {max(ap):.2f}), "
                        f"{sum(precision) / len(precision):.2f}" if ap else "")
        print(f"| {fault}, {score} | {share:.0%} |", " | ".join(text), "|")


def ranked(rows, column, planted, largest=True):
    def key(row):
        return float(row[column]) if row[column] else float("inf")
    return [row["file"] in planted for row in sorted(rows, key=key, reverse=largest)]


def measure(sslrun, kind, folder, planted, models, place, head, table):
    columns = {"outliers": [("distance", True), ("leaf", True)],
               "mislabeled": [("doubt", True), ("given_probability", False), ("ratio", False)]}[kind]
    flag = "outlier" if kind == "outliers" else "mislabeled"
    for name, words in models:
        rows, seconds = search(sslrun, kind, folder, words, os.path.join(place, name + ".index"))
        flagged = [r["file"] for r in rows if r[flag] == "yes"]
        for column, largest in columns:
            ranking = ranked(rows, column, planted, largest)
            table.writerow([*head, name, column, f"{average_precision(ranking):.4f}",
                            f"{sum(ranking[:len(planted)]) / len(planted):.4f}", len(flagged),
                            len(planted.intersection(flagged)), len(planted), len(rows), f"{seconds:.1f}"])


def main():
    words, options = [], {"--per-class": "200", "--seeds": "0,1,2", "--shares": "1,5,10"}
    args = iter(sys.argv[1:])
    for word in args:
        if word in options:
            options[word] = next(args)
        else:
            words.append(word)
    if words and words[0] == "--table":
        return print_table(words[1:])
    sslrun, images, strangers, out, *models = words
    models = [tuple(m.split("=", 1)) for m in models]
    strangers = files(strangers)
    shares = sorted((int(s) / 100 for s in options["--shares"].split(",")), reverse=True)
    with open(out, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["fault", "share", "seed", "model", "score", "average_precision", "precision_at_k", "flagged",
                        "flagged_right", "planted", "images", "seconds"])
        for seed in map(int, options["--seeds"].split(",")):
            chosen = sample(images, int(options["--per-class"]), seed)
            # The folder has one name for all faults, so that the index of a model embeds an image once.
            with tempfile.TemporaryDirectory(dir=".") as place:
                folder = os.path.join(place, "images")
                for kind, share in [(k, s) for k in ("outliers", "mislabeled") for s in shares]:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.mkdir(folder)
                    planted = plant(kind, chosen, strangers, share, seed, folder)
                    measure(sslrun, kind, folder, planted, models, place, [kind, share, seed], table)
                    file.flush()


main()
