#!/usr/bin/env python3
"""Trains and evaluates rows of the tables "all methods" and "Teachers and students" in docs/reference/results.md, and
prints them as Markdown.

    bench/methods.py DATA [--out runs/methods] [--evaluate] [--threads N] [--seed N] [--key KEY=VALUE ...] [ROW ...]

DATA has the folders train/ and test/ with a folder per class. Without ROW, the rows of "all methods" are trained. Rows are
trained one after the other into OUT/ROW; a row that was stopped is resumed, and a finished one is not repeated, as
`sslrun train` does. --evaluate trains nothing and skips rows without a checkpoint. --key gives all rows another key, such
as +config/optimizer=muon; choose another OUT then. The figures of a row are stored in OUT/ROW.json, so that a second call
prints them at once.
"""
import argparse
import collections
import json
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BF16 = ["MODEL.AMP_PARAMS.USE_AMP=True"]
NARROW = ["MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.125"]
NARROW_CLASSES = NARROW + ["MODEL.HEAD.PARAMS=[[mlp,{dims:[64,10]}]]"]
NARROW_VIEWS = NARROW + ["MODEL.HEAD.PARAMS=[[mlp,{dims:[64,512,512,128],use_relu:True,use_bn:True}]]"]
SHORT = ["OPTIMIZER.num_epochs=40"]

# name in the table, recipe below configs/pretrain without _cifar10, keys, row or file of the trunk that this one learns from
Row = collections.namedtuple("Row", "title recipe keys teacher", defaults=[None])
ROWS = {
    "ibot": Row("iBOT", "ibot/ibot", BF16),
    "msn": Row("MSN", "msn/masked_siamese", BF16),
    "data2vec": Row("data2vec", "data2vec/data2vec", BF16),
    "mae": Row("MAE", "mae/mae", BF16),
    "simclr_multicrop": Row("SimCLR, multi-crop", "simclr/simclr_multicrop", BF16),
    "dcl_multicrop": Row("DCL, multi-crop", "dcl/dcl_multicrop", BF16),
    "align": Row("Alignment and uniformity", "align_uniform/align_uniform", BF16),
    "dcl": Row("DCL", "dcl/dcl", BF16),
    "swav": Row("SwAV", "swav/swav", BF16),
    "dino": Row("DINO", "dino/dino", []),
    "dinov2": Row("DINOv2", "dinov2/dinov2", BF16),
    "vicreg": Row("VICReg", "vicreg/vicreg", BF16),
    "mocov3": Row("MoCo v3", "mocov3/mocov3", BF16),
    "lejepa": Row("LeJEPA", "lejepa/lejepa", BF16),
    "deepclusterv2": Row("DeepCluster v2", "deepcluster_v2/deepclusterv2", BF16),
    "simsiam": Row("SimSiam", "simsiam/simsiam", BF16),
    "simclr": Row("SimCLR", "simclr/simclr", BF16),
    "pirl": Row("PIRL", "pirl/pirl", BF16),
    "barlow": Row("Barlow Twins", "barlow_twins/barlow_twins", BF16),
    "byol": Row("BYOL", "byol/byol", BF16),
    "nnclr": Row("NNCLR", "nnclr/nnclr", BF16),
    "moco": Row("MoCo v2", "moco/moco", BF16),
    "frossl": Row("FroSSL", "frossl/frossl", BF16),
    "simdino": Row("SimDINO", "simdino/simdino", BF16),
    "visreg": Row("VISReg", "visreg/visreg", BF16),
    "empssl": Row("EMP-SSL", "empssl/empssl", BF16),
    "ijepa": Row("I-JEPA", "ijepa/ijepa", BF16),
    "clusterfit": Row("ClusterFit", "clusterfit/clusterfit", [], "simclr"),
    "rotnet": Row("RotNet", "rotnet/rotnet", []),
    "npidpp": Row("NPID++", "npid/npidpp", BF16),
    "jigsaw": Row("Jigsaw", "jigsaw/jigsaw", []),
    "npid": Row("NPID", "npid/npid", []),
    "supervised": Row("supervised, for comparison", "supervised/supervised", BF16),
    "distillation": Row("distillation of it, an eighth of the width", "distillation/distillation", BF16,
                        "supervised"),
    "narrow": Row("labels alone for the same trunk", "supervised/supervised", BF16 + NARROW_CLASSES),
    "wmse": Row("W-MSE", "wmse/wmse", []),
}
# Students of an eighth of the width, with a quarter of their teacher's parameters, and the same trunk without a teacher.
TEACHERS = {
    "features": Row("features of it, without labels", "distillation/feature_distillation", BF16, "supervised"),
    "features_dcl": Row("features of multi-crop DCL's trunk", "distillation/feature_distillation", BF16, "dcl_multicrop"),
    "alone": Row("DCL for the same trunk", "dcl/dcl", BF16 + NARROW_VIEWS),
    "features_resnet20": Row("features of CIFAR-10's released ResNet-20", "distillation/feature_distillation",
                             BF16 + ["+DISTILLATION.TEACHER_MODEL.TRUNK.NAME=resnet20",
                                     "DATA.TRAIN.TRANSFORMS.0.scale=[0.6, 1.0]"], "resnet20-12fca82f.th"),
    "photos_supervised": Row("supervised", "supervised/supervised_photos", BF16 + SHORT),
    "photos_features": Row("features of it, without labels", "distillation/feature_distillation_photos",
                           BF16 + NARROW + SHORT + [
                               "DISTILLATION.CACHED_VIEWS=0", "DATA.TRAIN.TRANSFORMS.0.size=48",
                               "DATA.TEST.TRANSFORMS.0.size=48", "DATA.TEST.TRANSFORMS.1.size=48",
                               "DISTILLATION.TEACHER_MODEL.TRUNK.RESNETS={DEPTH:18,WIDTH_MULTIPLIER:0.25,SMALL_IMAGE_STEM:True}",
                           ], "photos_supervised"),
    "photos_narrow": Row("labels alone for the same trunk", "supervised/supervised_photos", BF16 + NARROW_CLASSES + SHORT),
    "photos_alone": Row("DCL for the same trunk", "../photos", BF16 + NARROW_VIEWS + SHORT),
}
ALL = {**ROWS, **TEACHERS}


