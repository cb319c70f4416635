#!/usr/bin/python3
"""SimCLR, MoCo v2, BYOL and Barlow Twins in plain PyTorch, following the small recipes of configs/pretrain.

    tests/parity/peer.py check [RUN_GOLDEN]                             # compares the four losses on given embeddings
    tests/parity/peer.py simclr|moco|byol|barlow_twins DIR [--seed N] [--epochs N] [--threads N]

DIR has train/CLASS/* and test/CLASS/*. A training prints the kNN accuracy of the test images against all training images on
the pooled trunk, as `sslrun` does after training, and the seconds of processor time. Three seeds of each show whether the
two programs learn equally well. Formulas and trunk are written from the papers. Without torch the script passes.
"""
import argparse, copy, json, math, os, resource, struct, subprocess, sys, tempfile

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as missing:
    print(f"peer: skipped, {missing} (apt-get install python3-torch)")
    sys.exit(0)


# ---- losses

def simclr(z, t):
    """Chen et al., arXiv:2002.05709, equation 1; z holds the first views of all images, then the second."""
    z = F.normalize(z, dim=1)
    n = len(z) // 2
    scores = (z @ z.T / t).masked_fill(torch.eye(2 * n, dtype=torch.bool), -math.inf)
    return F.cross_entropy(scores, torch.arange(2 * n).roll(n))


def moco(query, key, queue, t):
    """He et al., arXiv:1911.05722, algorithm 1; key and the queue's columns have length 1."""
    query = F.normalize(query, dim=1)
    scores = torch.cat([(query * key).sum(1, keepdim=True), query @ queue], 1) / t
    return F.cross_entropy(scores, torch.zeros(len(query), dtype=torch.long))


def byol(prediction, target):
    """Grill et al., arXiv:2006.07733, equation 2, in both directions; each argument holds both views."""
    n = len(target) // 2
    swapped = torch.cat([target[n:], target[:n]])
    return 2 * (2 - 2 * F.cosine_similarity(prediction, swapped, dim=1)).mean()


def barlow_twins(z, weight, factor):
    """Zbontar et al., arXiv:2103.03230, equation 1; like VISSL it takes mean and variance over both views."""
    z = (z - z.mean(0)) / (z.var(0, unbiased=False) + 1e-5).sqrt()
    n = len(z) // 2
    c = z[:n].T @ z[n:] / n
    diagonal = (c.diagonal() - 1).square().sum()
    return factor * (diagonal + weight * (c.square().sum() - c.diagonal().square().sum()))


# ---- cases of the golden runner's form

def write_case(folder, name, config, tensors):
    header, data = {}, b""
    for key, x in tensors.items():
        raw = x.detach().double().contiguous().numpy().tobytes()
        header[key] = {"dtype": "F64", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{folder}/{name}.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    shapes = {key: {"shape": list(x.shape), "dtype": "F64", "what": ""} for key, x in tensors.items()}
    with open(f"{folder}/{name}.json", "w") as f:
        json.dump({"name": name, "description": "", "config": config, "values": {}, "tensors": shapes}, f)


def draw(*shape):
    """Returns random numbers that a float holds exactly and that get gradients."""
    return torch.randn(*shape).double().requires_grad_()


def of_loss(name, **options):
    return {"LOSS": {"name": name, name: options}}


def simclr_case(n, D, t):
    x = draw(2 * n, D)
    loss = simclr(x, t)
    loss.backward()
    return of_loss("simclr_info_nce_loss", temperature=t, buffer_params={"embedding_dim": D}), \
        {"x": x, "loss": loss.reshape(1), "grad": x.grad}


def moco_case(n, D, t):
    queue = F.normalize(draw(D, 4 * n).detach(), dim=0).float().double()
    tensors, Q, ahead = {"queue_init": queue.clone()}, 4 * n, 0
    for i in range(5):
        query, key = draw(n, D), F.normalize(draw(n, D).detach(), dim=1).float().double()
        loss = moco(query, key, queue.clone(), t)
        loss.backward()
        queue[:, ahead:ahead + n] = key.T
        ahead = (ahead + n) % Q
        tensors.update({f"query{i}": query, f"key{i}": key, f"loss{i}": loss.reshape(1), f"grad{i}": query.grad,
                        f"queue{i}": queue.clone()})
    return of_loss("moco_loss", embedding_dim=D, queue_size=Q, temperature=t), tensors


def byol_case(n, D, _):
    prediction, target = draw(2 * n, D), draw(2 * n, D).detach()
    loss = byol(prediction, target)
    loss.backward()
    tensors = {"loss0": loss.reshape(1)}
    for name, x in (("z", prediction), ("p", prediction), ("target", target), ("grad_p", prediction.grad)):
        tensors.update({f"{name}1_0": x[:n], f"{name}2_0": x[n:]})
    return {"method": "byol"}, tensors


def barlow_twins_case(n, D, _):
    x = draw(2 * n, D)
    loss = barlow_twins(x, 0.0051, 0.024)
    loss.backward()
    return {**of_loss("barlow_twins_loss", lambda_=0.0051, scale_loss=0.024, embedding_dim=D), "bs": n}, \
        {"x": x, "loss": loss.reshape(1), "grad": x.grad}


def check(runner):
    made = {"simclr_info_nce": simclr_case, "moco": moco_case, "byol": byol_case, "barlow_twins": barlow_twins_case}
    sizes, failed = ((4, 8, 0.5), (16, 24, 0.2)), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in made.items():
            for k, size in enumerate(sizes):
                torch.manual_seed(k)
                write_case(folder, f"{name}_{k}", *make(*size))
                failed += subprocess.run([runner, folder, f"{name}_{k}"]).returncode != 0
    return failed


# ---- training

class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.skip = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.skip(x))


