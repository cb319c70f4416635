#!/usr/bin/env python3
"""Features of a frozen DINOv3 ViT-S/16 at 224 pixels: sslrun compared with ONNX Runtime and PyTorch, wall time and memory.

usage: NODE_PATH=<folder>/node_modules OMP_NUM_THREADS=2 frozen_dinov3.py SSLRUN [ROUNDS [BATCH...]]      # 3 rounds, batches 1 and 16

The network is written in plain PyTorch from the paper (arXiv:2508.10104) with drawn weights. Its class tokens are first
compared with those of `sslrun extract` from the same weights. Then the programs run in turn, each in a process of its own,
with OMP_NUM_THREADS threads. A round's figure is the median of RUNS forwards after a first one; memory is the peak of the
process. ONNX Runtime runs PyTorch's export with all optimisations.
"""
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from need_peer import need_node_peer, need_peer

need_peer("torch")
import torch
import torch.nn.functional as F
from torch import nn

SIDE, PATCH, D, HEADS, LAYERS, STORAGE, RUNS = 224, 16, 384, 6, 12, 4, 7
HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.rand(D))

    def forward(self, x):
        return x * self.gamma


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        with torch.no_grad():
            self.qkv.bias[D:2 * D] = 0  # keys have no bias

    def forward(self, x, sin, cos):
        N, L, _ = x.shape
        q, k, v = self.qkv(x).reshape(N, L, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        q, k = turned(q, sin, cos), turned(k, sin, cos)
        x = ((q @ k.transpose(2, 3)) * (D // HEADS) ** -0.5).softmax(-1) @ v
        return self.proj(x.transpose(1, 2).reshape(N, L, D))


def turned(x, sin, cos):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attn = nn.LayerNorm(D, 1e-5), nn.LayerNorm(D, 1e-5), Attention()
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc1", nn.Linear(D, 4 * D))
        self.mlp.add_module("act", nn.GELU())
        self.mlp.add_module("fc2", nn.Linear(4 * D, D))
        self.ls1, self.ls2 = Scale(), Scale()

    def forward(self, x, sin, cos):
        x = x + self.ls1(self.attn(self.norm1(x), sin, cos))
        return x + self.ls2(self.mlp(self.norm2(x)))


class Dinov3(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, D, PATCH, PATCH)})
        self.cls_token, self.storage_tokens = nn.Parameter(torch.randn(1, 1, D)), nn.Parameter(torch.randn(1, STORAGE, D))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(D, 1e-5)
        grid, d = SIDE // PATCH, D // HEADS
        places = 2 * torch.arange(0.5, grid) / grid - 1
        places = torch.stack(torch.meshgrid(places, places, indexing="ij"), -1).flatten(0, 1)
        periods = 100.0 ** (2 * torch.arange(d // 4) / (d // 2))
        angles = (2 * math.pi * places[:, :, None] / periods).flatten(1).tile(2)
        angles = torch.cat([torch.zeros(1 + STORAGE, d), angles])  # the first tokens have no place
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.register_buffer("cos", angles.cos(), persistent=False)

    def forward(self, x):
        N = x.shape[0]
        x = self.patch_embed["proj"](x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(N, -1, -1), self.storage_tokens.expand(N, -1, -1), x], 1)
        for block in self.blocks:
            x = block(x, self.sin, self.cos)
        return self.norm(x)[:, 0]


def peak(pid):
    """Returns the peak memory in MB of a running process; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            found = re.search(r"VmHWM:\s+(\d+) kB", f.read())
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else 0


def run(args):
    """Runs a program; returns what it printed and its peak memory in MB."""
    # OpenBLAS, which Debian's PyTorch uses, takes slow kernels on processors that it does not know.
    env = {"OPENBLAS_CORETYPE": "SkylakeX", **os.environ} if "avx512f" in open("/proc/cpuinfo").read() else dict(os.environ)
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([str(a) for a in args], stdout=out, stderr=subprocess.STDOUT, env=env)
        most = 0
        while child.poll() is None:
            most = max(most, peak(child.pid))
            time.sleep(0.01)
        out.seek(0)
        text = out.read()
    if child.returncode:
        sys.exit(f"{args}: {text[-800:]}")
    return text, most


def torch_child(batch):
    """Prints the seconds of each forward; runs in a process of its own."""
    torch.set_num_threads(THREADS)
    net, x = Dinov3().eval(), torch.randn(batch, 3, SIDE, SIDE)
    with torch.no_grad():
        for i in range(1 + RUNS):
            began = time.perf_counter()
            net(x)
            if i:
                print(time.perf_counter() - began)


def check(program, net, folder):
    sys.path.insert(0, os.path.join(HERE, "..", "tests", "parity"))
    import parity

    x = torch.randn(2, 3, SIDE, SIDE)
    at = lambda name: os.path.join(folder, name)
    torch.save(net.state_dict(), at("w.pth"))
    parity.save(at("x.safetensors"), {"x": x})
    run([program, "extract", "dinov3_vits16", "--weights", at("w.pth"), "--nodes", "flatten", "--input", at("x.safetensors"),
         "--out", at("y.safetensors")])
    with torch.no_grad():
        want = net(x)
    print(f"class tokens differ by {((parity.load(at('y.safetensors'))['flatten'] - want).abs().max() / want.abs().max()):.1e} "
          "of the largest", flush=True)


def compare(program, folder, batch, rounds):
    times, memory = {}, {}
    for _ in range(rounds):
        for name, args in (("sslrun", [program, "bench", "dinov3_vits16", "--forward-only", "--batch", batch, "--size", SIDE, "--steps", RUNS]),
                           ("PyTorch", [sys.executable, os.path.abspath(__file__), "--torch", batch]),
                           ("ONNX Runtime", ["node", os.path.join(HERE, "onnx_time.js"), os.path.join(folder, f"{batch}.onnx"), batch, SIDE,
                                             THREADS, RUNS])):
            text, most = run(args)
            found = re.search(r"median ([\d.]+) ms", text)
            ms = float(found[1]) if found else 1e3 * statistics.median(float(line) for line in text.split())
            times.setdefault(name, []).append(ms)
            memory[name] = max(memory.get(name, 0), most)
    ratios = {name: statistics.median(a / b for a, b in zip(times[name], times["sslrun"])) for name in times}
    for name in times:
        print(f"| {batch} | {name} | {statistics.median(times[name]):.1f} ms | {ratios[name]:.2f} | {memory[name]:.0f} MB |", flush=True)


def main():
    if sys.argv[1] == "--torch":
        return torch_child(int(sys.argv[2]))
    need_node_peer()
    program = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    net = Dinov3().eval()
    with tempfile.TemporaryDirectory() as folder:
        check(program, net, folder)
        print("| batch | program | median | of sslrun's time | memory |\n|---|---|---|---|---|")
        for batch in [int(b) for b in sys.argv[3:]] or [1, 16]:
            torch.onnx.export(net, torch.randn(batch, 3, SIDE, SIDE), os.path.join(folder, f"{batch}.onnx"), opset_version=13)
            compare(program, folder, batch, rounds)


main()
