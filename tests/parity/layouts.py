#!/usr/bin/python3
"""Weights under the names of other projects: written by `sslrun convert`, read back, and used for features.

    tests/parity/layouts.py [PROGRAM]

Each torchvision model is saved with random weights and converted to timm's and VISSL's names and back. The names must match
those of the tables below, written from the sources of these projects, one to one. The file that comes back must equal
torchvision's state dict bit for bit, under strict=True, and `sslrun extract` must compute the same features from every
file. Further files have position embeddings of another size, are in chunks, or also hold a decoder. Needs python3-torch and
python3-torchvision.
"""
import json, os, re, struct, subprocess, sys, tempfile, warnings

warnings.simplefilter("ignore")
try:
    import numpy, torch, torchvision
    import torch.nn.functional as F
except ImportError as missing:
    print(f"parity: skipped, {missing} (apt-get install python3-torch python3-torchvision)")
    sys.exit(0)

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./sslrun")
VISSL = "classy_state_dict.base_model.model.trunk."

CONVNEXT_TIMM = [(r"^features\.0\.", "stem."), (r"^features\.([246])\.", lambda m: f"stages.{int(m[1]) // 2}.downsample."),
                 (r"^features\.(\d)\.(\d+)\.", lambda m: f"stages.{int(m[1]) // 2}.blocks.{m[2]}."), (r"block\.0", "conv_dw"),
                 (r"block\.2", "norm"), (r"block\.3", "mlp.fc1"), (r"block\.5", "mlp.fc2"), ("layer_scale", "gamma"),
                 (r"^classifier\.0", "head.norm"), (r"^classifier\.2", "head.fc")]
CONVNEXT = [(r"^features\.([0246])\.", lambda m: f"downsample_layers.{int(m[1]) // 2}."),
            (r"^features\.(\d)\.(\d+)\.", lambda m: f"stages.{int(m[1]) // 2}.{m[2]}."), (r"block\.0", "dwconv"),
            (r"block\.2", "norm"), (r"block\.3", "pwconv1"), (r"block\.5", "pwconv2"), ("layer_scale", "gamma"),
            (r"^classifier\.0", "norm"), (r"^classifier\.2", "head")]
SWIN = [(r"^features\.0\.0", "patch_embed.proj"), (r"^features\.0\.2", "patch_embed.norm"),
        (r"^features\.([2468])\.", lambda m: f"layers.{int(m[1]) // 2 - 1}.downsample."),
        (r"^features\.(\d)\.(\d+)\.", lambda m: f"layers.{int(m[1]) // 2}.blocks.{m[2]}."), (r"\.mlp\.0", ".mlp.fc1"), (r"\.mlp\.3", ".mlp.fc2")]
SWIN_TIMM = SWIN + [(r"^layers\.(\d)\.downsample", lambda m: f"layers.{int(m[1]) + 1}.downsample"), (r"^head", "head.fc")]
REGNET = [(r"^stem", "_feature_blocks.conv1.stem"), (r"^trunk_output\.block(\d)", lambda m: f"_feature_blocks.res{int(m[1]) + 1}"),
          (r"proj\.0", "proj"), (r"proj\.1", "bn"), (r"se\.fc1", "se.excitation.0"), (r"se\.fc2", "se.excitation.2"),
          (r"f\.c\.0", "f.c"), (r"f\.c\.1", "f.final_bn")]
REGNET_TIMM = [(r"^stem\.0", "stem.conv"), (r"^stem\.1", "stem.bn"),
               (r"^trunk_output\.block(\d)\.block\d-(\d+)", lambda m: f"s{m[1]}.b{int(m[2]) + 1}"), (r"proj\.0", "downsample.conv"),
               (r"proj\.1", "downsample.bn"), (r"f\.se", "se"), (r"f\.([abc])\.([01])",
               lambda m: f"conv{'abc'.index(m[1]) + 1}.{['conv', 'bn'][int(m[2])]}"), (r"^fc", "head.fc")]
VIT_TIMM = [(r"^encoder\.layers\.encoder_layer_", "blocks."), (r"ln_([12])", r"norm\1"), (r"self_attention\.in_proj_", "attn.qkv."),
            (r"self_attention\.out_proj", "attn.proj"), (r"mlp\.0", "mlp.fc1"), (r"mlp\.3", "mlp.fc2"), ("^class_token", "cls_token"),
            (r"^encoder\.pos_embedding", "pos_embed"), ("^conv_proj", "patch_embed.proj"), (r"^encoder\.ln", "norm"), (r"^heads\.head", "head")]


