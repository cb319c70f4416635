#!/usr/bin/env python3
"""Counts the instructions of the hot loops of an aarch64 build and estimates their speed with llvm-mca, as a Markdown table.

usage: bench/hot_loops.py [BUILD]    BUILD: folder of `make check-arm64` (build/arm64)

LLVM_MCA names the program (llvm-mca-19: older releases model all these processors as a Cortex-A57). The estimate holds for
operands in the first-level cache. A multiply is fmla, bfdot or bfmmla: 4, 8 or 16 multiply-adds.
"""
import collections
import os
import re
import subprocess
import sys

MCA = os.environ.get("LLVM_MCA", "llvm-mca-19")
PIPES = {"neoverse-n1": 2, "neoverse-n2": 2, "neoverse-v1": 4}
WORK = {"fmla": 4, "bfdot": 8, "bfmmla": 16}
TILE, BLOCK = "kernels/conv/conv_tile_simd", "kernels/core/block_product_simd"
LOOPS = [
    ("convolution and linear, 6 x 2 vectors", TILE, "plain", "tile_6_2"),
    ("convolution and linear, 6 x 4", TILE, "neon", "tile_6_4"),
    ("the same with 8 x 3, narrow blocks", TILE, "neon", "tile_8_3"),
    ("the same with pairs, 6 x 4", TILE, "neonbf16", "tile_6_4"),
    ("gradient of weights, 6 x 2", TILE, "plain", "outer_6_2"),
    ("gradient of weights, 6 x 4", TILE, "neon", "outer_6_4"),
    ("gradient of weights, pairs, 6 x 4", TILE, "neonbf16", "outer_6_4"),
    ("attention and kNN, 6 x 2", BLOCK, "plain", "product"),
    ("attention and kNN, 6 x 4", BLOCK, "neon", "product"),
    ("attention, pairs, 6 x 2", BLOCK, "plain", "pair_product"),
    ("attention, pairs, 6 x 4", BLOCK, "neon", "pair_product"),
    ("attention, pairs, 6 x 4", BLOCK, "neonbf16", "pair_product"),
]


def instructions(path, function):
    """Returns (address, mnemonic, operands) of each instruction of a function."""
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    body = re.search(r"^[0-9a-f]+ <%s>:\n(.*?)(?:\n\n|\Z)" % re.escape(function), text, re.S | re.M).group(1)
    found = (re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line) for line in body.split("\n"))
    return [(int(m[1], 16), m[2], m[3]) for m in found if m]


def multiplies(loop):
    return sum(op in WORK for _, op, _ in loop)


def hot_loop(code):
    """Returns the shortest of the loops without loops inside that multiply most."""
    at = {address: i for i, (address, _, _) in enumerate(code)}
    spans = []
    for i, (_, op, operands) in enumerate(code):
        target = re.search(r"\b([0-9a-f]+) <", operands)
        first = at.get(int(target[1], 16)) if target and re.match(r"b$|b\.|cb|tb", op) else None
        if first is not None and first <= i:
            spans.append((first, i + 1))
    inner = [s for s in spans if not any(o != s and o[0] >= s[0] and o[1] <= s[1] for o in spans)]
    loops = [code[first:end] for first, end in inner if end - first < 200]
    return max(loops, key=lambda loop: (multiplies(loop), -len(loop)))


def cycles(loop, processor):
    """Returns the cycles that llvm-mca gives an iteration."""
    lines = [op + " " + re.sub(r"\b[0-9a-f]+ <.*", "away", operands.split("//")[0]) for _, op, operands in loop]
    command = [MCA, "-march=aarch64", "-mcpu=" + processor, "-mattr=+bf16", "-iterations=1000"]
    said = subprocess.run(command, input="away:\n" + "\n".join(lines) + "\n", capture_output=True, text=True)
    if said.returncode:
        sys.exit("hot_loops: %s: %s" % (MCA, said.stderr.strip()))
    return int(re.search(r"Total Cycles:\s+(\d+)", said.stdout)[1]) / 1000


def estimate(loop, processor, n):
    if processor == "neoverse-n1" and any(op.startswith("bf") for _, op, _ in loop):
        return "no BF16"
    rate = n / cycles(loop, processor)
    return "%.2f (%.0f %%)" % (rate, 100 * rate / PIPES[processor])


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build/arm64"
    print("| loop | level | multiplies | other instructions | of these on the stack | multiply-adds | " + " | ".join(PIPES) + " |")
    print("|---|---|---|---|---|---|" + "---|" * len(PIPES))
    for name, source, level, function in LOOPS:
        loop = hot_loop(instructions("%s/%s.%s.o" % (build, source, level), function))
        n, kinds = multiplies(loop), collections.Counter(op for _, op, _ in loop if op in WORK)
        stack = sum("[sp" in operands for _, _, operands in loop)
        row = [name, level, ", ".join("%d %s" % (count, op) for op, count in kinds.items()), len(loop) - n, stack,
               sum(WORK[op] * count for op, count in kinds.items())]
        print("| " + " | ".join(map(str, row + [estimate(loop, p, n) for p in PIPES])) + " |")


main()
