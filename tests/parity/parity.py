#!/usr/bin/python3
"""Features of sslrun compared with torchvision's, on random weights.

    tests/parity/parity.py [PROGRAM] [MODEL ...]

Each case builds a torchvision model with random batch-norm statistics, taps some nodes in evaluation or training, and
compares them with `sslrun extract` on the same weights and images. The largest difference, relative to the largest value
of the tensor, must stay within 1e-4. zoo.py covers all models: their lists of nodes, and three nodes of each. Without
torch and torchvision (Debian: python3-torch, python3-torchvision) the script says so and passes.
"""
import dis, inspect, json, math, os, struct, subprocess, sys, tempfile, warnings

warnings.simplefilter("ignore")
try:
    import torch, torchvision
    from torch import fx
    from torchvision.models.feature_extraction import NodePathTracer, create_feature_extractor, get_graph_node_names
except ImportError as missing:
    print(f"parity: skipped, {missing} (apt-get install python3-torch python3-torchvision)")
    sys.exit(0)



def iterate(proxy):
    """Works around fx.Proxy.__iter__ of torch 1.13, which reads bytecode by a rule that Python 3.11 changed: `a, b = x`."""
    code = inspect.currentframe().f_back
    call = next(i for i in dis.get_instructions(code.f_code) if i.offset == code.f_lasti)
    if call.opname == "UNPACK_SEQUENCE":
        return (proxy[i] for i in range(call.argval))
    return proxy.tracer.iter(proxy)


if sys.version_info >= (3, 11) and torch.__version__ < "2":
    fx.Proxy.__iter__ = iterate

LIMIT = 1e-4
CASES = [  # model, nodes, size, batch, train
    ("resnet18", "conv1,layer1,layer3.1.relu_1,avgpool", 64, 2, False),
    ("resnet18", "bn1,layer2.0.downsample.1,layer4.1.add,flatten,fc", 97, 3, False),
    ("resnet18", "relu,layer1.0.conv2,layer2,layer4", 64, 4, True),
    ("resnet50", "maxpool,layer1.0.relu_2,layer2.3,layer4:deep,fc:logits", 64, 2, False),
    ("resnet50", "layer1.2.bn3,layer3.0.conv2,layer3", 80, 3, False),
    ("resnet50", "layer1,layer2.1.relu_1,layer4", 96, 4, True),
    ("resnext50_32x4d", "layer1.0.conv2,layer2,layer4.2.relu,flatten", 64, 2, False),
    ("resnext50_32x4d", "layer1.1.bn2,layer3", 64, 3, True),
    ("wide_resnet50_2", "layer1.0.bn2,layer3.5.add,avgpool,fc", 64, 2, False),
    ("wide_resnet50_2", "layer2.3.relu_2,layer3.0", 65, 3, True),
    ("efficientnet_b0", "features.0,features.3.1.block.2,features.8,flatten", 64, 2, False),
    ("mobilenet_v2", "features.2.conv.1,features.7,features.14.conv.3,flatten", 64, 2, False),
    ("mobilenet_v3_small", "features.1,features.5.add,features.9.block.2,classifier.3", 64, 2, False),
    ("regnet_y_400mf", "trunk_output.block2.block2-1.f.se,trunk_output.block3,fc", 64, 2, False),
    ("regnet_x_800mf", "stem,trunk_output.block1.block1-0.f.b,trunk_output.block4,fc", 64, 3, True),
    ("vgg11_bn", "features.3,features.20,classifier.6", 64, 2, False),
    ("alexnet", "features.2,avgpool,classifier.1", 96, 2, False),
    ("vit_b_16", "conv_proj,encoder.layers.encoder_layer_3,encoder.ln,heads.head", 224, 2, False),
    ("vit_b_32", "permute,encoder.layers.encoder_layer_0.getitem,encoder.layers.encoder_layer_7.mlp,getitem_5", 224, 2, True),
    ("swin_t", "features.0.0,features.1.1.attn,features.3.1,features.5.0.add,permute,head", 224, 2, False),
    ("swin_t", "features.1.1,features.2,features.7.1.mlp,flatten", 168, 2, False),
    ("swin_v2_t", "features.1.1.attn,features.3.1,features.5.0.add,avgpool,head", 224, 2, False),
    ("swin_v2_t", "features.1.0,features.3,features.7,flatten", 200, 2, False),
    ("maxvit_t", "stem.1,blocks.0.layers.1,blocks.2.layers.0.layers.MBconv.add,classifier.1,classifier.5", 224, 2, False),
    ("convnext_tiny", "features.1.0.block.1,features.2.0,features.5.3.mul,classifier.0,classifier.2", 64, 2, False),
    ("convnext_tiny", "features.0,features.4,features.7.2.block.5", 64, 2, False),
    ("squeezenet1_0", "features.5,features.12.cat,classifier.1,flatten", 64, 2, False),
    ("squeezenet1_1", "features.6.expand3x3,features.12", 64, 2, True),
    ("mnasnet0_5", "layers.8.1.add,layers.12.2,mean,classifier.1", 64, 2, False),
    ("mnasnet0_5", "layers.5,layers.9.0.layers.4,mean", 64, 4, True),
    ("shufflenet_v2_x0_5", "stage2.0,stage3.3.branch2,stage4,fc", 64, 2, False),
    ("densenet121", "features.denseblock1.cat,features.transition2,features.norm5,classifier", 64, 2, False),
    ("densenet121", "features.denseblock2.denselayer3.cat,features.transition3", 64, 4, True),
    ("googlenet", "conv3,inception3b,inception5a.branch3,avgpool,fc", 96, 2, False),
    ("googlenet", "inception4a,inception4d.branch4", 96, 4, True),
    ("inception_v3", "Conv2d_4a_3x3,Mixed_6b,Mixed_7b.branch3x3_1,Mixed_7c,fc", 139, 2, False),
    ("efficientnet_v2_s", "features.1.1.add,features.4,avgpool,classifier.1", 80, 2, False),
]