def efficientnet_timm(fused):
    """fused: number of stages after the first with fused blocks; None if the first has depthwise ones."""
    plain = {"0.0": "conv_pw", "0.1": "bn1", "1.0": "conv_dw", "1.1": "bn2", "2.fc1": "se.conv_reduce", "2.fc2": "se.conv_expand",
             "3.0": "conv_pwl", "3.1": "bn3"}
    first = ({"0.0": "conv", "0.1": "bn1"} if fused else {"0.0": "conv_dw", "0.1": "bn1", "1.fc1": "se.conv_reduce",
             "1.fc2": "se.conv_expand", "2.0": "conv_pw", "2.1": "bn2"})
    both = {"0.0": "conv_exp", "0.1": "bn1", "1.0": "conv_pwl", "1.1": "bn2"}

    def block(m):
        stage = int(m[1]) - 1
        words = first if stage == 0 else both if fused and stage <= fused else plain
        return f"blocks.{stage}.{m[2]}.{words[m[3]]}"
    return [(r"^features\.0\.0", "conv_stem"), (r"^features\.0\.1", "bn1"), (r"^features\.(\d)\.(\d+)\.block\.(\d\.\w+)", block),
            (r"^features\.[78]\.0", "conv_head"), (r"^features\.[78]\.1", "bn2"), (r"^classifier\.1", "classifier")]


def efficientnet_vissl(stages):
    """ClassyVision's names, with blocks numbered through all stages."""
    plain = {"0.0": "expand_conv", "0.1": "bn0", "1.0": "depthwise_conv", "1.1": "bn1", "2.fc1": "se_reduce", "2.fc2": "se_expand",
             "3.0": "project_conv", "3.1": "bn2"}
    first = {"0.0": "depthwise_conv", "0.1": "bn1", "1.fc1": "se_reduce", "1.fc2": "se_expand", "2.0": "project_conv", "2.1": "bn2"}

    def block(m):
        stage = int(m[1]) - 1
        return f"_feature_blocks.block{sum(stages[:stage]) + int(m[2])}.{(plain if stage else first)[m[3]]}"
    return [(r"^features\.0\.", "_feature_blocks.conv1."), (r"^features\.([1-7])\.(\d+)\.block\.(\d\.\w+)", block),
            (r"^features\.8\.", "_feature_blocks.conv_final.")]


def mobilenet_timm(stages, squeezed, last):
    """stages: blocks of each; squeezed: stages with squeeze-excitation, None for version 2; last: the final convolution."""
    places = [(s, b) for s, n in enumerate(stages) for b in range(n)]

    def block(m):
        stage, index = places[int(m[1]) - 1]
        words = ["conv_dw", "conv_pw"] if stage == 0 else ["conv_pw", "conv_dw", "conv_pwl"]
        words = [[word, f"bn{i + 1}"] for i, word in enumerate(words)]
        if squeezed and stage in squeezed:
            words.insert(len(words) - 1, {"fc1": "se.conv_reduce", "fc2": "se.conv_expand"})
        if squeezed is None:  # the last convolution and its norm are no separate module
            words = words[:-1] + [words[-1][:1], words[-1][1:]]
        word = words[int(m[2])]
        word = word[m[3]] if isinstance(word, dict) else word[int(m[3]) if m[3] and m[3].isdigit() else 0]
        return f"blocks.{stage}.{index}.{word}"
    tail = [(r"^classifier\.1", "classifier"), (r"^features\.18\.0", "conv_head"), (r"^features\.18\.1", "bn2")] if last is None else [
        (rf"^features\.{last}\.0", f"blocks.{len(stages)}.0.conv"), (rf"^features\.{last}\.1", f"blocks.{len(stages)}.0.bn1"),
        (r"^classifier\.0", "conv_head"), (r"^classifier\.3", "classifier")]
    inner = r"^features\.(\d+)\.block\.(\d)\.(\w+)" if last else r"^features\.(\d+)\.conv\.(\d)(?:\.(\d))?(?=\.)"
    return [(r"^features\.0\.0", "conv_stem"), (r"^features\.0\.1", "bn1"), *tail, (inner, block)]


def cut_biases(state):
    """Swin V2: timm and the authors have biases for queries and values only; torchvision never uses its middle third."""
    out = {}
    for name, value in state.items():
        if name.endswith("attn.qkv.bias") and name.replace("qkv.bias", "logit_scale") in state:
            thirds = value.chunk(3)
            out |= {name.replace("qkv.bias", "q_bias"): thirds[0], name.replace("qkv.bias", "v_bias"): thirds[2]}
        else:
            out[name] = value
    return out


