#!/usr/bin/python3
"""Trunks as ONNX files: onnx's checker accepts them, and onnxruntime computes the values of `sslrun extract`.

    NODE_PATH=<folder>/node_modules tests/parity/export.py [PROGRAM]

Needs python3-torch and python3-torchvision (for weights). Without python3-onnx the checker is skipped, without
onnxruntime-node (npm install --ignore-scripts onnxruntime-node) the files are not run.
"""
import json, os, shutil, struct, subprocess, sys, tempfile, warnings

warnings.simplefilter("ignore")
try:
    import numpy, torch, torchvision
except ImportError as missing:
    print(f"parity: skipped, {missing} (apt-get install python3-torch python3-torchvision)")
    sys.exit(0)
try:
    import onnx
except ImportError:
    onnx = None
import towers

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./sslrun")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1e-5  # relative to the largest value of an output
GROUPS = ["MODEL.TRUNK.NAME=resnet", "MODEL.TRUNK.RESNETS.DEPTH=18", "MODEL.TRUNK.RESNETS.NORM=GroupNorm", "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=1",
          "MODEL.TRUNK.RESNETS.SMALL_IMAGE_STEM=False"]
CASES = [  # trunk, constructor of torchvision, nodes, size
    (["resnet18"], "resnet18", "conv1,relu,layer1.0.add,layer3,avgpool,flatten,fc:logits", 97),
    (["resnet50"], "resnet50", "maxpool,layer1.0.relu_2,layer4:deep,flatten,fc", 64),
    (["resnext50_32x4d"], "resnext50_32x4d", "layer1.0.conv2,layer4.2.relu,flatten", 64),
    (["wide_resnet50_2"], "wide_resnet50_2", "layer3.5.add,fc", 64),
    (["resnet20"], None, "relu:conv1,layer2.0.shortcut.pad,layer3,view,linear", 33),
    (["efficientnet_b0"], "efficientnet_b0", "features.2,features.8,flatten", 64),
    (["mobilenet_v3_small"], "mobilenet_v3_small", "features.4,flatten", 64),
    (["regnet_y_400mf"], "regnet_y_400mf", "trunk_output.block2,flatten", 64),
    (["convnext_tiny"], "convnext_tiny", "features.0,features.3,flatten", 64),
    (["swin_t"], "swin_t", "features.1,features.2,features.5.3,flatten", 90),
    (["swin_v2_t"], "swin_v2_t", "features.1,features.3.1,flatten", 72),
    (["vit_b_16"], "vit_b_16", "encoder.layers.encoder_layer_0,encoder.ln,lastATT,flatten", 224),
    (["CLIP"], "clip", "0,lastATT,lastMAP,flatten", 40),
    (["SIGLIP"], "siglip", "0,attn_pool.attention,lastMAP,flatten", 40),
    (["maxvit_t"], "maxvit_t", "stem,blocks.1,flatten", 224),
    (["configs/swav.yaml", *GROUPS], "groups", "bn1,layer2,flatten", 64),
]


def weights(kind, program_case):
    torch.manual_seed(3)
    if kind is None:  # not in torchvision: random tensors with the names and shapes that convert lists
        shapes = {"conv1": (16, 3), "linear": (10, 64)}
        state = {"conv1.weight": torch.randn(16, 3, 3, 3) * 0.2, "linear.weight": torch.randn(10, 64),
                 "linear.bias": torch.randn(10)}
        norms = {"bn1": 16}
        for s, c in enumerate((16, 32, 64)):
            for b in range(3):
                for k in (1, 2):
                    before = c // 2 if s and not b and k == 1 else c
                    state[f"layer{s + 1}.{b}.conv{k}.weight"] = torch.randn(c, before, 3, 3) * (2 / 9 / before) ** 0.5
                    norms[f"layer{s + 1}.{b}.bn{k}"] = c
        for name, c in norms.items():
            state |= {f"{name}.weight": torch.ones(c), f"{name}.bias": torch.zeros(c),
                      f"{name}.running_mean": torch.zeros(c), f"{name}.running_var": torch.ones(c)}
    elif kind in ("clip", "siglip"):
        state = towers.Tower(kind).state_dict()
    elif kind == "groups":
        state = torchvision.models.resnet18(norm_layer=lambda c: torch.nn.GroupNorm(32, c)).state_dict()
    else:
        state = getattr(torchvision.models, kind)().state_dict()
    for key, value in state.items():
        if "running_mean" in key:
            value.normal_(0, 0.1)
        elif "running_var" in key or key.endswith(("bn1.weight", "bn2.weight")):
            value.uniform_(0.5, 1.5)
    return state


