#!/usr/bin/python3
"""Trunks under the names of released checkpoints, compared with plain PyTorch on drawn weights.

    tests/parity/released.py [PROGRAM]

Every family is written from its paper and its authors' description, small, with drawn weights, and saved under each
writer's names. Features must be within 1e-5 of the largest, whichever names the file has. `inspect --as` must use every
tensor, `convert` must write every writer's names back with the same numbers, and a file with a tensor missing, renamed
or of another shape must be refused with the tensor's name.
"""
import json, math, os, re, subprocess, sys, tempfile

try:
    import torch, torchvision
    import torch.nn.functional as F
except ImportError as missing:
    print(f"released: skipped, {missing} (apt-get install python3-torch python3-torchvision)")
    sys.exit(0)

import parity, towers

PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./sslrun")
LIMIT = 1e-5
D, HEADS, LAYERS, STORAGE, PATCH, WIDE = 64, 4, 2, 4, 8, 96


def draw(shapes, seed=0):
    """Draws weights; those of norms and scales are near 1, so that every branch counts."""
    torch.manual_seed(seed)
    near_one = re.compile(r"(norm\d?\.weight|gamma|normalization\.weight|running_var)$")
    return {n: (1 + 0.2 * torch.randn(s)).abs() if near_one.search(n) else 0.15 * torch.randn(s) for n, s in shapes.items()}


def linear(w, x, name):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def patches(w, x):
    return F.conv2d(x, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], PATCH)


def attend(q, k, v):
    """(N, E, L, d) each -> (N, L, D)"""
    y = ((q @ k.transpose(2, 3)) * q.shape[-1] ** -0.5).softmax(-1) @ v
    return y.transpose(1, 2).flatten(2)


def heads(x, n=HEADS):
    return x.unflatten(2, (n, -1)).transpose(1, 2)


# ---- DINOv3 (arXiv:2508.10104)