class Bench:
    def __init__(self, args):
        self.data, self.out = os.path.abspath(args.data), os.path.abspath(args.out)
        self.env = dict(os.environ, OMP_NUM_THREADS=str(args.threads))
        self.program, self.seed, self.keys = os.path.abspath(args.program), args.seed, args.key

    def run(self, *arguments):
        """Runs the program and returns its output; its messages go to stderr."""
        return subprocess.run([self.program, *arguments], check=True, env=self.env, stdout=subprocess.PIPE,
                              text=True, cwd=os.path.dirname(HERE)).stdout

    def folder(self, name):
        return os.path.join(self.out, name)

    def config(self, name):
        """Returns recipe, keys and folders of a row, as every verb takes them."""
        row = ALL[name]
        keys = ["DATA.TRAIN.DATA_PATHS=[%s/train]" % self.data, "DATA.TEST.DATA_PATHS=[%s/test]" % self.data,
                "SEED_VALUE=%d" % self.seed]
        if "distillation" in row.recipe:
            teacher = os.path.abspath(row.teacher)
            if row.teacher in ALL:
                teacher = os.path.join(self.folder(row.teacher), "checkpoint.safetensors")
            keys.append("DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT.PARAMS_FILE=" + teacher)
        recipe = row.recipe if row.recipe.endswith("photos") else row.recipe + "_cifar10"
        return ["configs/pretrain/%s.yaml" % recipe, *row.keys, *self.keys, *keys, "CHECKPOINT.DIR=" + self.folder(name)]

    def cluster_keys(self):
        """Makes the labels for ClusterFit: 100 clusters of SimCLR's flatten."""
        folder = os.path.join(self.out, "clusters")
        features = os.path.join(folder, "features")
        self.run("extract", "configs/pretrain/simclr/simclr_cifar10.yaml", "--weights",
                 os.path.join(self.folder("simclr"), "checkpoint.safetensors"), "--nodes", "flatten", "--data",
                 self.data + "/train", "--size", "32", "--out", features)
        self.run("cluster", features, "CLUSTERFIT.NUM_CLUSTERS=100", "CLUSTERFIT.OUTPUT_DIR=" + folder)
        made = [n for n in sorted(os.listdir(folder)) if "_train_" in n]
        images, labels = ([n for n in made if n.endswith(end)][-1] for end in ("_images.npy", "_labels.npy"))
        return ["DATA.TRAIN.DATA_PATHS=[%s/%s]" % (folder, images),
                "DATA.TRAIN.LABEL_PATHS=[%s/%s]" % (folder, labels)]

    def train(self, name):
        """Trains a row, or resumes it, and adds the seconds of processor time to ROW.time."""
        keys = self.cluster_keys() if name == "clusterfit" else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run(*self.config(name), *keys)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = self.seconds(name) + after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        with open(self.folder(name) + ".time", "w") as f:
            f.write("%.2f 0\n" % seconds)

    def seconds(self, name):
        """Returns user plus system time of the training, the first two numbers of ROW.time; 0 without the file."""
        path = self.folder(name) + ".time"
        if not os.path.exists(path):
            return 0.0
        with open(path) as f:
            return sum(float(x) for x in f.read().split()[:2])

    def figures(self, name):
        path = self.folder(name) + ".json"
        if os.path.exists(path):
            with open(path) as f:
                return json.load(f)
        # ClusterFit trains on the list of its clusters; it is evaluated with the images' own classes.
        own = ["DATA.TRAIN.DATA_SOURCES=[disk_folder]", "DATA.TRAIN.LABEL_SOURCES=[disk_folder]",
               "DATA.TRAIN.LABEL_PATHS=[]"] if name == "clusterfit" else []
        text = self.run("knn", *self.config(name), *own, "--layers", "--json")
        with open(path, "w") as f:
            f.write(text)
        return json.loads(text)

    def steps(self, name):
        """Returns epochs and updates, from the last epoch in metrics.json."""
        epochs = updates = 0
        with open(os.path.join(self.folder(name), "metrics.json")) as f:
            for line in map(json.loads, filter(str.strip, f)):
                if "train_loss" in line:
                    epochs, updates = line["train_phase_idx"] + 1, line["iteration"]
        return epochs, updates


