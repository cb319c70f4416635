#!/usr/bin/env python3
"""Features of a frozen trunk, batch 16 at 224 pixels: sslrun compared with ONNX Runtime and PyTorch, in wall time.

usage: NODE_PATH=<folder>/node_modules OMP_NUM_THREADS=2 frozen_runtimes.py SSLRUN [ROUNDS [MODEL...]]

MODEL: vit_b_16 efficientnet_b0 convnext_tiny, or another name of torchvision. Needs python3-torch, python3-torchvision,
node and onnxruntime-node (a missing one ends the script with the command that installs it). The programs run in turn with
OMP_NUM_THREADS threads each. sslrun's figure is that of `sslrun bench`, the others' the median of three forwards after a
first one. PyTorch has its faster layout, and batch norms are folded if torch.fx can. ONNX Runtime runs PyTorch's own
export with all optimisations. The ratio compares the faster of the two with sslrun. Only the others compute the
classifier, which takes less than one part in a hundred.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

from need_peer import need_node_peer, need_peer

need_peer("torch", "torchvision")
need_node_peer()
import torch
import torchvision
from torch.fx.experimental.optimization import fuse

warnings.simplefilter("ignore")
BATCH, SIDE, RUNS = 16, 224, 3
HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


def ours(program, model):
    args = [program, "bench", model, "--forward-only", "--batch", str(BATCH), "--steps", str(RUNS)]
    done = subprocess.run(args, capture_output=True, text=True, check=True)
    return float(re.search(r"median ([\d.]+) ms", done.stdout + done.stderr)[1]) / 1e3


def pytorch(net, x):
    times = []
    with torch.no_grad():
        for _ in range(1 + RUNS):
            began = time.perf_counter()
            net(x)
            times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def runtime(path):
    args = ["node", os.path.join(HERE, "onnx_time.js"), path, BATCH, SIDE, THREADS, RUNS]
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=True)
    return statistics.median(float(line) for line in done.stdout.split())


def nets_of(model):
    net = torchvision.models.get_model(model, weights=None).eval()
    try:
        folded = fuse(net)
    except Exception:  # torch.fx cannot trace a transformer, which has no batch norm to fold
        folded = net
    return net, folded


def compare(program, model, rounds, folder):
    torch.manual_seed(0)
    net, folded = nets_of(model)
    x = torch.randn(BATCH, 3, SIDE, SIDE)
    path = os.path.join(folder, model + ".onnx")
    torch.onnx.export(net, x, path, opset_version=13)
    ratios = []
    for r in range(rounds):
        a, c = ours(program, model), runtime(path)
        b = min(pytorch(folded.to(memory_format=f), x.to(memory_format=f))
                for f in (torch.contiguous_format, torch.channels_last))
        ratios.append(min(b, c) / a)
        print(f"{model} round {r}: sslrun {a:.3f} s, PyTorch {b:.3f} s, ONNX Runtime {c:.3f} s, faster / sslrun "
              f"{ratios[-1]:.2f}", flush=True)
    print(f"{model}: faster / sslrun, median: {statistics.median(ratios):.2f}", flush=True)


def main():
    torch.set_num_threads(THREADS)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        for model in sys.argv[3:] or ["vit_b_16", "efficientnet_b0", "convnext_tiny"]:
            compare(sys.argv[1], model, rounds, folder)


main()
