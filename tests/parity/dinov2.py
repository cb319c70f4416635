#!/usr/bin/python3
"""DINOv2's transformers compared with PyTorch, on random weights under the published names.

    tests/parity/dinov2.py [PROGRAM]

The forward pass below is written from the papers (arXiv:2304.07193, arXiv:2309.16588). It resamples positions by
torch.nn.functional.interpolate as the published models do. The largest difference of the class token and of the last
block's attention, relative to the largest value, must stay within 1e-4, for images of 518 pixels and of another size.
"""
import json, os, struct, subprocess, sys, tempfile

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"dinov2: skipped, {missing} (apt-get install python3-torch)")
    sys.exit(0)

MODELS = [("dinov2_vits14", 384, 6, 12, 0, 98), ("dinov2_vits14_reg", 384, 6, 12, 4, 154),
          ("dinov2_vits14_reg", 384, 6, 12, 4, 518)]


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


def weights(D, layers, registers):
    shapes = {"cls_token": (1, 1, D), "pos_embed": (1, 1 + 37 * 37, D), "mask_token": (1, D),
              "patch_embed.proj.weight": (D, 3, 14, 14), "patch_embed.proj.bias": (D,)}
    if registers:
        shapes["register_tokens"] = (1, registers, D)
    for i in range(layers):
        for name, shape in (("norm1.weight", (D,)), ("norm1.bias", (D,)), ("attn.qkv.weight", (3 * D, D)),
                            ("attn.qkv.bias", (3 * D,)), ("attn.proj.weight", (D, D)), ("attn.proj.bias", (D,)),
                            ("ls1.gamma", (D,)), ("norm2.weight", (D,)), ("norm2.bias", (D,)),
                            ("mlp.fc1.weight", (4 * D, D)), ("mlp.fc1.bias", (4 * D,)),
                            ("mlp.fc2.weight", (D, 4 * D)), ("mlp.fc2.bias", (D,)), ("ls2.gamma", (D,))):
            shapes[f"blocks.{i}.{name}"] = shape
    shapes.update({"norm.weight": (D,), "norm.bias": (D,)})
    out = {name: 0.05 * torch.randn(shape) for name, shape in shapes.items()}
    out["pos_embed"] *= 10
    return {name: t + 1 if name.endswith(("norm1.weight", "norm2.weight", "gamma")) else t for name, t in out.items()}


def positions(w, D, h, registers):
    grid = w["pos_embed"][:, 1:].reshape(1, 37, 37, D).permute(0, 3, 1, 2)
    if h == 37:
        return w["pos_embed"]
    how = dict(size=(h, h), antialias=True) if registers else dict(scale_factor=((h + 0.1) / 37,) * 2)
    grid = F.interpolate(grid, mode="bicubic", **how)
    return torch.cat([w["pos_embed"][:, :1], grid.permute(0, 2, 3, 1).reshape(1, h * h, D)], 1)


def forward(w, x, D, heads, layers, registers):
    norm = lambda x, n: F.layer_norm(x, (D,), w[n + ".weight"], w[n + ".bias"], 1e-6)
    linear = lambda x, n: F.linear(x, w[n + ".weight"], w[n + ".bias"])
    N, h = x.shape[0], x.shape[2] // 14
    x = F.conv2d(x, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], 14).flatten(2).transpose(1, 2)
    x = torch.cat([w["cls_token"].expand(N, -1, -1), x], 1) + positions(w, D, h, registers)
    if registers:
        x = torch.cat([x[:, :1], w["register_tokens"].expand(N, -1, -1), x[:, 1:]], 1)
    for i in range(layers):
        b = f"blocks.{i}."
        q, k, v = linear(norm(x, b + "norm1"), b + "attn.qkv").reshape(N, -1, 3, heads, D // heads).permute(2, 0, 3, 1, 4)
        attention = ((q @ k.transpose(2, 3)) * (D // heads) ** -0.5).softmax(-1)
        y = attention @ v
        x = x + w[b + "ls1.gamma"] * linear(y.transpose(1, 2).reshape(N, -1, D), b + "attn.proj")
        y = F.gelu(linear(norm(x, b + "norm2"), b + "mlp.fc1"))
        x = x + w[b + "ls2.gamma"] * linear(y, b + "mlp.fc2")
    return {"lastCLS": norm(x, "norm")[:, 0], "lastATT": attention}


def timms(w):
    """Returns the weights in timm's form (vit_small_patch14_reg4_dinov2), where the class token includes its position."""
    out = {name.replace("register_tokens", "reg_token"): t for name, t in w.items()}
    out["cls_token"] = w["cls_token"] + w["pos_embed"][:, :1]
    out["pos_embed"] = w["pos_embed"][:, 1:]
    return out


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def check_timm(program, name, w, path, got):
    """The file in timm's form must give the same bits, and be what `convert --to timm` writes."""
    run = lambda *args: subprocess.run([program, *args, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    torch.save(timms(w), path("timm.pth"))
    run("extract", name, "--weights", path("timm.pth"), "--nodes", "lastCLS,lastATT", "--input", path("x.safetensors"), "--out",
        path("z.safetensors"))
    run("convert", path("w.pth"), path("to_timm.pth"), "--to", "timm")
    run("convert", path("timm.pth"), path("back.pth"), "--to", "vissl", "--only", "trunk")
    back = torch.load(path("back.pth"))["classy_state_dict"]["base_model"]["model"]["trunk"]
    summed = dict(w, cls_token=timms(w)["cls_token"], pos_embed=w["pos_embed"].clone())
    summed["pos_embed"][:, 0] = 0
    good = (equal(load(path("z.safetensors")), got) and equal(torch.load(path("to_timm.pth")), timms(w)) and equal(back, summed))
    print(f"{'ok  ' if good else 'FAIL'} {name} in timm's form, there and back", flush=True)
    return good


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "./sslrun"
    torch.manual_seed(0)
    bad = 0
    for name, D, heads, layers, registers, size in MODELS:
        w, x = weights(D, layers, registers), torch.randn(2, 3, size, size)
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            path = lambda f: os.path.join(folder, f)
            torch.save(w, path("w.pth"))
            save(path("x.safetensors"), {"x": x})
            subprocess.run([program, "extract", name, "--weights", path("w.pth"), "--nodes", "lastCLS,lastATT", "--input",
                            path("x.safetensors"), "--out", path("y.safetensors")], check=True, stderr=subprocess.DEVNULL)
            got, error = load(path("y.safetensors")), 0.0
            for key, y in forward(w, x, D, heads, layers, registers).items():
                assert got[key].shape == y.shape, (key, got[key].shape, y.shape)
                error = max(error, ((got[key] - y).abs().max() / y.abs().max()).item())
            bad += registers and not check_timm(program, name, w, path, got)
        bad += not error <= 1e-4
        print(f"{'ok  ' if error <= 1e-4 else 'FAIL'} {error:.1e} {name} 2 x {size}", flush=True)
    return 1 if bad else 0


sys.exit(main())
