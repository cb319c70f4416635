#!/usr/bin/python3
"""Losses against PyTorch, live: formulas written down here, in float64, from the papers alone.

    tests/parity/losses.py [RUN_GOLDEN]

Draws embeddings, lets autograd take the loss and its gradient, writes them as cases of the golden runner's form, and
has build/run-golden compare.  For methods whose numbers no reference program gives.  Without torch it says so and passes.
"""
import json, os, struct, subprocess, sys, tempfile

try:
    import torch
except ImportError as missing:
    print(f"losses: skipped, {missing} (apt-get install python3-torch)")
    sys.exit(0)


def dcl(z1, z2, t):
    """Yeh et al., arXiv:2110.06848, equation 6: the mean over both views of all images."""
    a, b = (z / z.norm(dim=1, keepdim=True) for z in (z1, z2))
    others = ~torch.eye(len(a), dtype=torch.bool)
    total = 0
    for own, other in ((a, b), (b, a)):
        within, across = own @ own.T / t, own @ other.T / t
        negatives = torch.cat([within[others].reshape(len(a), -1), across[others].reshape(len(a), -1)], 1)
        total = total + (torch.logsumexp(negatives, 1) - across.diagonal()).mean() / 2
    return total


def write(path, tensors):
    header, data = {}, b""
    for name, x in tensors.items():
        raw = x.detach().double().numpy().tobytes()
        header[name] = {"dtype": "F64", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def case(folder, name, loss, config, n, D, seed):
    tensors = {}
    torch.manual_seed(seed)
    for i in range(3):
        # Views of an image resemble each other more and more.
        z1 = torch.randn(n, D, dtype=torch.float64).float().double().requires_grad_()
        z2 = (z1.detach() * i + torch.randn(n, D)).float().double().requires_grad_()
        value = loss(z1, z2)
        value.backward()
        tensors.update({f"z1_{i}": z1, f"z2_{i}": z2, f"grad_z1_{i}": z1.grad, f"grad_z2_{i}": z2.grad,
                        f"loss_{i}": value.reshape(1)})
    write(f"{folder}/{name}.safetensors", tensors)
    shapes = {k: {"shape": list(x.shape), "dtype": "F64", "what": ""} for k, x in tensors.items()}
    with open(f"{folder}/{name}.json", "w") as f:
        json.dump({"name": name, "description": loss.__doc__ or "", "config": config, "values": {}, "tensors": shapes}, f)


runner = sys.argv[1] if len(sys.argv) > 1 else "build/run-golden"
with tempfile.TemporaryDirectory() as folder:
    for k, (n, D, t) in enumerate(((4, 3, 0.5), (16, 8, 0.1), (33, 20, 0.07))):
        case(folder, f"dcl_{k}", lambda a, b: dcl(a, b, t), {"temperature": t}, n, D, k)
    sys.exit(subprocess.run([runner, folder] + [f"dcl_{k}" for k in range(3)]).returncode)