def dinov3_weights(gated):
    shapes = {"cls_token": (1, 1, D), "storage_tokens": (1, STORAGE, D), "mask_token": (1, D),
              "patch_embed.proj.weight": (D, 3, PATCH, PATCH), "patch_embed.proj.bias": (D,)}
    for i in range(LAYERS):
        b = f"blocks.{i}."
        shapes |= {b + "norm1.weight": (D,), b + "norm1.bias": (D,), b + "attn.qkv.weight": (3 * D, D), b + "attn.qkv.bias": (3 * D,),
                   b + "attn.proj.weight": (D, D), b + "attn.proj.bias": (D,), b + "ls1.gamma": (D,), b + "norm2.weight": (D,),
                   b + "norm2.bias": (D,), b + "ls2.gamma": (D,)}
        for name, shape in ({"w1": (WIDE, D), "w2": (WIDE, D), "w3": (D, WIDE)} if gated else {"fc1": (WIDE, D), "fc2": (D, WIDE)}).items():
            shapes |= {f"{b}mlp.{name}.weight": shape, f"{b}mlp.{name}.bias": shape[:1]}
    w = draw(shapes | {"norm.weight": (D,), "norm.bias": (D,)})
    for i in range(LAYERS):  # keys have no bias: the authors multiply by a mask
        mask = torch.ones(3, D)
        mask[1] = 0
        w[f"blocks.{i}.attn.qkv.bias_mask"] = mask.flatten()
        w[f"blocks.{i}.attn.qkv.bias"] *= mask.flatten()
    d = D // HEADS
    w["rope_embed.periods"] = 100.0 ** (2 * torch.arange(d // 4, dtype=torch.float32) / (d // 2))
    return w


def turned(x, h, wide, periods):
    """Rotates (N, E, L, d) by the places of the last h * wide tokens; each axis runs from -1 to 1 by itself."""
    rows, columns = (2 * torch.arange(0.5, n, dtype=torch.float32) / n - 1 for n in (h, wide))
    places = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1).flatten(0, 1)  # (h w, 2)
    angles = (2 * math.pi * places[:, :, None] / periods).flatten(1).tile(2)  # (h w, d)
    first, rest = x[:, :, :-h * wide], x[:, :, -h * wide:]
    a, b = rest.chunk(2, -1)
    return torch.cat([first, rest * angles.cos() + torch.cat([-b, a], -1) * angles.sin()], 2)


def dinov3(w, x, gated):
    N = x.shape[0]
    x = patches(w, x)
    h, wide = x.shape[2:]
    x = torch.cat([w["cls_token"].expand(N, -1, -1), w["storage_tokens"].expand(N, -1, -1), x.flatten(2).transpose(1, 2)], 1)
    norm = lambda x, n: F.layer_norm(x, (D,), w[n + ".weight"], w[n + ".bias"], 1e-5)
    for i in range(LAYERS):
        b = f"blocks.{i}."
        bias = w[b + "attn.qkv.bias"] * w[b + "attn.qkv.bias_mask"]
        q, k, v = map(heads, F.linear(norm(x, b + "norm1"), w[b + "attn.qkv.weight"], bias).chunk(3, -1))
        q, k = (turned(t, h, wide, w["rope_embed.periods"]) for t in (q, k))
        x = x + w[b + "ls1.gamma"] * linear(w, attend(q, k, v), b + "attn.proj")
        y = norm(x, b + "norm2")
        if gated:
            y = linear(w, F.silu(linear(w, y, b + "mlp.w1")) * linear(w, y, b + "mlp.w2"), b + "mlp.w3")
        else:
            y = linear(w, F.gelu(linear(w, y, b + "mlp.fc1")), b + "mlp.fc2")
        x = x + w[b + "ls2.gamma"] * y
    x = norm(x, "norm")
    return {"lastCLS": x[:, 0], "lastMAP": x[:, 1 + STORAGE:].transpose(1, 2).unflatten(2, (h, wide))}


def split_qkv(w, names, no_key_bias=False):
    """Replaces <stem>qkv.<leaf> by the three names."""
    out = {}
    for key, value in w.items():
        m = re.match(r"(.*\.)attn\.qkv\.(weight|bias)$", key)
        if not m:
            out[key] = value
            continue
        for i, name in enumerate(names):
            if not (i == 1 and no_key_bias and m[2] == "bias"):
                out[f"{m[1]}{name}.{m[2]}"] = value.chunk(3)[i]
    return out


def renamed(w, rules):
    out = {}
    for key, value in w.items():
        for pattern, to in rules:
            key = re.sub(pattern, to, key)
        out[key] = value
    return out


def dinov3_huggingface(w, gated):
    w = {k: v for k, v in w.items() if not k.endswith(("bias_mask", "periods"))}
    w["mask_token"] = w["mask_token"][None]
    mlp = [("mlp.w1", "mlp.gate_proj"), ("mlp.w2", "mlp.up_proj"), ("mlp.w3", "mlp.down_proj")] if gated else [
        ("mlp.fc1", "mlp.up_proj"), ("mlp.fc2", "mlp.down_proj")]
    return renamed(split_qkv(w, [f"attention.{c}_proj" for c in "qkv"], True), [
        (r"^blocks\.", "layer."), ("attn.proj", "attention.o_proj"), (r"ls(\d).gamma", r"layer_scale\1.lambda1"), *mlp,
        ("^storage_tokens", "embeddings.register_tokens"), ("^(cls|mask)_token", r"embeddings.\1_token"),
        ("^patch_embed.proj", "embeddings.patch_embeddings")])


def dinov3_timm(w, gated, zero):
    out = {}
    for key, value in w.items():
        if key.endswith(("bias_mask", "periods", "mask_token")):
            continue
        if key.endswith("attn.qkv.bias"):
            if not zero:
                out[key.replace("qkv.bias", "q_bias")], _, out[key.replace("qkv.bias", "v_bias")] = value.chunk(3)
            continue
        out[key] = value
    mlp = [("mlp.w1", "mlp.fc1_g"), ("mlp.w2", "mlp.fc1_x"), ("mlp.w3", "mlp.fc2")] if gated else []
    return renamed(out, [("^storage_tokens", "reg_token"), (r"ls(\d).gamma", r"gamma_\1"), *mlp])


# ---- DINOv2 and ViT

def vit_weights(scaled, side):
    shapes = {"cls_token": (1, 1, D), "pos_embed": (1, 1 + side * side, D), "patch_embed.proj.weight": (D, 3, PATCH, PATCH),
              "patch_embed.proj.bias": (D,)}
    for i in range(LAYERS):
        b = f"blocks.{i}."
        shapes |= {b + "norm1.weight": (D,), b + "norm1.bias": (D,), b + "attn.qkv.weight": (3 * D, D), b + "attn.qkv.bias": (3 * D,),
                   b + "attn.proj.weight": (D, D), b + "attn.proj.bias": (D,), b + "norm2.weight": (D,), b + "norm2.bias": (D,),
                   b + "mlp.fc1.weight": (4 * D, D), b + "mlp.fc1.bias": (4 * D,), b + "mlp.fc2.weight": (D, 4 * D),
                   b + "mlp.fc2.bias": (D,)} | ({b + "ls1.gamma": (D,), b + "ls2.gamma": (D,)} if scaled else {})
    return draw(shapes | {"norm.weight": (D,), "norm.bias": (D,)})


def vit(w, x, eps):
    N = x.shape[0]
    x = patches(w, x)
    h, wide = x.shape[2:]
    x = torch.cat([w["cls_token"].expand(N, -1, -1), x.flatten(2).transpose(1, 2)], 1) + w["pos_embed"]
    norm = lambda x, n: F.layer_norm(x, (D,), w[n + ".weight"], w[n + ".bias"], eps)
    for i in range(LAYERS):
        b = f"blocks.{i}."
        y = attend(*map(heads, linear(w, norm(x, b + "norm1"), b + "attn.qkv").chunk(3, -1)))
        x = x + w.get(b + "ls1.gamma", 1) * linear(w, y, b + "attn.proj")
        y = linear(w, F.gelu(linear(w, norm(x, b + "norm2"), b + "mlp.fc1")), b + "mlp.fc2")
        x = x + w.get(b + "ls2.gamma", 1) * y
    x = norm(x, "norm")
    return {"lastCLS": x[:, 0], "lastMAP": x[:, 1:].transpose(1, 2).unflatten(2, (h, wide))}


def encoder_huggingface(w, scaled):
    words = ([(r"ls(\d).gamma", r"layer_scale\1.lambda1")] if scaled else
             [("norm1", "layernorm_before"), ("norm2", "layernorm_after"), ("mlp.fc1", "intermediate.dense"), ("mlp.fc2", "output.dense")])
    return renamed(split_qkv(w, [f"attention.attention.{n}" for n in ("query", "key", "value")]), [
        ("attn.proj", "attention.output.dense"), *words, (r"^blocks\.", "encoder.layer."), ("^(cls|mask)_token", r"embeddings.\1_token"),
        ("^pos_embed", "embeddings.position_embeddings"), ("^patch_embed.proj", "embeddings.patch_embeddings.projection"),
        ("^norm", "layernorm")])


# ---- convolutional trunks

def convnext_weights(depths, dims):
    shapes = {}
    for s, (n, d) in enumerate(zip(depths, dims)):
        before = dims[s - 1] if s else 3
        conv, norm, k, width = ("0", "1", 4, d) if s == 0 else ("1", "0", 2, before)
        shapes |= {f"downsample_layers.{s}.{conv}.weight": (d, before, k, k), f"downsample_layers.{s}.{conv}.bias": (d,),
                   f"downsample_layers.{s}.{norm}.weight": (width,), f"downsample_layers.{s}.{norm}.bias": (width,)}
        for i in range(n):
            b = f"stages.{s}.{i}."
            shapes |= {b + "dwconv.weight": (d, 1, 7, 7), b + "dwconv.bias": (d,), b + "norm.weight": (d,), b + "norm.bias": (d,),
                       b + "pwconv1.weight": (4 * d, d), b + "pwconv1.bias": (4 * d,), b + "pwconv2.weight": (d, 4 * d),
                       b + "pwconv2.bias": (d,), b + "gamma": (d,)}
    return draw(shapes | {"norm.weight": dims[-1:], "norm.bias": dims[-1:]})


def channel_norm(x, w, name):
    return F.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2], w[name + ".weight"], w[name + ".bias"], 1e-6).permute(0, 3, 1, 2)


