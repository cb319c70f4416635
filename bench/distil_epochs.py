#!/usr/bin/python3
"""Measures what an epoch of distillation costs next to an epoch of the student alone, in processor time of one thread.

    bench/distil_epochs.py [PROGRAM] [ROUNDS] [IMAGES] [PIXELS OF THE TEACHER] [WIDTH OF THE STUDENT]        # default ./sslrun 3 640 32 0.25

A ResNet-50 with the stem for small images teaches a ResNet-18 of a quarter, or another share, of the width on random images of 32 pixels. One epoch
of each loss fills the file of the teacher's outputs. Then each round trains all cases in turn: the student alone with labels,
and each loss with its file. An epoch's time is that of a run of 1 + MORE epochs less that of a run of one; checkpoints are written at the end alone.
"""
import os, resource, statistics, subprocess, sys, tempfile

MORE = 4
ALONE = "student_alone"
CASES = {ALONE: ["LOSS.name=CrossEntropyLoss"],
         "feature_distillation_loss": ["LOSS.name=feature_distillation_loss"],
         "patch_distillation_loss": ["LOSS.name=patch_distillation_loss", "DATA.TRAIN.COLLATE_FUNCTION=mixup_collator"]}
CONFIG = """
TEST_MODEL: False
DATA:
  NUM_DATALOADER_WORKERS: 1
  TRAIN:
    DATA_SOURCES: [synthetic]
    LABEL_SOURCES: [synthetic]
    LABEL_TYPE: standard
    RANDOM_SYNTHETIC_IMAGES: True
    RANDOM_SYNTHETIC_LABELS: 10
    DEFAULT_GRAY_IMG_SIZE: 32
    BATCHSIZE_PER_REPLICA: 128
    DROP_LAST: True
    COLLATE_FUNCTION: default_collate
    TRANSFORMS: [{name: RandomResizedCrop, size: 32}, {name: RandomHorizontalFlip}, {name: ToTensor}, {name: Normalize}]
MODEL:
  TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.25, SMALL_IMAGE_STEM: True}}
  HEAD: {PARAMS: [[identity, {}]]}
DISTILLATION:
  CACHED_VIEWS: 1
  TEACHER_MODEL: {TRUNK: {RESNETS: {DEPTH: 50, WIDTH_MULTIPLIER: 1.0, SMALL_IMAGE_STEM: True}}}
OPTIMIZER: {momentum: 0.9, param_schedulers: {lr: {name: constant, value: 0.01}}}
METERS: {name: ""}
CHECKPOINT: {CHECKPOINT_FREQUENCY: 1000}
"""


def cpu(program, folder, name, epochs, more):
    """Trains some epochs; returns the processor seconds. All runs of a loss share one file of the teacher's outputs."""
    with tempfile.TemporaryDirectory(dir=folder) as at:
        keys = [f"CHECKPOINT.DIR={at}", f"DISTILLATION.CACHE_FILE={folder}/{name}.cache", f"OPTIMIZER.num_epochs={epochs}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([program, f"{folder}/bench.yaml", "--random", *keys, *more, *CASES[name]], capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(done.stderr)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    program, rounds, images, pixels, width = (sys.argv[1:] + ["./sslrun", "3", "640", "32", "0.25"][len(sys.argv) - 1:])[:5]
    more = [f"DATA.TRAIN.DATA_LIMIT={images}", f"DISTILLATION.TEACHER_INPUT_SIZE={pixels}", f"MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER={width}"]
    CASES[ALONE].append(f"MODEL.HEAD.PARAMS=[[mlp, {{dims: [{round(512 * float(width))}, 10]}}]]")
    times = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/bench.yaml", "w") as f:
            f.write(CONFIG)
        filling = {name: cpu(program, folder, name, 1, more) for name in CASES}
        once = {name: cpu(program, folder, name, 1, more) for name in CASES}
        for _ in range(int(rounds)):
            for name in CASES:
                times[name].append((cpu(program, folder, name, 1 + MORE, more) - once[name]) / MORE)
            print({name: round(t[-1], 3) for name, t in times.items()}, "s per epoch", file=sys.stderr, flush=True)
    print("| case | epoch that fills the file, s | later epochs, s | next to the student alone |\n|---|---|---|---|")
    for name in CASES:
        ratios = [a / b for a, b in zip(times[name], times[ALONE])]
        epoch = statistics.median(times[name])
        print(f"| {name} | {filling[name] - once[name] + epoch:.2f} | {epoch:.2f} | "
              f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) |")


main()
