#!/usr/bin/python3
"""The published CIFAR ResNet-20 on real images: sslrun's logits compared with PyTorch's, and its accuracy.

    tests/parity/resnet20.py PROGRAM WEIGHTS IMAGES

WEIGHTS: resnet20-12fca82f.th of github.com/akamaster/pytorch_resnet_cifar10 (PyTorch's legacy format).
IMAGES: CIFAR-10's test set as test/<class>/<file>.jpg in a folder or a .tar, of which the first 200 files per class are used.
"""
import glob, json, os, struct, subprocess, sys, tarfile, tempfile

try:
    import numpy, torch, torch.nn.functional as F
    from PIL import Image
except ImportError as missing:
    print(f"parity: skipped, {missing} (apt-get install python3-torch python3-pil)")
    sys.exit(0)

PROGRAM, WEIGHTS, IMAGES = sys.argv[1:4]
LIMIT, EXPECTED, SLACK = 1e-4, 81.35, 0.25  # the slack is a few images of 2000
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def logits(weights, x):
    """The network of the author of the weights, from He et al. 2016, section 4.2, option A."""
    w = {k.replace("module.", ""): v for k, v in weights.items()}

    def conv_norm(name, n, x, stride=1):
        x = F.conv2d(x, w[f"{name}conv{n}.weight"], stride=stride, padding=1)
        return F.batch_norm(x, *(w[f"{name}bn{n}.{k}"] for k in ("running_mean", "running_var", "weight", "bias")))

    x = F.relu(conv_norm("", 1, x))
    for s in range(3):
        for b in range(3):
            name, stride = f"layer{s + 1}.{b}.", 2 if s and not b else 1
            y = conv_norm(name, 2, F.relu(conv_norm(name, 1, x, stride)))
            more = y.shape[1] - x.shape[1]
            x = F.relu(y + F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, more // 2, more - more // 2)))
    return F.linear(F.avg_pool2d(x, x.shape[3]).flatten(1), w["linear.weight"], w["linear.bias"])


def images(folder):
    pixels, labels = [], []
    if IMAGES.endswith(".tar"):
        with tarfile.open(IMAGES) as tar:
            tar.extractall(folder, [m for m in tar if "/test/" in "/" + m.name])
    root = folder if IMAGES.endswith(".tar") else IMAGES
    for label, folder in enumerate(sorted(glob.glob(os.path.join(root, "**/test/*/"), recursive=True))):
        for file in sorted(os.listdir(folder))[:200]:
            pixels.append(numpy.asarray(Image.open(os.path.join(folder, file)).convert("RGB")))
            labels.append(label)
    x = torch.from_numpy(numpy.stack(pixels)).permute(0, 3, 1, 2).float() / 255
    return (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None], torch.tensor(labels)


def save(path, x):
    raw = x.contiguous().numpy().tobytes()
    head = json.dumps({"x": {"dtype": "F32", "shape": list(x.shape), "data_offsets": [0, len(raw)]}}).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + raw)


def ours(x, folder):
    given, out = os.path.join(folder, "x.safetensors"), os.path.join(folder, "out.safetensors")
    save(given, x)
    subprocess.run([PROGRAM, "extract", "resnet20", "--weights", WEIGHTS, "--nodes", "linear", "--input", given,
                    "--out", out], check=True, stderr=subprocess.DEVNULL)
    data = open(out, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    first, end = json.loads(data[8 : 8 + n])["linear"]["data_offsets"]
    return torch.frombuffer(bytearray(data[8 + n + first : 8 + n + end]), dtype=torch.float32).reshape(len(x), 10)


weights = torch.load(WEIGHTS, map_location="cpu")["state_dict"]
with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
    x, labels = images(folder)
    expected = logits(weights, x)
    got = ours(x, folder)
worst = (got - expected).abs().max().item()
accuracy, theirs = (100 * (t.argmax(1) == labels).float().mean().item() for t in (got, expected))
ok = worst <= LIMIT and abs(accuracy - EXPECTED) <= SLACK
print(f"{'ok  ' if ok else 'FAIL'} resnet20 on {len(x)} images: logits off by {worst:.1e}, {accuracy:.2f} % "
      f"(PyTorch {theirs:.2f} %)")
sys.exit(not ok)
