#!/usr/bin/python3
"""Weights exchanged with live PyTorch: what torch.save writes is read, what we write loads strictly.

    tests/parity/exchange.py [PROGRAM] [MODEL ...]

Without torch and torchvision (Debian: python3-torch, python3-torchvision) it says so and passes.
"""
import os, subprocess, sys, tempfile, warnings

warnings.simplefilter("ignore")
try:
    import numpy, torch, torchvision
except ImportError as missing:
    print(f"parity: skipped, {missing} (apt-get install python3-torch python3-torchvision)")
    sys.exit(0)

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./sslrun")
LIMIT = 1e-5
NAMES = sys.argv[2:] or ["resnet18", "resnet50", "resnext50_32x4d"]


def run(*args):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sslrun {' '.join(args)}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr}")
    return done.stdout


def check(name, folder, zipped):
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)().eval()
    for key, value in model.state_dict().items():
        if "running" in key:
            value.uniform_(0.5, 1.5)
    x = torch.randn(2, 3, 64, 64)
    path = os.path.join(folder, "in.pth")
    torch.save(model.state_dict(), path, _use_new_zipfile_serialization=zipped)
    other = getattr(torchvision.models, name)().eval()
    route = [("vissl.torch", "vissl"), ("out.pth", "torchvision"), ("a.safetensors", None), ("b.npz", None), ("c.pth", None)]
    before = path
    for file, names in route:
        after = os.path.join(folder, file)
        run("convert", before, after, "--force", *(["--to", names] if names else []))
        before = after
    other.load_state_dict(torch.load(before), strict=True)
    with torch.no_grad():
        worst = (model(x) - other(x)).abs().max().item()
    same = run("diff", os.path.join(folder, "out.pth"), before).splitlines()[-1]
    arrays = numpy.load(os.path.join(folder, "b.npz"))
    equal = all((arrays[k] == v.numpy()).all() for k, v in model.state_dict().items())
    ok = worst <= LIMIT and same == "identical" and equal and name in run("inspect", path)
    print(f"{'ok  ' if ok else 'FAIL'} {name} {'zip' if zipped else 'legacy'}: features off by {worst:.1e}")
    return ok


with tempfile.TemporaryDirectory() as folder:
    results = [check(n, folder, z) for n in NAMES for z in (True, False)]
sys.exit(not all(results))
