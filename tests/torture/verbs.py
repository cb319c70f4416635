"""The commands that torture.py attacks, and the files that they read."""
import os
import random
import shutil
import struct
import subprocess
import sys
import zlib

ROOT = os.path.abspath(os.path.dirname(__file__) + "/../..")
SSLRUN = ROOT + "/sslrun"
TINY = ROOT + "/tests/cli/tiny.yaml"
TRAINING = ROOT + "/build/example-training"  # examples of the C interface
SURGERY = ROOT + "/build/example-surgery"


class Verb:
    """A command, the files and folders that it reads, and its result: the files that match `files`, and standard output.

    `program` is the program that runs. `pages` are requested from a server, whose result they are.
    """

    def __init__(self, args, needs="", files=None, program=SSLRUN, pages=()):
        self.args, self.needs, self.files, self.program, self.pages = args, needs.split(), files, program, pages


SHORT = ["OPTIMIZER.num_epochs=1", "DATA.TRAIN.DATA_LIMIT=18", "CHECKPOINT.DIR=run"]
TRAIN = ["train", TINY, "LOSS.swav_loss.queue.start_iter=2"] + SHORT
MODEL = ["--model", "run"]
PATCHES = MODEL + ["--size", "32"]
TRUNK = {"DEPTH": 18, "WIDTH_MULTIPLIER": 0.0625, "SMALL_IMAGE_STEM": True}
RUN = "run/checkpoint.safetensors"
VERBS = {
    "describe": Verb(["describe", "LOSS"]),
    "list": Verb(["list", "op"]),
    "check": Verb(["check", "deep.yaml"], "deep.yaml deep.npy deep-labels.npy", files="nothing"),  # its times differ
    "graph": Verb(["graph", "run/train_config.yaml", "--format", "json"], "run"),
    # training
    "train": Verb(TRAIN, files=RUN),
    "events": Verb(TRAIN + ["HOOKS.TENSORBOARD_SETUP.USE_TENSORBOARD=True",
                            "HOOKS.TENSORBOARD_SETUP.LOG_PARAMS_EVERY_N_ITERS=2"], files=RUN),
    "deep": Verb(["train", "deep.yaml"] + SHORT, "deep.yaml deep.npy deep-labels.npy", RUN),
    "distil": Verb(["train", "distil.yaml", "LOSS.name=feature_distillation_loss", "--random"] + SHORT, "distil.yaml", RUN),
    "distil-patch": Verb(["train", "distil.yaml", "LOSS.name=patch_distillation_loss", "--random"] + SHORT, "distil.yaml", RUN),
    "distil-dense": Verb(["train", "distil.yaml", "LOSS.name=dense_distillation_loss", "--random"] + SHORT, "distil.yaml", RUN),
    "augment": Verb(["augment", "deep.yaml", "--out", "views.png"], "deep.yaml deep.npy deep-labels.npy", "views.png"),
    # evaluation
    "knn": Verb(["knn", "run"], "run", RUN),
    "retrieve": Verb(["retrieve", "features"], "features"),
    "svm": Verb(["svm", "features", "features-test"], "features features-test"),
    "logreg": Verb(["logreg", "features", "features-test"], "features features-test"),
    "cluster": Verb(["cluster", "features", "CLUSTERFIT.NUM_CLUSTERS=3"], "features", "*.npy"),
    "linear": Verb(["linear", "run", "--data", "images", "--out", "linear"], "run images", "linear"),
    "predict": Verb(["predict", "run", "images"], "classifier images"),
    "compare": Verb(["compare", "run", "run/train_config.yaml", "--data", "images"], "run images"),
    # weights and features
    "inspect": Verb(["inspect", RUN, "--stats"], "run"),
    "inspect-as": Verb(["inspect", RUN, "--as", "run/train_config.yaml"], "run"),
    "diff": Verb(["diff", RUN, "run"], "run"),
    "convert": Verb(["convert", RUN, "out.pth"], "run", "out.pth"),
    "half": Verb(["convert", "half.safetensors", "out.pth"], "half.safetensors", "out.pth"),
    "export": Verb(["export", "run/train_config.yaml", "--weights", "run", "--nodes", "flatten", "--out", "out.onnx"],
                   "run", "out.onnx"),
    "extract": Verb(["extract", "run/train_config.yaml", "--weights", RUN, "--nodes", "layer4", "--data", "images",
                     "--out", "features"], "run images", "features/*"),
    "extract-deep": Verb(["extract", "run/train_config.yaml", "--weights", RUN, "--nodes", "layer4", "--data", "deep",
                          "--out", "features"], "run deep", "features/*"),
    # run folders
    "report": Verb(["report", "run"], "run", "run/report.html"),
    "doctor": Verb(["doctor", "run"], "run"),
    "web": Verb(["web", ".", "--port", "0", "--token", "abcdefghijklmnopqrstuvwxyz"], "run",
                pages=("/", "/run?id=run", "/report?id=run", "/report?id=none")),
    # folders of images
    "pack": Verb(["pack", "images", "--out", "shards"], "images", "shards/*"),
    "init": Verb(["init", "images", "--out", "images.yaml"], "images", "images.yaml"),
    "similar": Verb(["similar", "images/a/0.png", "--in", "images"] + MODEL, "run images"),
    "duplicates": Verb(["duplicates", "images"] + MODEL, "run images"),
    "duplicates-page": Verb(["duplicates", "images", "--page", "page.html"] + MODEL, "run images"),
    "index": Verb(["index", "images"] + MODEL, "run images", "run/index/*.index"),
    "search": Verb(["search", "images/a/0.png", "--in", "images"] + MODEL, "run images"),
    "tidy": Verb(["tidy", "images", "--script", "aside.sh"], "images", "aside.sh"),
    "outliers": Verb(["outliers", "images", "--all"] + MODEL, "run images"),
    "mislabeled": Verb(["mislabeled", "images"] + MODEL, "run images"),
    "select": Verb(["select", "4", "images"] + MODEL, "run images"),
    "anomaly-fit": Verb(["anomaly", "fit", "images", "--layers", "res3"] + MODEL, "run images", "anomaly.safetensors"),
    "anomaly-score": Verb(["anomaly", "score", "anomaly.safetensors", "images", "--maps", "maps"],
                          "run images anomaly.safetensors", "maps/*"),
    "segment-pca": Verb(["segment", "pca", "images", "--out", "out", "--page", "pca.html"] + PATCHES, "run images",
                        "out/*"),
    "segment-cluster": Verb(["segment", "cluster", "3", "images", "--sheet", "sheet.png"] + PATCHES, "run images",
                            "sheet.png"),
    "segment-probe": Verb(["segment", "probe", "masks", "images", "--steps", "5", "--out", "out"] + PATCHES,
                          "run images masks", "out/*"),
    "segment-match": Verb(["segment", "match", "images/a/0.png", "images/b/0.png", "--sheet", "match.png"] + PATCHES,
                          "run images", "match.png"),
    "segment-deep": Verb(["segment", "cluster", "2", "deep"] + PATCHES, "run deep"),
    # the C interface
    "sr_train": Verb([TINY] + SHORT, files=RUN, program=TRAINING),
    "surgery": Verb(["out.safetensors", "out.onnx"], files="out.*", program=SURGERY),
}
if "WEB" in os.environ and os.environ["WEB"] == "no":
    del VERBS["web"]


