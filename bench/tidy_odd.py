#!/usr/bin/python3
"""Compares what `sslrun tidy` and Pillow call unreadable in a folder of odd and damaged pictures.

    bench/tidy_odd.py FOLDER [--program ./sslrun]

Prints how many files tidy looked at, how many it and Pillow refuse, and each file about which they differ, with tidy's
reason. Ends with 1 if tidy ended in another way than with its list. Needs python3-pil.
"""
import argparse, csv, io, os, subprocess, sys, warnings
from PIL import Image


def refused_by_pillow(path):
    try:
        with Image.open(path) as image:
            image.load()
            image.convert("RGB")
        return ""
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--program", default="./sslrun")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    run = subprocess.run([a.program, "tidy", a.folder, "--csv"], capture_output=True, text=True)
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    refused = {os.path.abspath(r["file"]): r["reason"] for r in rows if r["issue"] == "unreadable"}
    endings = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
    files = [os.path.abspath(os.path.join(d, f)) for d, _, fs in os.walk(a.folder) for f in fs
             if f.lower().endswith(endings)]
    pillow = {f: why for f in files if (why := refused_by_pillow(f))}
    named = {os.path.abspath(r["file"]) for r in rows}
    print(f"{len(files)} files: tidy ended with {run.returncode}, refuses {len(refused)}, Pillow {len(pillow)}, "
          f"both {len(set(refused) & set(pillow))}; {len(named)} files have an issue of any kind")
    for f in sorted(set(refused) - set(pillow)):
        print(f"  only tidy refuses {os.path.relpath(f, a.folder)}: {refused[f]}")
    for f in sorted(set(pillow) - set(refused)):
        print(f"  only Pillow refuses {os.path.relpath(f, a.folder)}: {pillow[f][:90]}")
    sys.exit(run.returncode != 0)


main()
