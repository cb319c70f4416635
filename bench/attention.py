#!/usr/bin/python3
"""Attention of vision transformers: `op-bench attention` compared with PyTorch's products and softmax, in turn.

    make build/op-bench && bench/attention.py [ROUNDS]      needs python3-torch

Shapes: 197 tokens (224 pixels in patches of 16) and 785 (patches of 8), heads of 64 channels. A figure is the median over
the rounds of the least time in each. PyTorch uses its fused call if it has one for CPUs, otherwise two bmm and a softmax.
"""
import os, re, statistics, subprocess, sys, time

from need_peer import need_peer

need_peer("torch")
import torch

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
threads = os.cpu_count()
torch.set_num_threads(threads)


def theirs(N, L, D, E):
    qkv = torch.randn(N, L, 3 * D, requires_grad=True)
    dy = torch.randn(N, L, D)
    best = [1e9, 1e9]
    for _ in range(8):
        t0 = time.perf_counter()
        q, k, v = qkv.reshape(N, L, 3, E, D // E).permute(2, 0, 3, 1, 4)
        if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            y = ((q * (D // E) ** -0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
        y = y.transpose(1, 2).reshape(N, L, D)
        t1 = time.perf_counter()
        y.backward(dy)
        t2 = time.perf_counter()
        best = [min(best[0], t1 - t0), min(best[1], t2 - t1)]
    return [1e3 * b for b in best]


def ours(N, L, D, E):
    text = subprocess.run(["build/op-bench", "attention", f"{{num_heads: {E}}}", f"{N},{L},{3 * D}"], check=True,
                          capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)}).stdout
    return [float(ms) for ms in re.findall(r"([\d.]+) ms", text)]


for shape in ((16, 197, 384, 6), (16, 197, 768, 12), (2, 785, 384, 6)):
    runs = [(ours(*shape), theirs(*shape)) for _ in range(rounds)]
    for i, name in enumerate(("forward", "backward")):
        a, b = (statistics.median(r[side][i] for r in runs) for side in (0, 1))
        ratio = statistics.median(r[1][i] / r[0][i] for r in runs)
        print(f"N, L, D, E = {shape} {name}: sslrun {a:.2f} ms, torch {torch.__version__} {b:.2f} ms, ratio {ratio:.2f}")
