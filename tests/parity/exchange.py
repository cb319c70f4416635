#!/usr/bin/python3
"""Weights exchanged with PyTorch: sslrun reads what torch.save writes, PyTorch loads what sslrun writes under strict=True,
and VISSL's loader finds its entries.

    tests/parity/exchange.py [PROGRAM] [MODEL ...]

Without torch and torchvision (Debian: python3-torch, python3-torchvision) the script says so and passes.
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


def vissl_load(path, model, heads):
    """Repeats VISSL's init_model_from_consolidated_weights with its default keys on a model of its form. Every entry except
    num_batches_tracked must exist in the right shape; VISSL would only log a missing one."""
    checkpoint = torch.load(path, map_location="cpu")
    parts = checkpoint["classy_state_dict"]["base_model"]["model"]
    assert isinstance(parts["trunk"], dict) and isinstance(parts["heads"], dict)
    given = {f"{part}.{key}": value for part in ("trunk", "heads") for key, value in parts[part].items()}
    for key, value in model.state_dict().items():
        if "num_batches_tracked" in key:
            continue
        assert key in given, f"Not found: {key}"
        assert given[key].shape == value.shape, f"{key} have different shapes"
        value.copy_(given[key])
    assert {k.split(".")[1] for k in given if k.startswith("heads.")} == heads, "heads"


def vissl_model(net):
    blocks = torch.nn.ModuleDict({k: v for k, v in net.named_children() if k != "fc"})
    model = torch.nn.Module()
    model.trunk = torch.nn.Module()
    model.trunk._feature_blocks = blocks
    return model


def check_vissl(name, folder):
    torch.manual_seed(1)
    net, other = (getattr(torchvision.models, name)().eval() for _ in range(2))
    source, path = os.path.join(folder, "net.pth"), os.path.join(folder, "net.torch")
    torch.save(net.state_dict(), source)
    run("convert", source, path, "--to", "vissl", "--only", "trunk", "--force")
    vissl_load(path, vissl_model(other), set())
    other.fc = net.fc
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        worst = (net(x) - other(x)).abs().max().item()
    print(f"{'ok  ' if worst <= LIMIT else 'FAIL'} {name} by VISSL's steps: features off by {worst:.1e}")
    return worst <= LIMIT


def check_vissl_run(folder):
    """Checks the checkpoint of a training, heads included."""
    config = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "tiny.yaml")
    path = os.path.join(folder, "run.torch")
    run("train", config, f"CHECKPOINT.DIR={folder}/run", "OPTIMIZER.num_epochs=1", "TEST_MODEL=False")
    run("convert", f"{folder}/run/checkpoint.safetensors", path, "--to", "vissl")
    model = torch.nn.Module()
    vissl_load(path, model, {"0"})
    trunk = torch.load(path)["classy_state_dict"]["base_model"]["model"]["trunk"]
    ok = all(k.startswith("_feature_blocks.") for k in trunk) and len(trunk) == 120
    print(f"{'ok  ' if ok else 'FAIL'} a run's checkpoint by VISSL's steps: {len(trunk)} entries of the trunk")
    return ok


with tempfile.TemporaryDirectory() as folder:
    results = [check(n, folder, z) for n in NAMES for z in (True, False)]
    results += [check_vissl(n, folder) for n in NAMES] + [check_vissl_run(folder)]
sys.exit(not all(results))