MODELS = {  # name: timm's names, VISSL's (its authors'), a trunk of VISSL's that computes the same
    "resnet18": ([], [("^", "_feature_blocks.")]), "convnext_tiny": (CONVNEXT_TIMM, CONVNEXT), "swin_t": (SWIN_TIMM, SWIN), "swin_v2_t": (SWIN_TIMM, SWIN),
    "regnet_y_400mf": (REGNET_TIMM, REGNET), "regnet_x_400mf": (REGNET_TIMM, REGNET), "efficientnet_b0": (efficientnet_timm(None), efficientnet_vissl([1, 2, 2, 3, 3, 4, 1])),
    "efficientnet_b1": (efficientnet_timm(None), efficientnet_vissl([2, 3, 3, 4, 4, 5, 2])),
    "mobilenet_v2": (mobilenet_timm([1, 2, 3, 4, 3, 3, 1], None, None), None),
    "mobilenet_v3_large": (mobilenet_timm([1, 2, 3, 4, 2, 3], (2, 4, 5), 16), None),
    "mobilenet_v3_small": (mobilenet_timm([1, 2, 3, 2, 3], (0, 2, 3, 4), 12), None),
    "efficientnet_v2_s": (efficientnet_timm(2), None), "vit_b_16": (VIT_TIMM, VIT_TIMM), "densenet121": ([], None)}


def run(*args, fails=False):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    if bool(done.returncode) != fails:
        sys.exit(f"sslrun {' '.join(args)}: exit code {done.returncode}\n{done.stderr[-800:]}")
    return done.stdout + done.stderr


def renamed(rules, name):
    for pattern, to in rules:
        name = re.sub(pattern, to, name, count=1)
    return name


def expected(state, rules):
    state = cut_biases(state) if rules else state
    names = {renamed(rules, name): value for name, value in state.items()}
    assert len(names) == len(state)
    return names


def same_values(a, b):
    """Returns whether files are equal up to dimensions of 1 and the form of index tables."""
    return a.keys() == b.keys() and all(torch.equal(a[k].flatten(), b[k].flatten()) for k in a)


def flat(dicts, prefix=""):
    out = {}
    for key, value in dicts.items():
        out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return out


def random_state(name):
    torch.manual_seed(2)
    slow = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    state = getattr(torchvision.models, name)(**slow).state_dict()
    for key, value in state.items():
        if key.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        if key.endswith("attn.qkv.bias"):
            value.normal_(0, 0.1)
            if key.replace("qkv.bias", "logit_scale") in state:
                value.chunk(3)[1].zero_()
    return state


def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + n])
    return {k: numpy.frombuffer(data[8 + n :][slice(*t["data_offsets"])], numpy.float32).reshape(t["shape"])
            for k, t in head.items() if k != "__metadata__"}


def features(name, path, folder, x):
    out = os.path.join(folder, "f.safetensors")
    run("extract", name, "--weights", path, "--nodes", "flatten", "--input", x, "--out", out, "--force")
    return load(out)["flatten"]


def check(name, folder, x):
    at = lambda file: os.path.join(folder, file)
    timm, vissl = MODELS[name]
    state = random_state(name)
    torch.save(state, at("w.pth"))
    want = features(name, at("w.pth"), folder, x)
    faults = []
    run("convert", at("w.pth"), at("timm.pth"), "--to", "timm", "--force")
    theirs = torch.load(at("timm.pth"))
    faults += [] if same_values(theirs, expected(state, timm)) else ["timm's names"]
    files = ["timm.pth"]
    if vissl:
        run("convert", at("w.pth"), at("vissl.pth"), "--to", "vissl", "--only", "trunk", "--force")
        got = {k[len(VISSL):]: v for k, v in flat(torch.load(at("vissl.pth"))).items() if k.startswith(VISSL)}
        body = {k: v for k, v in expected(state, vissl).items() if not re.match(r"(_feature_blocks\.)?(fc|head|classifier)\.", k)}
        faults += [] if same_values(got, body) else ["VISSL's names"]
        files.append("vissl.pth")
    else:
        faults += [] if name == "densenet121" or "has no names for" in run(
            "convert", at("w.pth"), at("vissl.pth"), "--to", "vissl", "--force", fails=True) else ["VISSL's names were made up"]
    for file in files:
        if not (features(name, at(file), folder, x) == want).all():
            faults.append(f"features of {file}")
    run("convert", at("timm.pth"), at("back.pth"), "--to", "torchvision", "--force")
    back = torch.load(at("back.pth"))
    if not (same_values(back, state) and all(back[k].shape == state[k].shape for k in state)):
        faults.append("the way back")
    print(f"{'FAIL' if faults else 'ok  '} {name}: {len(state)} tensors in {1 + len(files)} writers' names"
          + "".join(f"; {f}" for f in faults), flush=True)
    return not faults


