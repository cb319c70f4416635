#!/usr/bin/python3
"""Measures the cost of each method beyond its trunk and heads, in the published recipes (ResNet-50, crops of 224).

    bench/method_cost.py [PROGRAM] [BATCH] [CONFIG ...]        # default ./sslrun 64 and every ResNet-50 recipe of configs/pretrain

Each recipe runs one step (`bench --ops`, random images). The columns are milliseconds in kernels of trunk and heads, with
the teachers'; in kernels of the loss; and outside kernels (queues, memory banks, teachers' weights, and the optimiser, which
does not belong to the method). The share is that of the loss in the step.
"""
import glob, os, re, subprocess, sys

CALL = re.compile(r"^  (\S+)\s+(forward|backward|recompute|prepare|add|copy|cast|zero)\s+([\d.]+) ms\s")


def measure(program, batch, config):
    keys = ["DATA.TRAIN.DATA_SOURCES=[synthetic]", f"DATA.TRAIN.BATCHSIZE_PER_REPLICA={batch}"]
    command = [program, "bench", config, *keys, "--steps", "1", "--ops"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr.strip().splitlines()[-1]
    step = float(re.search(r"median ([\d.]+) ms", run.stdout)[1])
    in_kernels = float(re.search(r"by op, ([\d.]+) ms in kernels", run.stdout)[1])
    calls = run.stdout[run.stdout.index("all calls in order"):]
    loss = 0.0
    for name, kind, ms in (m.groups() for m in map(CALL.match, calls.splitlines()) if m):
        if name.startswith("loss.") and not re.match(r"loss\.\w*(encoder|teacher)\.", name):
            loss += float(ms)
    return (step, in_kernels - loss, loss, max(step - in_kernels, 0.0)), None


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "./sslrun"
    batch = sys.argv[2] if len(sys.argv) > 2 else "64"
    configs = sys.argv[3:] or sorted(c for c in glob.glob("configs/pretrain/*/*resnet*.yaml")
                                     if "distillation" not in c and "resnet18" not in c)
    print("| recipe | step, ms | trunk and heads | loss | share | outside kernels |\n|---|---|---|---|---|---|")
    for config in configs:
        row, why = measure(program, batch, config)
        name = os.path.basename(config).removesuffix(".yaml")
        if row:
            step, trunk, loss, outside = row
            print(f"| {name} | {step:.0f} | {trunk:.0f} | {loss:.1f} | {100 * loss / step:.1f} % | {outside:.0f} |")
        else:
            print(f"| {name} | {why} |")
        sys.stdout.flush()


main()
