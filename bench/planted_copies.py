#!/usr/bin/python3
"""Plants copies into a folder of pictures, and measures how `sslrun duplicates` ranks them.

    bench/planted_copies.py FOLDER --limit 2000 -- --model runs/photos

Copies are re-encoded (JPEG quality 60 at 90 % of the size), cropped to 80 % of each side at a random
place, mirrored, or brightened by a quarter, in equal parts. For each share (1, 5, 10 % of the
pictures) and seed, it prints the average precision of the planted pairs among all pairs that
`duplicates --pairs` lists, and, at the threshold that the program chooses, precision and recall.
Copies that the folder holds by itself are left out first, as `tidy` finds them without a model;
other pairs count as errors. Needs python3-pil.
"""
import argparse, csv, io, os, random, shutil, subprocess, sys, tempfile
from PIL import Image, ImageEnhance, ImageOps

KINDS = ["re-encoded", "cropped", "mirrored", "brightened"]


def images_of(program, folder):
    with tempfile.TemporaryDirectory() as place:
        keep = os.path.join(place, "keep.txt")
        subprocess.run([program, "-q", "tidy", folder, "--keep", keep, "--drop",
                        "unreadable,same-file,same-pixels,near-copy"], check=True, capture_output=True)
        with open(keep, encoding="utf-8") as lines:
            return sorted(os.path.join(folder, line.rstrip("\n")) for line in lines)


def plant(source, kind, to, rng):
    image = Image.open(source).convert("RGB")
    w, h = image.size
    cw, ch = round(w * .8), round(h * .8)
    if kind == "re-encoded":
        image.resize((round(w * .9), round(h * .9)), Image.BICUBIC).save(to, quality=60)
    elif kind == "cropped":
        left, top = rng.randint(0, w - cw), rng.randint(0, h - ch)
        image.crop((left, top, left + cw, top + ch)).save(to, quality=90)
    elif kind == "mirrored":
        ImageOps.mirror(image).save(to, quality=90)
    else:
        ImageEnhance.Brightness(image).enhance(1.25).save(to, quality=90)


def run(program, folder, words, more):
    out = subprocess.run([program, "-q", "duplicates", folder, *words, "--pairs", "--csv", *more],
                         capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    return [(frozenset((r["file"], r["other"])), float(r["similarity"])) for r in csv.DictReader(io.StringIO(out.stdout))]


def average_precision(pairs, planted):
    hits, total = 0, 0.0
    for rank, (pair, _) in enumerate(pairs, 1):
        if pair in planted:
            hits += 1
            total += hits / rank
    return total / len(planted)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--shares", default="1,5,10")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--program", default="./sslrun")
    own, words = sys.argv[1:], []
    if "--" in own:
        own, words = own[:own.index("--")], own[own.index("--") + 1:]
    a = p.parse_args(own)
    a.words = words
    program = os.path.abspath(a.program)
    for share in map(float, a.shares.split(",")):
        for seed in range(a.seeds):
            rng = random.Random(seed)
            work = tempfile.mkdtemp(prefix="planted-")
            files = images_of(program, a.folder)
            if a.limit:
                files = sorted(rng.sample(files, a.limit))
            names, planted, kinds = {}, {}, KINDS
            os.makedirs(os.path.join(work, "set"))
            for i, f in enumerate(files):
                names[f] = os.path.join(work, "set", f"{i:06d}{os.path.splitext(f)[1]}")
                shutil.copyfile(f, names[f])
            chosen = rng.sample(files, max(4, round(len(files) * share / 100)))
            for i, f in enumerate(chosen):
                to = os.path.join(work, "set", f"copy-{i:06d}.jpg")
                plant(f, kinds[i % 4], to, rng)
                planted[frozenset((names[f], to))] = kinds[i % 4]
            index = ["--index", os.path.join(work, "x.index")]
            here = os.getcwd()
            words = [os.path.abspath(w) if os.path.exists(w) else w for w in a.words]
            os.chdir(work)
            ranked = run(program, os.path.join(work, "set"), words + index, ["--threshold", "1e-6"])
            chosen_pairs = run(program, os.path.join(work, "set"), words + index, [])
            os.chdir(here)
            found = {pair for pair, _ in chosen_pairs}
            right = len(found & set(planted))
            by_kind = " ".join(f"{k} {sum(1 for q in found if planted.get(q) == k) / max(1, sum(1 for q in planted if planted[q] == k)):.2f}"
                               for k in KINDS)
            print(f"{share:g} % seed {seed}: AP {average_precision(ranked, set(planted)):.4f}; at the threshold: "
                  f"precision {right / max(1, len(found)):.3f} recall {right / len(planted):.3f} ({by_kind})", flush=True)
            shutil.rmtree(work)


main()
