#!/usr/bin/env python3
"""Features of a frozen trunk, batch 16 at 224 pixels: sslrun compared with PyTorch, plain and with folded batch norms.

usage: frozen_features.py SSLRUN [ROUNDS [MODEL]]     needs python3-torch and python3-torchvision; MODEL: resnet50

The programs run in turn on one thread. Figures are seconds of processor time, which other load on the machine affects less
than wall time. sslrun's figure is the difference of two runs of `sslrun bench`, PyTorch's the median of three forwards
after a first one. PyTorch uses channels last, in which it is faster. Folding is fuse_conv_bn_eval of torch.nn.utils.fusion,
which torch.fx's experimental optimisation applies to a whole network.
"""
import os
import statistics
import subprocess
import sys
import time

from need_peer import need_peer

need_peer("torch", "torchvision")
import torch
import torchvision
from torch.fx.experimental.optimization import fuse

BATCH, SIDE = 16, 224


def cpu_seconds(program, model, steps):
    before = os.times()
    subprocess.run([program, "bench", model, "--forward-only", "--batch", str(BATCH), "--steps", str(steps)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ours(program, model):
    return (cpu_seconds(program, model, 5) - cpu_seconds(program, model, 2)) / 3


def theirs(model, x):
    times = []
    with torch.no_grad():
        for _ in range(4):
            began = time.process_time()
            model(x)
            times.append(time.process_time() - began)
    return statistics.median(times[1:])


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    model = sys.argv[3] if len(sys.argv) > 3 else "resnet50"
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain = torchvision.models.get_model(model, weights=None).eval().to(memory_format=torch.channels_last)
    try:
        folded = fuse(torchvision.models.get_model(model, weights=None).eval()).to(memory_format=torch.channels_last)
    except Exception:  # torch.fx cannot trace a transformer, which has no batch norm to fold
        folded = plain
    x = torch.randn(BATCH, 3, SIDE, SIDE).to(memory_format=torch.channels_last)
    ratios = []
    for r in range(rounds):
        row = ours(program, model), theirs(plain, x), theirs(folded, x)
        ratios.append(row[2] / row[0])
        print(f"round {r}: sslrun {row[0]:.2f} s, PyTorch {row[1]:.2f} s, folded {row[2]:.2f} s, folded / sslrun "
              f"{ratios[-1]:.2f}", flush=True)
    print(f"folded / sslrun, median: {statistics.median(ratios):.2f}")


main()
