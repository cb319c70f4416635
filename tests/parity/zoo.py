#!/usr/bin/python3
"""Every classification model that torchvision and sslrun both have, on random weights.

    tests/parity/zoo.py [PROGRAM] [MODEL ...]

For each model, `sslrun graph` must give torchvision's list of nodes and shapes, text for text, in evaluation, in training,
and with only torch.nn's own modules closed. Three nodes, spread over the net, must have values within 1e-4 of the largest,
in evaluation and in training (there only nodes before the first random one).
"""
import math, os, subprocess, sys, tempfile

import parity
from parity import NodePathTracer, build, fx, torch, torchvision
from torchvision.models.feature_extraction import _set_default_tracer_kwargs


class Shapes(fx.Interpreter):
    """Runs a traced graph and keeps the shape of every value."""

    def run_node(self, n):
        value = super().run_node(n)
        self.shapes = getattr(self, "shapes", {})
        self.shapes[n] = list(value.shape) if torch.is_tensor(value) else None
        return value


def size_of(name, features=False):
    """Returns the image size of a model: maxvit needs whole windows on every map, inception one for its auxiliary classifier."""
    if name.startswith(("maxvit", "vit")):
        return 224
    if name == "inception_v3":
        return 299
    return 96 if features else 64


def torch_list(model, size, through):
    wrapped = {"leaf_modules": [], "autowrap_modules": (math, torchvision.ops)}
    tracer = NodePathTracer(**(wrapped if through else _set_default_tracer_kwargs(None)))
    run = Shapes(fx.GraphModule(model, tracer.trace(model)))
    with torch.no_grad():
        run.run(torch.randn(2, 3, size, size))
    return [(name, run.shapes.get(node)) for node, name in tracer.node_to_qualname.items()]


def our_list(program, name, size, mode, leaf):
    command = [program, "graph", name, "--batch", "2", "--size", str(size), "--mode", mode, "--leaf", leaf]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def first_difference(theirs, ours):
    text = [f"{name} {shape}" for name, shape in theirs]
    for i in range(max(len(text), len(ours))):
        a, b = text[i] if i < len(text) else "(nothing)", ours[i] if i < len(ours) else "(nothing)"
        if a != b:
            return f"line {i + 1}: {b}, torchvision {a}"
    return ""


def check_lists(program, name, model):
    """Returns the first difference by mode; empty if there is none."""
    size, out, lists = size_of(name), {}, {}
    for mode, leaf in (("eval", "default"), ("train", "default"), ("eval", "through")):
        lists[mode, leaf] = torch_list(model.train(mode == "train"), size, leaf == "through")
        difference = first_difference(lists[mode, leaf], our_list(program, name, size, mode, leaf))
        if difference:
            out[f"{mode} {leaf}"] = difference
    both = {n for n, _ in lists["train", "default"]}
    return out, [n for n, shape in lists["eval", "default"] if shape and len(shape) > 1 and n in both and n != "x"]


def inside_a_call(name):
    """Returns listed nodes without a value in sslrun: those inside maxvit's attention and shufflenet's shuffle, and parameters."""
    inner = ("_weight", "_bias", "_table", "_logit_scale", "_index", ".view", ".transpose", ".contiguous")
    return ".attn_layer.1." in name or name.endswith(inner)


def draws(module):
    return isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)) and module.p > 0


def spread(model, nodes, train):
    """Returns three nodes: after a third, after two thirds, and the last. VISSL's conv1 is another node in some nets."""
    names = [path for path, m in model.named_modules() if draws(m)] if train else []
    end = min([i for i, n in enumerate(nodes) if any(n == d or n.startswith(d + ".") for d in names)] + [len(nodes)])
    kept = [n for n in nodes[:end] if n not in ("conv1", "flatten") and not inside_a_call(n)]
    return ",".join(dict.fromkeys(kept[min(len(kept) * k // 3, len(kept) - 1)] for k in (1, 2, 3)))


def own_loss(case):
    """Returns the error of PyTorch's own floats: a hundred norms with batch statistics lose more than the limit."""
    name, nodes, size, batch, train = case
    torch.manual_seed(1)
    values = []
    x = torch.randn(batch, 3, size, size)
    for dtype in (torch.float32, torch.float64):
        values.append(parity.features(parity.random_model(name, train).to(dtype), nodes, x.to(dtype), train))
    return max(((values[0][k] - v).abs().max() / v.abs().max()).item() for k, v in values[1].items())


def agrees(program, case, folder, error):
    """Beyond the limit in training, two float results differ by the error of both: sslrun is then compared with doubles."""
    if error <= parity.LIMIT or not case[4] or error > 1e-2:
        return error <= parity.LIMIT
    return parity.compare(program, case, folder, exact=True) <= max(parity.LIMIT, 2 * own_loss(case))


CONFIG = """config: {MODEL: {TRUNK: {NAME: %s, %s: {TRANSFORM_INPUT: True}}, HEAD: {PARAMS: []}, FEATURE_EVAL_SETTINGS:
  {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, EXTRACT_TRUNK_FEATURES_ONLY: True}}}
"""


def check_transform_input(program, name, node, size, folder):
    """Checks googlenet and inception_v3 as torchvision makes them for its published weights (transform_input)."""
    path = lambda f: os.path.join(folder, f)
    model = parity.random_model(name, False)
    model.transform_input = True
    x = torch.randn(2, 3, size, size)
    expected = parity.hooked(model, {node: node}, x)[node]
    parity.save(path("w.safetensors"), model.state_dict())
    parity.save(path("x.safetensors"), {"x": x})
    with open(path("net.yaml"), "w") as f:
        f.write(CONFIG % (name, name.upper()))
    subprocess.run([program, "extract", path("net.yaml"), "--weights", path("w.safetensors"), "--lax", "--nodes", node, "--input",
                    path("x.safetensors"), "--out", path("out.safetensors")], check=True, stderr=subprocess.DEVNULL)
    got = parity.load(path("out.safetensors"))[node]
    return ((got - expected).abs().max() / expected.abs().max()).item()


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "./sslrun"
    wanted, bad = sys.argv[2:], 0
    for name in parity.listed(program):
        if wanted and name not in wanted:
            continue
        model = build(name)
        differences, nodes = check_lists(program, name, model)
        bad += len(differences)
        for what, text in differences.items():
            print(f"FAIL list of {name}, {what}: {text}", flush=True)
        for train in (False, True):
            case = (name, spread(model, nodes, train), size_of(name, True), 4 if train else 2, train)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    error = parity.compare(program, case, folder)
                    good = agrees(program, case, folder, error)
                except (AssertionError, RuntimeError, subprocess.CalledProcessError) as failure:
                    error, good = math.inf, False
                    print(f"     {failure}")
            bad += not good
            print(f"{'ok  ' if good else 'FAIL'} {error:.1e} {name} {'train' if train else 'eval'}: {case[1]}", flush=True)
    for name, node, size in (("googlenet", "inception3a", 96), ("inception_v3", "Mixed_5b", 139)):
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            error = check_transform_input(program, name, node, size, folder)
        bad += error > parity.LIMIT
        print(f"{'ok  ' if error <= parity.LIMIT else 'FAIL'} {error:.1e} {name} with transform_input: {node}", flush=True)
    print("zoo: " + (f"{bad} failed" if bad else "all agree"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