def convnext(w, x, depths):
    for s, n in enumerate(depths):
        d = f"downsample_layers.{s}."
        if s == 0:
            x = channel_norm(F.conv2d(x, w[d + "0.weight"], w[d + "0.bias"], 4), w, d + "1")
        else:
            x = F.conv2d(channel_norm(x, w, d + "0"), w[d + "1.weight"], w[d + "1.bias"], 2)
        for i in range(n):
            b = f"stages.{s}.{i}."
            y = channel_norm(F.conv2d(x, w[b + "dwconv.weight"], w[b + "dwconv.bias"], padding=3, groups=x.shape[1]), w, b + "norm")
            y = linear(w, F.gelu(linear(w, y.permute(0, 2, 3, 1), b + "pwconv1")), b + "pwconv2")
            x = x + (w[b + "gamma"] * y).permute(0, 3, 1, 2)
    x = x.mean((2, 3))
    return {"flatten": F.layer_norm(x, x.shape[1:], w["norm.weight"], w["norm.bias"], 1e-6)}


def convnext_dinov3(w):
    return renamed(w, [(r"^downsample_layers\.(\d)", r"stages.\1.downsample_layers"), (r"^stages\.(\d)\.(\d+)\.", r"stages.\1.layers.\2."),
                       ("dwconv", "depthwise_conv"), (r"(layers\.\d+\.)norm", r"\1layer_norm"), ("pwconv", "pointwise_conv"),
                       (r"^norm", "layer_norm")])


