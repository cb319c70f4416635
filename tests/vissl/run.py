#!/usr/bin/env python3
"""One reduced epoch of every file of VISSL's that `sslrun check` passes: make vissl-run.

usage: run.py SSLRUN [WORDS]     files whose command has one of the words; without: all

As written but for the data (drawn images, few), batch, one epoch, a constant rate: the images keep their sizes, the
models their widths.  Evaluations of features run through the verb they are for.  Prints a line a file, keeps those that
ran in ran.txt, from which the table of docs/VISSL.md counts, and ends with code 1 if one failed.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, IMAGES = 2, 4  # two updates; batch norms want more than one row
EVALUATIONS = {"nearest_neighbor": "knn", "instance_retrieval": "retrieve", "svm": "svm",
               "cluster_features": "knn", "feature_extraction": "knn", "extract_": "knn"}


def png(seed):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes((seed * 77 + x * y) % 251 for x in range(96)) for y in range(32))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def make_images(folder):
    names = [write(f"{folder}/images/c{i % 2}/{i}.png", png(i)) for i in range(IMAGES)]
    write(f"{folder}/list.txt", "\n".join(names).encode() + b"\n")


def targets(folder, columns):
    """Several labels an image, as .npy."""
    header = "{'descr': '|i1', 'fortran_order': False, 'shape': (%d, %d), }" % (IMAGES, columns)
    body = bytes((i + c) % 2 for i in range(IMAGES) for c in range(columns))
    return write(f"{folder}/targets{columns}.npy",
                 b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + body)


def data(folder, text):
    """Overrides for both sides; a multi-label loss needs as many columns as its heads have scores."""
    out = []
    several = "bce_logits_multiple_output" in text
    columns = re.findall(r"dims:? *\[[^\]]*?(\d+) *\]", text.replace('"', ""))
    for side in ("TRAIN", "TEST"):
        if several and columns:
            out += [f"DATA.{side}.DATA_SOURCES=[disk_filelist]", f"DATA.{side}.DATA_PATHS=[{folder}/list.txt]",
                    f"DATA.{side}.LABEL_SOURCES=[disk_filelist]",
                    f"DATA.{side}.LABEL_PATHS=[{targets(folder, int(columns[-1]))}]"]
        else:
            out += [f"DATA.{side}.DATA_SOURCES=[disk_folder]", f"DATA.{side}.DATA_PATHS=[{folder}/images]",
                    f"DATA.{side}.LABEL_SOURCES=[disk_folder]", f"DATA.{side}.LABEL_PATHS=[]"]
        out += [f"DATA.{side}.BATCHSIZE_PER_REPLICA={BATCH}", f"DATA.{side}.DATA_LIMIT=-1"]
    return out


def text_of(words):
    """The files named, one after the other: enough to look for words in."""
    text = " ".join(words)
    for word in words:
        name = word.split("config/", 1)[-1].replace("=", "/").replace("config=", "")
        path = f"{HERE}/configs/config/{name}.yaml"
        if os.path.exists(path):
            text += open(path, encoding="utf-8").read()
    return text


def commands():
    for line in open(f"{HERE}/files.txt", encoding="utf-8"):
        if line.startswith(" "):
            yield line.split()


def keep(line, ran):
    """ran.txt in the order of files.txt; a file that fails leaves it."""
    path = f"{HERE}/ran.txt"
    head, *lines = open(path, encoding="utf-8").read().splitlines()
    wanted = set(lines) | {line} if ran else set(lines) - {line}
    order = [" ".join(words) for words in commands()]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([head] + [o for o in order if o in wanted]) + "\n")


def run(program, words, folder):
    verb = next((v for k, v in EVALUATIONS.items() if k in words[0]), "train")
    args = [program, verb, *words, "--random", *data(folder, text_of(words)), f"CHECKPOINT.DIR={folder}/run",
            "CHECKPOINT.AUTO_RESUME=False", "DATA.NUM_DATALOADER_WORKERS=1", "MODEL.WEIGHTS_INIT.PARAMS_FILE="]
    if verb == "train":
        args += ["TEST_MODEL=False", "OPTIMIZER.num_epochs=1", "~OPTIMIZER.param_schedulers",
                 "+OPTIMIZER.param_schedulers.lr={name: constant, value: 0.001}",
                 "+OPTIMIZER.param_schedulers.lr_head={name: constant, value: 0.001}"]
    began = time.time()
    done = subprocess.run(args, cwd=HERE, capture_output=True, text=True, timeout=1800)
    subprocess.run(["rm", "-rf", f"{folder}/run"], check=True)
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or [""]
    return verb, done.returncode, time.time() - began, said[-1]


def main():
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    ran = failed = 0
    with tempfile.TemporaryDirectory(prefix="sslrun-vissl-") as folder:
        make_images(folder)
        for words in commands():
            if wanted and not any(w in " ".join(words) for w in wanted):
                continue
            if subprocess.run([program, "check", *words], cwd=HERE, capture_output=True).returncode:
                continue
            verb, code, seconds, said = run(program, words, folder)
            ran += 1
            failed += code != 0
            keep(" ".join(words), code == 0)
            print(f"{'ok' if code == 0 else 'FAILED':6} {seconds:6.1f} s  {verb:8} {' '.join(words)}"
                  + ("" if code == 0 else f"\n       {said}"), flush=True)
    print(f"{ran} files run, {failed} failed")
    return failed != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())