def save(path, x):
    raw = x.tobytes()
    head = json.dumps({"x": {"dtype": "F32", "shape": list(x.shape), "data_offsets": [0, len(raw)]}}).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + raw)


def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + n])
    return {k: numpy.frombuffer(data[8 + n :][slice(*t["data_offsets"])], numpy.float32).reshape(t["shape"])
            for k, t in head.items() if k != "__metadata__"}


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(args[:3])}: exit code {done.returncode}\n{done.stderr[-800:]}")


def have_runtime():
    return shutil.which("node") and subprocess.run(["node", "-e", "require('onnxruntime-node')"],
                                                   capture_output=True).returncode == 0


def check(case, fold, folder, runtime):
    trunk, kind, nodes, size = case
    at = lambda name: os.path.join(folder, name)
    if kind in ("clip", "siglip"):  # small ones have no name
        with open(at("net.yaml"), "w") as f:
            f.write("config: {MODEL: {TRUNK: {%s}, HEAD: {PARAMS: []}, FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, "
                    "FREEZE_TRUNK_ONLY: True, EXTRACT_TRUNK_FEATURES_ONLY: True}}}" % towers.config(kind))
        trunk = [at("net.yaml")]
    torch.save(weights(kind, trunk), at("w.pth"))
    x = numpy.random.default_rng(0).standard_normal((3, 3, size, size), numpy.float32)
    save(at("x.safetensors"), x)
    x.tofile(at("x.f32"))
    given = [*trunk, "--weights", at("w.pth"), "--nodes", nodes, *([] if fold else ["--no-fold"])]
    run(PROGRAM, "export", *given, "--out", at("m.onnx"), "--size", str(size), "--force")
    told = f"{os.path.getsize(at('m.onnx')) >> 10} KiB"
    if onnx:
        model = onnx.load(at("m.onnx"))
        onnx.checker.check_model(model, full_check=True)
        norms = sum(n.op_type == "BatchNormalization" for n in model.graph.node)
        told = f"{len(model.graph.node)} nodes, {norms} norms"
    worst = float("nan")
    if runtime:
        run(PROGRAM, "extract", *given, "--input", at("x.safetensors"), "--out", at("out.safetensors"))
        run("node", os.path.join(HERE, "onnx_run.js"), at("m.onnx"), at("x.f32"), f"3,3,{size},{size}", at("out.json"))
        expected, got = load(at("out.safetensors")), json.load(open(at("out.json")))
        assert set(expected) == set(got), (sorted(expected), sorted(got))
        worst = 0.0
        for name, value in expected.items():
            theirs = numpy.array(got[name]["data"], numpy.float32).reshape(got[name]["dims"])
            assert theirs.shape == value.shape, (name, theirs.shape, value.shape)
            worst = max(worst, float(abs(theirs - value).max() / abs(value).max()))
    ok = not worst > LIMIT
    print(f"{'ok  ' if ok else 'FAIL'} {kind if kind in ('clip', 'siglip') else trunk[0]} {size} {'folded' if fold else 'unfolded'}: {told}, "
          + (f"features off by {worst:.1e}" if runtime else "checked, not run"), flush=True)
    return ok


runtime = have_runtime()
with tempfile.TemporaryDirectory() as folder:
    results = [check(case, fold, folder, runtime) for case in CASES for fold in (True, False)]
sys.exit(not all(results))