def environment(**more):
    """Returns settings with which the program does not start itself again."""
    env = dict(os.environ, GOMP_SPINCOUNT="20000", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", LC_ALL="C.UTF-8")
    env.setdefault("OPENBLAS_CORETYPE", "Haswell")
    env.update(more)
    return env


# ---- the files ----------------------------------------------------------------------------------

def png(levels, width, height, bits, channels):
    """Returns a PNG with its own checksums. levels: bytes, row by row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    n = width * channels * bits // 8
    rows = b"".join(b"\0" + levels[y * n:(y + 1) * n] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits,
                                                              {1: 0, 3: 2}[channels], 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tiff(levels, width, height, channels):
    """Returns an uncompressed TIFF of 16 bits. levels: bytes, little-endian, channels of a pixel next to each other."""
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, channels), (278, 3, 1, height), (279, 4, 1, len(levels))]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + b"\0\0\0\0"
    return b"II*\0" + struct.pack("<I", 8 + len(levels)) + levels + directory


def dicom(levels, width, height):
    """Returns an uncompressed DICOM of 16 bits, explicit and little-endian."""
    def element(group, number, kind, data):
        data += b"\0" * (len(data) % 2)
        form = "<HH2sHI" if kind in (b"OW", b"OB") else "<HH2sH"
        size = (0, len(data)) if kind in (b"OW", b"OB") else (len(data),)
        return struct.pack(form, group, number, kind, *size) + data
    short = lambda v: struct.pack("<H", v)
    meta = element(2, 0x10, b"UI", b"1.2.840.10008.1.2.1")
    facts = [(0x02, b"US", short(1)), (0x04, b"CS", b"MONOCHROME2"), (0x10, b"US", short(height)),
             (0x11, b"US", short(width)), (0x100, b"US", short(16)), (0x101, b"US", short(16)),
             (0x102, b"US", short(15)), (0x103, b"US", short(0))]
    return (b"\0" * 128 + b"DICM" + element(2, 0, b"UL", struct.pack("<I", len(meta))) + meta +
            b"".join(element(0x28, n, kind, data) for n, kind, data in facts) + element(0x7FE0, 0x10, b"OW", levels))


def npy(kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, repr(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def make_images(base):
    """Writes fifteen small pictures in three classes, and a mask of each."""
    draw = random.Random(3)
    for c in "abc":
        for i in range(5):
            write(f"{base}/images/{c}/{i}.png", png(draw.randbytes(1200), 20, 20, 8, 3))
            write(f"{base}/masks/{c}/{i}.png", png(bytes(draw.choice([0, 1, 255]) for _ in range(400)), 20, 20, 8, 1))


CROPS = """
      COLLATE_FUNCTION: %s
      TRANSFORMS:
%s        - {name: RandomResizedCrop, size: 16}
        - {name: ToTensor}
        - {name: Normalize, mean: [%s], std: [%s]}
"""


def make_deep(base):
    """Writes pictures of 16 bits: a folder of three formats, a stack of five channels, and a configuration for it."""
    draw = random.Random(5)
    for i in range(4):
        write(f"{base}/deep/{i}.tif", tiff(draw.randbytes(800), 20, 20, 1))
        write(f"{base}/deep/{i}.dcm", dicom(draw.randbytes(800), 20, 20))
        write(f"{base}/deep/{i}.png", png(draw.randbytes(800), 20, 20, 16, 1))
    write(base + "/deep.npy", npy("<u2", (24, 5, 20, 20), draw.randbytes(24 * 5 * 400 * 2)))
    write(base + "/deep-labels.npy", npy("<i8", (24,), b"".join(struct.pack("<q", i % 3) for i in range(24))))
    twice = "        - {name: ImgReplicatePil, num_times: 2}\n"
    write(base + "/deep.yaml", ("""
LOG_FREQUENCY: 1
TEST_MODEL: False
DATA:
    CHANNELS: 5
    KEEP_BITS: True
    NUM_DATALOADER_WORKERS: 1
    TRAIN:
      DATA_SOURCES: [numpy_stack]
      DATA_PATHS: [deep.npy]
      LABEL_PATHS: [deep-labels.npy]
      BATCHSIZE_PER_REPLICA: 8""" + CROPS % ("simclr_collator", twice, "0.5," * 5, "0.3," * 5) + f"""
MODEL: {{TRUNK: {{NAME: resnet, RESNETS: {TRUNK}}}, HEAD: {{PARAMS: [[mlp, {{dims: [32, 16]}}]]}}}}
LOSS: {{name: simclr_info_nce_loss, simclr_info_nce_loss: {{buffer_params: {{embedding_dim: 16}}}}}}
OPTIMIZER: {{param_schedulers: {{lr: {{name: cosine, start_value: 0.1, end_value: 0.001}}}}}}
CHECKPOINT: {{CHECKPOINT_ITER_FREQUENCY: 1}}
""").encode())


def make_distillation(base):
    """Writes a configuration of a distillation whose teacher's outputs go to a file."""
    write(base + "/distil.yaml", ("""
LOG_FREQUENCY: 1
TEST_MODEL: False
DATA:
    NUM_DATALOADER_WORKERS: 1
    TRAIN:
      DATA_SOURCES: [synthetic]
      RANDOM_SYNTHETIC_IMAGES: True
      DEFAULT_GRAY_IMG_SIZE: 20
      DROP_LAST: False
      BATCHSIZE_PER_REPLICA: 8""" + CROPS % ("mixup_collator", "", "0.5," * 3, "0.3," * 3) + f"""
MODEL: {{TRUNK: {{NAME: resnet, RESNETS: {TRUNK}}}, HEAD: {{PARAMS: [[identity, {{}}]]}}}}
DISTILLATION: {{CACHED_VIEWS: 2, TEACHER_INPUT_SIZE: 24, TEACHER_MODEL: {{TRUNK: {{RESNETS: {TRUNK}}}}}}}
OPTIMIZER: {{param_schedulers: {{lr: {{name: cosine, start_value: 0.02, end_value: 0.001}}}}}}
CHECKPOINT: {{CHECKPOINT_ITER_FREQUENCY: 1, KEEP_LAST: 2}}
""").replace("True", "true").encode())


def make_half(path, whole):
    """Writes a file's float32 tensors as bfloat16."""
    import json
    with open(whole, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head, data = json.loads(f.read(n)), f.read()
    at, out, chunks = 0, {}, []
    for name, t in head.items():
        if name == "__metadata__" or t["dtype"] != "F32":
            continue
        a, b = t["data_offsets"]
        chunks.append(b"".join(data[i + 2:i + 4] for i in range(a, b, 4)))
        out[name] = {"dtype": "BF16", "shape": t["shape"], "data_offsets": [at, at + len(chunks[-1])]}
        at += len(chunks[-1])
    text = json.dumps(out).encode()
    write(path, struct.pack("<Q", len(text)) + text + b"".join(chunks))


def make_inputs(base):
    """Writes everything that a verb reads."""
    def run(args, cwd=base):
        p = subprocess.run([SSLRUN] + args, cwd=cwd, env=environment(), capture_output=True, check=False)
        if p.returncode != 0:
            sys.exit(f"torture: {' '.join(args)} fails:\n{p.stderr.decode()}")
    make_images(base)
    make_deep(base)
    make_distillation(base)
    run(TRAIN)
    make_half(base + "/half.safetensors", f"{base}/{RUN}")
    run(VERBS["extract"].args)
    shutil.copytree(base + "/features", base + "/features-test")
    run(VERBS["anomaly-fit"].args)
    os.makedirs(base + "/classifier")
    run(TRAIN, base + "/classifier")
    run(["linear", "run", "--data", "../images"], base + "/classifier")