def save(path, tensors):
    """Writes a dict of tensors as safetensors."""
    kinds = {torch.float32: "F32", torch.int64: "I64"}
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        raw = t.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": kinds[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            first, end = t["data_offsets"]
            flat = torch.frombuffer(bytearray(data[8 + n + first : 8 + n + end]), dtype=torch.float32)
            out[name] = flat.reshape(t["shape"])
    return out


def build(name):
    slow = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **slow)


def random_model(name, train):
    torch.manual_seed(len(name))
    model = build(name)
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.5, 1.5)
            m.bias.data.normal_(0, 0.1)
    for p in model.parameters():
        if not p.any():  # a parameter that starts at zero would hide everything before it
            p.data.normal_(0, 0.1)
    return model.train(train)


class Copies(fx.Interpreter):
    """Keeps a copy of every value, since ReLU(inplace=True) and += overwrite the output of bn1, add, ..."""

    def run_node(self, n):
        value = super().run_node(n)
        self.copies = getattr(self, "copies", {})
        self.copies[n] = value.clone() if torch.is_tensor(value) else None
        return value


def hooked(model, pairs, x):
    """Taps modules only, where torch.fx cannot follow the code (transform_input)."""
    found = {}
    for path, name in pairs.items():
        model.get_submodule(path).register_forward_hook(lambda m, i, y, name=name: found.update({name: y.clone()}))
    with torch.no_grad():
        model(x)
    return found


def features(model, nodes, x, train):
    pairs = dict((q.split(":") + [q])[:2] for q in nodes.split(","))
    taps = create_feature_extractor(model, pairs, suppress_diff_warning=True).train(train)
    run = Copies(taps)
    with torch.no_grad():
        run.run(x)
    output = next(n for n in taps.graph.nodes if n.op == "output")
    return {name: run.copies[node] for name, node in output.args[0].items()}


def compare(program, case, folder, exact=False):
    """Returns the largest difference to PyTorch's floats, or to its doubles, relative to a node's largest value."""
    name, nodes, size, batch, train = case
    path = lambda f: os.path.join(folder, f)
    model = random_model(name, train)
    x = torch.randn(batch, 3, size, size)
    weights = path(("weights.safetensors", "weights.pth", "legacy.pth")[size % 3])
    if weights.endswith(".pth"):
        torch.save(model.state_dict(), weights, _use_new_zipfile_serialization="legacy" not in weights)
    else:
        save(weights, model.state_dict())
    save(path("x.safetensors"), {"x": x})
    expected = features(model.double(), nodes, x.double(), train) if exact else features(model, nodes, x, train)
    subprocess.run([program, "extract", name, "--weights", weights, "--nodes", nodes,
                    "--mode", "train" if train else "eval", "--input", path("x.safetensors"),
                    "--out", path("out.safetensors")], check=True, stderr=subprocess.DEVNULL)
    got = load(path("out.safetensors"))
    assert set(got) == set(expected), (sorted(got), sorted(expected))
    worst = 0.0
    for key, value in expected.items():
        assert got[key].shape == value.shape, (key, got[key].shape, value.shape)
        assert got[key].isfinite().all(), key
        worst = max(worst, ((got[key] - value).abs().max() / value.abs().max()).item())
    return worst


def listed(program):
    """Returns the models that torchvision and the program both have."""
    ours = subprocess.run([program, "list", "model"], check=True, capture_output=True, text=True).stdout
    ours = {line.split()[0] for line in ours.splitlines() if line.strip()}
    return [name for name in torchvision.models.list_models(module=torchvision.models) if name in ours]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "./sslrun"
    wanted = sys.argv[2:]
    bad = 0
    for case in CASES:
        if wanted and case[0] not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            error = compare(program, case, folder)
        good = error <= LIMIT
        bad += not good
        mode = "train" if case[4] else "eval"
        print(f"{'ok  ' if good else 'FAIL'} {error:.1e} {case[0]} {mode} {case[3]} x {case[2]}: {case[1]}", flush=True)
    print("parity: " + (f"{bad} failed" if bad else "all agree"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