def check_older(folder, x):
    """torchvision's published DenseNets say norm.1 for norm1, its transformers before 0.13 mlp.linear_1 for mlp.0."""
    ok = True
    for name, rules in (("densenet121", [(r"(denselayer\d+\.)(norm|conv)([12])", r"\1\2.\3")]),
                        ("vit_b_16", [(r"mlp\.0", "mlp.linear_1"), (r"mlp\.3", "mlp.linear_2")])):
        state = random_state(name)
        paths = [os.path.join(folder, file) for file in ("new.pth", "old.pth")]
        torch.save(state, paths[0])
        torch.save(expected(state, rules), paths[1])
        new, old = (features(name, path, folder, x) for path in paths)
        run("convert", paths[1], paths[0], "--to", "torchvision", "--force")
        same = (new == old).all() and same_values(torch.load(paths[0]), state)
        print(f"{'ok  ' if same else 'FAIL'} {name} under its older names")
        ok &= bool(same)
    return ok


def check_transformers(folder, x):
    """timm's ViT-S/16 in the files of MAE, DINO and BEiT; positions of 24 x 24 patches are resampled to 14 x 14."""
    at = lambda file: os.path.join(folder, file)
    state = expected(random_state("vit_b_16"), VIT_TIMM)
    torch.save(state, at("a.pth"))
    want = features("vit_b_16", at("a.pth"), folder, x)
    body = {k: v for k, v in state.items() if not k.startswith("head.")}
    decoder = {"mask_token": torch.zeros(1, 1, 512), "decoder_pos_embed": torch.zeros(1, 197, 512), "decoder_embed.weight": torch.zeros(512, 768),
               "decoder_blocks.0.norm1.weight": torch.ones(512)}
    cases = {"MAE": {"model": body | decoder}, "DINO": {"teacher": {f"backbone.{k}": v for k, v in body.items()}},
             "chunks": {re.sub(r"^blocks\.(\d+)\.", lambda m: f"blocks.{int(m[1]) // 4}.{m[1]}.", k): v for k, v in body.items()}}
    ok = True
    for what, file in cases.items():
        torch.save(file, at("b.pth"))
        good = (features("vit_b_16", at("b.pth"), folder, x) == want).all()
        inspect = run("inspect", at("b.pth"))
        good = good and (what == "chunks" or what in inspect)
        print(f"{'ok  ' if good else 'FAIL'} vit_b_16 as {what} has it")
        ok &= bool(good)
    torch.manual_seed(4)
    grid = 0.5 * torch.randn(1, 768, 24, 24)
    small = F.interpolate(grid, size=(14, 14), mode="bicubic", align_corners=True)
    for embeddings, file in ((grid, "c.pth"), (small, "d.pth")):
        tokens = torch.cat([state["pos_embed"][:, :1], embeddings.flatten(2).transpose(1, 2)], 1)
        torch.save(random_state("vit_b_16") | {"encoder.pos_embedding": tokens}, at(file))
    a, b = features("vit_b_16", at("c.pth"), folder, x), features("vit_b_16", at("d.pth"), folder, x)
    worst = float(abs(a - b).max() / abs(b).max())
    told = "24 x 24 patches were resampled to 14 x 14" in run(
        "extract", "vit_b_16", "--weights", at("c.pth"), "--nodes", "flatten", "--input", x, "--out", at("f.safetensors"), "--force")
    good = worst < 1e-4 and told
    print(f"{'ok  ' if good else 'FAIL'} vit_b_16 with positions of 24 x 24: features off by {worst:.1e}, {'told' if told else 'not told'}")
    beit = body | {"blocks.0.attn.q_bias": torch.zeros(768), "blocks.0.gamma_1": torch.ones(768)}
    torch.save(beit, at("e.pth"))
    said = run("convert", at("e.pth"), at("g.pth"), "--to", "torchvision", "--force", fails=True)
    refused = "torchvision has no names for some parts of a beit" in said
    print(f"{'ok  ' if refused else 'FAIL'} BEiT's names are not torchvision's")
    return ok and good and refused


with tempfile.TemporaryDirectory() as folder:
    images = os.path.join(folder, "x.npz")
    numpy.savez(images, x=numpy.random.default_rng(0).standard_normal((2, 3, 224, 224)).astype(numpy.float32))
    results = [check(name, folder, images) for name in MODELS] + [check_older(folder, images), check_transformers(folder, images)]
sys.exit(not all(results))
