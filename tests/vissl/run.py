#!/usr/bin/env python3
"""Runs one reduced epoch of every VISSL file that `sslrun check` passes: make vissl-run.

usage: run.py SSLRUN [WORDS]     files whose command has one of the words; without words: all

The files run as written except for the data (few drawn images), the batch, one epoch and a constant rate. ResNets have a
quarter of a ResNet's width with heads to match, and crops are small unless the pooling of a layer needs large ones.
Evaluations of features run through their verbs. The script prints a line per file and keeps those that ran in ran.txt,
from which the table of docs/guide/from-vissl.md is counted. It ends with 1 if a file failed.
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
BATCH, IMAGES = 2, 4  # two updates; batch norms need more than one row
EVALUATIONS = {"nearest_neighbor": "knn", "knn": "knn", "instance_retrieval": "retrieve", "svm": "svm",
               "logistic_regression": "logreg", "cluster_features": "knn", "feature_extraction": "knn",
               "extract_": "knn"}
WIDTH, CROP, SMALL_CROP, LARGE_CROP, LARGE_DIM = 0.25, 64, 32, 128, 256
TRANSFORMS = ("[{name: Resize, size: [64, 64]}, {name: ToTensor}, "
              "{name: Normalize, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}]")


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
    """Writes several labels per image as .npy and returns the path."""
    header = "{'descr': '|i1', 'fortran_order': False, 'shape': (%d, %d), }" % (IMAGES, columns)
    body = bytes((i + c) % 2 for i in range(IMAGES) for c in range(columns))
    return write(f"{folder}/targets{columns}.npy",
                 b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + body)


def data(folder, text):
    """Returns overrides for both sides; a multi-label loss needs as many columns as its heads have scores."""
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
        # In one file without a source of labels, the numbers of samples stand for classes.
        if "cross_entropy_multiple_output" in text and "LABEL_TYPE: sample_index" in text:
            out += [f"DATA.{side}.LABEL_TYPE=standard"]
        out += [f"DATA.{side}.BATCHSIZE_PER_REPLICA={BATCH}", f"DATA.{side}.DATA_LIMIT=-1"]
    return out


def text_of(words):
    """Returns the words and the content of the named files, to search for keys."""
    text = " ".join(words)
    for word in words:
        name = word.split("config/", 1)[-1].replace("=", "/").replace("config=", "")
        path = f"{HERE}/configs/config/{name}.yaml"
        if os.path.exists(path):
            text += open(path, encoding="utf-8").read()
    return text


def block(tree, path):
    """Returns the lines of a list in the output of `sslrun check --tree`, without their dashes."""
    lines, depth = tree.splitlines(), 0
    at = 0
    for key in path.split("."):
        while at < len(lines) and not lines[at].startswith(f"{'  ' * depth}{key}:"):
            at += 1
        at, depth = at + 1, depth + 1
    out = []
    while at < len(lines) and lines[at].startswith("  " * depth + "- "):
        out.append(lines[at].strip()[2:])
        at += 1
    return out


def narrower(numbers, factor, first):
    """Returns smaller sizes of a head's layers: the first always follows the trunk, later ones only if they are large."""
    return [max(1, int(n * factor)) if i == 0 and first or n >= LARGE_DIM else n for i, n in enumerate(numbers)]


def narrow_head(entry, factor, keep):
    """Narrows a head. Layers after joined views keep their size, which does not depend on the trunk's width."""
    def dims(found):
        numbers = [int(n) for n in found[2].split(",")]
        if "siamese_concat_view" in entry[:found.start()]:
            return found[0]
        small = narrower(numbers, factor, True)
        return found[1] + ", ".join(map(str, small[:-1] + numbers[-1:] if numbers[-1] in keep else small)) + "]"
    entry = re.sub(r"(dims: *\[)([\d, ]+)\]", dims, entry)
    return re.sub(r"(in_channels: *)(\d+)", lambda m: m[1] + str(int(int(m[2]) * factor)), entry)