def convnext_imagenet(w):
    return renamed(w, [(r"^downsample_layers\.0\.0", "embeddings.patch_embeddings"), (r"^downsample_layers\.0\.1", "embeddings.layernorm"),
                       (r"^downsample_layers\.(\d)", r"encoder.stages.\1.downsampling_layer"), (r"^stages\.(\d)\.(\d+)\.", r"encoder.stages.\1.layers.\2."),
                       (r"(layers\.\d+\.)norm", r"\1layernorm"), ("gamma", "layer_scale_parameter"), (r"^norm", "layernorm")])


def convnext_timm(w):
    return renamed(w, [(r"^downsample_layers\.0", "stem"), (r"^downsample_layers\.(\d)", r"stages.\1.downsample"),
                       (r"^stages\.(\d)\.(\d+)\.", r"stages.\1.blocks.\2."), ("dwconv", "conv_dw"), ("pwconv1", "mlp.fc1"), ("pwconv2", "mlp.fc2"),
                       (r"^norm", "head.norm")])


def convnext_meta(w):
    """The authors of DINOv3 store the last norm twice."""
    return w | {"norms.3.weight": w["norm.weight"], "norms.3.bias": w["norm.bias"]}


def resnet_huggingface(w):
    return renamed(w, [(r"^conv1", "embedder.embedder.convolution"), (r"^bn1", "embedder.embedder.normalization"),
                       (r"^layer(\d)", lambda m: f"encoder.stages.{int(m[1]) - 1}"), (r"(stages\.\d)\.(\d+)\.", r"\1.layers.\2."),
                       (r"\.conv(\d)", lambda m: f".layer.{int(m[1]) - 1}.convolution"), (r"\.bn(\d)", lambda m: f".layer.{int(m[1]) - 1}.normalization"),
                       ("downsample.0", "shortcut.convolution"), ("downsample.1", "shortcut.normalization")])


# ---- checks