def resnet18(w):
    """ResNet-18 of first width w with the stem for small images; weights as PyTorch's modules draw them, as in VISSL."""
    layers, i = [nn.Conv2d(3, w, 3, 1, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU()], w
    for k in range(4):
        layers += [Block(i, w << k, 1 + (k > 0)), Block(w << k, w << k, 1)]
        i = w << k
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def mlp(*dims, bn=True):
    layers = []
    for i, o in zip(dims[:-2], dims[1:-1]):
        layers += [nn.Linear(i, o)] + [nn.BatchNorm1d(o)] * bn + [nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*dims[-2:]))


HEADS = {"simclr": lambda: mlp(128, 256, 64), "moco": lambda: mlp(128, 256, 64, bn=False),
         "byol": lambda: mlp(128, 512, 512, 128), "barlow_twins": lambda: mlp(128, 512, 512, 512)}
SLOW_COPY = {"moco": 0.99, "byol": 0.96}  # share of the copy that a step keeps; BYOL's at the start
RATE = {"byol": 0.05}  # highest learning rate, if not 0.1


class Method:
    """The model, its slow copy if the method has one, and the loss of a step."""

    def __init__(self, name, steps):
        self.name, self.steps = name, steps
        self.trunk = resnet18(16).to(memory_format=torch.channels_last)
        self.model = nn.Sequential(self.trunk, HEADS[name]())
        self.predictor = mlp(128, 512, 128) if name == "byol" else nn.Identity()
        self.slow = copy.deepcopy(self.model).requires_grad_(False) if name in ("byol", "moco") else None
        self.queue, self.ahead = F.normalize(torch.randn(64, 4096), dim=0), 0
        self.learns = [*self.model.parameters(), *self.predictor.parameters()]

    def follow(self, keep):
        for a, b in zip(self.slow.parameters(), self.model.parameters()):
            a.data.lerp_(b.data, 1 - keep)

    def moco_loss(self, first, second, step):
        if step:
            self.follow(SLOW_COPY["moco"])
        key = F.normalize(self.slow(second), dim=1)
        loss = moco(self.model(first), key, self.queue.clone(), 0.2)
        self.queue[:, self.ahead:self.ahead + len(key)] = key.T
        self.ahead = (self.ahead + len(key)) % self.queue.shape[1]
        return loss

    def loss(self, first, second, step):
        if self.name == "moco":
            return self.moco_loss(first, second, step)
        both = torch.cat([first, second])
        z = self.model(both)
        if self.name == "simclr":
            return simclr(z, 0.2)
        return byol(self.predictor(z), self.slow(both)) if self.name == "byol" else barlow_twins(z, 0.0051, 0.024)

    def updated(self, step):
        if self.name == "byol":
            self.follow(1 - (1 - SLOW_COPY["byol"]) * (math.cos(math.pi * step / self.steps) + 1) / 2)


def rate(highest, done):
    """Returns the learning rate after a share `done` of the run: up from a hundredth over 8 % of it, then half a cosine."""
    if done < 0.08:
        return highest * (0.01 + 0.99 * done / 0.08)
    return highest / 2 * (1 + math.cos(math.pi * (done - 0.08) / 0.92))


def folders(path):
    from torchvision import datasets, transforms as T
    normal = [T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    crop = T.Compose([T.RandomResizedCrop(32, (0.2, 1)), T.RandomHorizontalFlip(),
                      T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8), T.RandomGrayscale(0.2), *normal])
    views = datasets.ImageFolder(f"{path}/train", lambda image: (crop(image), crop(image)))
    return views, *(datasets.ImageFolder(f"{path}/{s}", T.Compose([T.Resize(32), T.CenterCrop(32), *normal]))
                    for s in ("train", "test"))


@torch.no_grad()
def features(trunk, images):
    batches = torch.utils.data.DataLoader(images, 256)
    pairs = [(F.normalize(trunk.eval()(x), dim=1), y) for x, y in batches]
    return torch.cat([f for f, _ in pairs]), torch.cat([y for _, y in pairs])


def knn(trunk, train, test, k=20, sigma=0.07):
    (bank, labels), (rows, truth) = features(trunk, train), features(trunk, test)
    near, which = (rows @ bank.T).topk(k)
    votes = torch.zeros(len(rows), int(labels.max()) + 1).scatter_add_(1, labels[which], (near / sigma).exp())
    return 100 * (votes.argmax(1) == truth).double().mean().item()


def processor_seconds():
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def train(name, path, seed, epochs):
    torch.manual_seed(seed)
    views, images, test = folders(path)
    batches = torch.utils.data.DataLoader(views, 128, shuffle=True, drop_last=True, num_workers=1)
    steps, step = epochs * len(batches), 0
    method = Method(name, steps)
    sgd, start = torch.optim.SGD(method.learns, 0.1, 0.9, weight_decay=5e-4), processor_seconds()
    for epoch in range(epochs):
        total = 0
        for (first, second), _ in batches:
            sgd.param_groups[0]["lr"] = rate(RATE.get(name, 0.1), step / steps)
            loss = method.loss(first, second, step)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            method.updated(step)
            step, total = step + 1, total + loss.item()
        del first, second
        print(f"epoch {epoch}: mean loss {total / len(batches):.4f}", flush=True)
    del batches
    print(f"{name}, seed {seed}: {processor_seconds() - start:.0f} s of the processor, kNN {knn(method.trunk, images, test):.2f}")


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "check":
        sys.exit(check(sys.argv[2] if len(sys.argv) > 2 else "build/run-golden") > 0)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("method", choices=HEADS)
    p.add_argument("dir")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    train(a.method, a.dir, a.seed, a.epochs)


main()