def narrow(tree):
    """Returns overrides to a quarter of a ResNet's width, whatever multiple of it the file asks for."""
    wide = re.search(r"\n    RESNETS:\n(?:      .*\n)*?      WIDTH_MULTIPLIER: ([\d.]+)", tree)
    if not re.search(r"\n    NAME: resnet\n", tree) or not wide:
        return []
    factor = WIDTH / float(wide[1])
    out = [f"MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER={WIDTH}"]
    # The number of scores is the number of permutations to tell apart.
    keep = {int(n) for n in re.findall(r"ShuffleImgPatches.*?perms_(\d+)_", tree)}
    # An embedding_dim of a loss follows the last layer.
    loss = re.search(r"^LOSS:\n  name: (\w+)", tree, re.M)
    size = re.search(rf"^  {loss[1]}:\n(?:    .*\n)*?    embedding_dim: (\d+)", tree, re.M) if loss else None
    if size and int(size[1]) >= LARGE_DIM:
        out += [f"LOSS.{loss[1]}.embedding_dim={int(int(size[1]) * factor)}"]
    # A teacher without its own trunk has the student's.
    for key in ("MODEL.HEAD.PARAMS", "DISTILLATION.TEACHER_MODEL.HEAD.PARAMS"):
        heads = block(tree, key)
        out += [f"{key}=[{', '.join(narrow_head(h, factor, keep) for h in heads)}]"] if heads else []
    return out


def smaller(size, key):
    """Returns a smaller crop size; the small crops of a multi-crop stay smaller than the large ones."""
    if size >= LARGE_CROP:
        return CROP
    return SMALL_CROP if "size_crops" in key and size > SMALL_CROP else size


def few_clusters(tree):
    """Returns overrides to at most as many clusters as there are images."""
    found = re.search(r"^LOSS:\n  name: deepclusterv2_loss\n(?:.*\n)*?  deepclusterv2_loss:\n(?:    .*\n)*?"
                      r"    num_clusters: \[([\d, ]+)\]", tree, re.M)
    return [f"LOSS.deepclusterv2_loss.num_clusters=[{', '.join('2' for _ in found[1].split(','))}]"] if found else []


def small_crops(tree, side):
    """Returns overrides of crop sizes: 128 and more become 64, unless the pooling of a layer fits the file's own sizes."""
    if block(tree, "MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP"):
        return []
    entries = block(tree, f"DATA.{side}.TRANSFORMS")
    if any("Patches" in e for e in entries):  # cells and jitter fit the file's own sizes
        return []
    small = [re.sub(r"(size(?:_crops)?: *\[?)([\d, ]+)",
                    lambda m: m[1] + ", ".join(str(smaller(int(n), m[1])) for n in m[2].split(",") if n.strip()) +
                    (", " if m[2].rstrip(" ").endswith(",") else ""), e) for e in entries]
    return [f"DATA.{side}.TRANSFORMS=[{', '.join(small)}]"] if small != entries else []


def completed(tree, verb):
    """Returns missing transforms: an evaluation of features reads both sides, and VISSL's files often describe one."""
    sides = ("TRAIN", "TEST") if verb != "train" else ()
    out = ["~IMG_RETRIEVAL"] if verb == "retrieve" else []  # its steps are not built, and refused
    return out + [f"DATA.{side}.TRANSFORMS={TRANSFORMS}" for side in sides
                  if not any("ToTensor" in e for e in block(tree, f"DATA.{side}.TRANSFORMS"))]


def training(tree):
    """Returns overrides to one epoch at a constant rate; a file that only tests keeps its test."""
    if re.search(r"^TEST_ONLY: true", tree, re.M):
        return []
    out = ["TEST_MODEL=False", "OPTIMIZER.num_epochs=1", "~OPTIMIZER.param_schedulers",
           "+OPTIMIZER.param_schedulers.lr={name: constant, value: 0.001}"]
    if "lr_head" in tree:
        out += ["+OPTIMIZER.param_schedulers.lr_head={name: constant, value: 0.001}"]
    return out


def commands():
    for line in open(f"{HERE}/files.txt", encoding="utf-8"):
        if line.startswith(" "):
            yield line.split()


def keep(line, ran):
    """Updates ran.txt, in the order of files.txt; a file that failed is removed."""
    path = f"{HERE}/ran.txt"
    head, *lines = open(path, encoding="utf-8").read().splitlines()
    wanted = set(lines) | {line} if ran else set(lines) - {line}
    order = [" ".join(words) for words in commands()]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([head] + [o for o in order if o in wanted]) + "\n")


def run(program, words, folder):
    verb = next((v for k, v in EVALUATIONS.items() if k in words[0]), "train")
    tree = subprocess.run([program, "check", *words, "--tree"], cwd=HERE, capture_output=True, text=True).stdout
    args = [program, verb, *words, "--random", *data(folder, text_of(words)), *narrow(tree),
            *small_crops(tree, "TRAIN"), *small_crops(tree, "TEST"), *completed(tree, verb),
            *few_clusters(tree),
            f"CHECKPOINT.DIR={folder}/run", "CHECKPOINT.AUTO_RESUME=False", "DATA.NUM_DATALOADER_WORKERS=1",
            "MODEL.WEIGHTS_INIT.PARAMS_FILE="]
    if verb == "train":
        args += training(tree)
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