def run(*args, fails=False):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    if bool(done.returncode) != fails:
        sys.exit(f"sslrun {' '.join(args)}: exit code {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}")
    return done.stdout + done.stderr


CONFIG = """config: {MODEL: {TRUNK: {NAME: %s, %s}, HEAD: {PARAMS: []}, FEATURE_EVAL_SETTINGS:
  {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, EXTRACT_TRUNK_FEATURES_ONLY: True}}}
"""


def features(model, file, folder, nodes):
    out = os.path.join(folder, "f.safetensors")
    run("extract", model, "--weights", file, "--nodes", nodes, "--input", os.path.join(folder, "x.safetensors"), "--out", out, "--force")
    return parity.load(out)


def worst(got, want):
    return max(((got[k] - v).abs().max() / v.abs().max()).item() for k, v in want.items())


def mistakes(model, state, folder):
    """A tensor that is missing, renamed or of another shape is refused by its name."""
    keys = sorted(k for k in state if k.endswith(("weight", "gamma", "lambda1")) and "norm" not in k)
    key = keys[len(keys) // 3]
    cases = {"missing": {k: v for k, v in state.items() if k != key},
             "renamed": {(k + "x" if k == key else k): v for k, v in state.items()},
             "another shape": state | {key: torch.cat([state[key], state[key]])}}
    faults = []
    for what, bad in cases.items():
        file = os.path.join(folder, "bad.pth")
        torch.save(bad, file)
        said = run("extract", model, "--weights", file, "--nodes", "flatten", "--input", os.path.join(folder, "x.safetensors"), "--out",
                   os.path.join(folder, "g.npz"), "--force", fails=True)
        said += run("inspect", file, "--as", model, fails=True)
        if key not in said:
            faults.append(f"{key} {what}: {said.strip()[:200]}")
    return faults


def check(family, config, want, files, size, folder, back):
    """files: {writer: state}; back: {target of convert: writer}"""
    model = config if not config.startswith("{") and " " not in config else os.path.join(folder, "net.yaml")
    if model.endswith("net.yaml"):
        with open(model, "w") as f:
            f.write(CONFIG % tuple(config.split(" ", 1)))
    faults, errors = [], []
    for writer, state in files.items():
        at = os.path.join(folder, "w.pth")
        torch.save(state, at)
        errors.append(worst(features(model, at, folder, ",".join(want)), want))
        said = run("inspect", at, "--as", model)
        if not re.search(r"(\d+) of \1 tensors used, 0 left over", said):
            faults.append(f"{writer}: {said}")
        if " zero " not in f" {writer} ":
            for to, name in back.items():
                run("convert", at, os.path.join(folder, "to.pth"), "--to", to, "--only", "trunk", "--force")
                got, expected = torch.load(os.path.join(folder, "to.pth")), files[name]
                kept = {k for k in expected if not k.endswith(("mask_token", "num_batches_tracked", "periods")) and not k.startswith("norms.")}
                lost = [k for k in kept if k not in got or not torch.equal(got[k].flatten(), expected[k].flatten())]
                if lost or set(got) - set(expected):
                    faults.append(f"{writer} to {to}: {lost[:3]} {sorted(set(got) - set(expected))[:3]}")
    if "Hugging Face" in files:
        faults += mistakes(model, files["Hugging Face"], folder)
    good = max(errors) <= LIMIT and not faults
    print(f"{'ok  ' if good else 'FAIL'} {max(errors):.1e} {family}: {', '.join(files)}" + "".join(f"; {f}" for f in faults), flush=True)
    return good


def main():
    good = True
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        def images(size):
            torch.manual_seed(1)
            x = torch.randn(2, 3, *size)
            parity.save(os.path.join(folder, "x.safetensors"), {"x": x})
            return x
        sizes = f"PATCH_SIZE: {PATCH}, NUM_LAYERS: {LAYERS}, NUM_HEADS: {HEADS}, HIDDEN_DIM: {D}"
        for gated in (False, True):
            w, x = dinov3_weights(gated), images((40, 24))
            config = f"dinov3 DINOV3: {{{sizes}, MLP_DIM: {WIDE}, SWIGLU: {gated}}}"
            files = {"Meta": w, "Hugging Face": dinov3_huggingface(w, gated), "timm": dinov3_timm(w, gated, False)}
            good &= check(f"DINOv3{', SwiGLU' if gated else ''}", config, dinov3(w, x, gated), files, None, folder,
                          {"meta": "Meta", "huggingface": "Hugging Face", "timm": "timm"})
            plain = {k: v * 0 if k.endswith("qkv.bias") else v for k, v in w.items()}
            good &= check("DINOv3 without biases", config, dinov3(plain, x, gated), {"timm zero": dinov3_timm(plain, gated, True)}, None,
                          folder, {})
        x = images((40, 40))
        w = vit_weights(True, 5) | {"mask_token": torch.zeros(1, D)}
        good &= check("DINOv2", f"dinov2 DINOV2: {{{sizes}, IMAGE_SIZE: 40}}", vit(w, x, 1e-6),
                      {"Meta": w, "Hugging Face": encoder_huggingface(w, True)}, None, folder, {"meta": "Meta", "huggingface": "Hugging Face"})
        w = vit_weights(False, 5)
        good &= check("ViT", f"torchvision_vit TORCHVISION_VIT: {{{sizes}, IMAGE_SIZE: 40, MLP_DIM: {4 * D}, NORM_EPS: 1e-12}}", vit(w, x, 1e-12),
                      {"timm": w, "Hugging Face": encoder_huggingface(w, False)}, None, folder, {"timm": "timm", "huggingface": "Hugging Face"})
        for family, act in (("clip", None), ("clip", "gelu"), ("siglip", None)):
            tower = towers.Tower(family, act=act)
            pooled, features = tower(x)
            w = tower.state_dict()
            trunk = {k: v for k, v in w.items() if k != "head.weight"}
            files = {"timm": trunk, "Hugging Face": towers.huggingface(trunk)}
            config = towers.config(family, act).split(": ", 1)[1].replace(", ", " ", 1)
            good &= check(f"{family}{', ' + act if act else ''}", config, {"flatten": pooled, "lastMAP": features}, files, None, folder,
                          {"timm": "timm", "huggingface": "Hugging Face"})
            good &= check(f"{family}, file of both towers", config, {"flatten": pooled}, {"both": towers.whole_model(w)}, None, folder, {})
        depths, dims = (1, 2, 1, 1), (16, 24, 32, 48)
        w, x = convnext_weights(depths, dims), images((64, 64))
        files = {"Meta": convnext_meta(w), "Hugging Face": convnext_dinov3(w), "timm": convnext_timm(w)}
        config = f"torchvision_convnext TORCHVISION_CONVNEXT: {{DEPTHS: {list(depths)}, DIMS: {list(dims)}}}"
        good &= check("DINOv3's ConvNeXt", config, convnext(w, x, depths), files, None, folder,
                      {"meta": "Meta", "huggingface": "Hugging Face", "timm": "timm"})
        good &= check("ConvNeXt", config, convnext(w, x, depths), {"Hugging Face": convnext_imagenet(w)}, None, folder,
                      {"huggingface": "Hugging Face"})
        for name in ("resnet18", "resnet50"):
            torch.manual_seed(3)
            model = getattr(torchvision.models, name)().eval()
            model.fc = torch.nn.Identity()
            for key, value in model.state_dict().items():
                if key.endswith("running_mean"):
                    value.normal_(0, 0.1)
                if key.endswith("running_var"):
                    value.uniform_(0.5, 1.5)
            w = model.state_dict()
            good &= check(name, name, {"flatten": model(x)}, {"torchvision": w, "Hugging Face": resnet_huggingface(w)}, None, folder,
                          {"torchvision": "torchvision", "huggingface": "Hugging Face"})
    return 0 if good else 1


sys.exit(main())