def best(figures, who, what):
    """Returns the highest figure among the layers of a trunk, and that layer."""
    start, end = who + "_", "_" + what
    return max((v, k[len(start):-len(end)]) for k, v in figures.items() if k.startswith(start) and k.endswith(end))


def line(bench, name):
    f, row = bench.figures(name), ALL[name]
    epochs, updates = bench.steps(name)
    seconds = bench.seconds(name)
    cells = [row.title, ", ".join([row.recipe] + [k.split(".")[-1] for k in row.keys + bench.keys])]
    cells.append("%d (%s)" % (epochs, format(updates, ",")))
    cells += ["%.0f" % seconds, "%.0f" % (seconds / max(epochs, 1))] if seconds else ["", ""]
    for what in ("knn", "probe"):
        value, layer = best(f, "trained", what)
        cells += ["%.2f %s" % (value, layer.replace("concat", "")), "%+.1f" % (value - best(f, "untrained", what)[0])]
    return "| " + " | ".join(cells) + " |", f


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    p.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(ALL))
    p.add_argument("--out", default="runs/methods")
    p.add_argument("--evaluate", action="store_true", help="trains nothing")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--key", action="append", default=[], metavar="KEY=VALUE", help="another key for all rows")
    p.add_argument("--program", default=os.path.join(os.path.dirname(HERE), "sslrun"))
    args = p.parse_intermixed_args()
    for name in args.rows:
        if name not in ALL:
            sys.exit("methods.py: no row '%s'; there are: %s" % (name, " ".join(ALL)))
    bench = Bench(args)
    os.makedirs(bench.out, exist_ok=True)
    names = args.rows or sorted(ROWS, key=lambda n: ROWS[n].teacher is not None)
    print("| method | recipe, keys | epochs (updates) | processor s | an epoch | kNN | gain | probe | gain |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    baselines = {}
    for name in names:
        if not args.evaluate:
            bench.train(name)
        elif not os.path.exists(os.path.join(bench.folder(name), "checkpoint.safetensors")):
            continue
        text, f = line(bench, name)
        print(text, flush=True)
        key = (best(f, "untrained", "knn")[0], best(f, "untrained", "probe")[0], f["pixels_knn"], f["pixels_probe"])
        baselines.setdefault(key, []).append(name)
    for (knn, probe, pixels, pixels_probe), rows in baselines.items():
        print("untrained %.2f (kNN) and %.2f (probe), raw pixels %.2f and %.2f: %s"
              % (knn, probe, pixels, pixels_probe, " ".join(rows)))


if __name__ == "__main__":
    main()
