#!/usr/bin/python3
"""Losses compared with formulas in PyTorch, float64, written from the papers alone.

    tests/parity/losses.py [RUN_GOLDEN]

Draws embeddings, computes the loss and its gradient by autograd, and writes them as cases that build/run-golden compares.
This covers methods for which no reference program gives numbers. Without torch the script says so and passes.
"""
import json, os, struct, subprocess, sys, tempfile

try:
    import torch
except ImportError as missing:
    print(f"losses: skipped, {missing} (apt-get install python3-torch)")
    sys.exit(0)


def dcl(t, *views):
    """Yeh et al., arXiv:2110.06848, equation 6: the mean over all ordered pairs of views of all images; negatives are
    all views of all other images."""
    views = [z / z.norm(dim=1, keepdim=True) for z in views]
    others = ~torch.eye(len(views[0]), dtype=torch.bool)
    terms = []
    for i, own in enumerate(views):
        scores = [own @ other.T / t for other in views]
        negatives = torch.cat([s[others].reshape(len(own), -1) for s in scores], 1)
        terms += [(torch.logsumexp(negatives, 1) - s.diagonal()).mean() for k, s in enumerate(scores) if k != i]
    return sum(terms) / len(terms)


def vicreg(gamma, eps, *views):
    """Bardes et al., arXiv:2105.04906, equations 1 to 6, with the constants of the published program."""
    loss = 25 * torch.nn.functional.mse_loss(*views)
    for z in views:
        n, D = z.shape
        c = (z - z.mean(0)).T @ (z - z.mean(0)) / (n - 1)
        loss = loss + 25 * torch.relu(gamma - torch.sqrt(c.diagonal() + eps)).mean() / 2
        loss = loss + (c.square().sum() - c.diagonal().square().sum()) / D
    return loss


def align_uniform(alpha, t, lambda_, *views):
    """Wang and Isola, arXiv:2005.10242, section 4.1 and figure 5: distances on the unit sphere, pairs of unlike images."""
    views = [torch.nn.functional.normalize(z) for z in views]
    uniform = [torch.nn.functional.pdist(z).square().mul(-t).exp().mean().log() for z in views]
    return (views[0] - views[1]).norm(dim=1).pow(alpha).mean() + lambda_ * sum(uniform) / 2


def coding_rate(z, eps):
    """Half the log-determinant of I + D / (N eps) Z^T Z, arXiv:2006.08558, equation 2."""
    n, D = z.shape
    return torch.logdet(torch.eye(D, dtype=z.dtype) + D / (n * eps) * z.T @ z) / 2


def empssl(lambda_, eps, *views):
    """Tong et al., arXiv:2304.03977, equations 1 and 2, on the unit sphere."""
    views = [torch.nn.functional.normalize(z) for z in views]
    mean = torch.stack(views).mean(0)
    rate = sum(coding_rate(z, eps) for z in views) / len(views)
    return -rate - lambda_ * torch.stack([torch.cosine_similarity(z, mean) for z in views]).mean()


def frossl(weight, *views):
    """Skean et al., arXiv:2310.02903, section 3: matrices of trace 1, and each view's squared distance from the mean view."""
    views = [torch.nn.functional.normalize(z) for z in views]
    mean = torch.stack(views).mean(0)
    loss = 0
    for z in views:
        K = z @ z.T / (z @ z.T).trace()
        loss = loss + K.square().sum().log() + weight * (z - mean).square().sum(1).mean()
    return loss


def draw(*shape):
    """Returns random numbers that a float holds exactly."""
    return torch.randn(*shape, dtype=torch.float64).float().double()


def data2vec(batch, patches, D, beta):
    """Baevski et al., arXiv:2202.03555, section 3.3: smooth L1 between a linear map of the student's tokens and the mean
    of the teacher's last blocks, each normalised, at the hidden patches; the class token comes first."""
    x = {"tokens": draw(batch, 1 + patches, D).requires_grad_()}
    blocks = [draw(batch, 1 + patches, D) for _ in range(2)]
    mask = (torch.rand(batch, patches) < 0.4).double()
    w, b = draw(D, D), draw(D)
    normed = [torch.nn.functional.layer_norm(t, (D,)) for t in blocks]
    target = sum(normed)[:, 1:] / 2
    prediction = x["tokens"][:, 1:] @ w.T + b
    hidden = mask.bool()
    loss = torch.nn.functional.smooth_l1_loss(prediction[hidden], target[hidden], beta=beta)
    given = {"block0": blocks[0], "block1": blocks[1], "mask": mask, "param.loss.heads.regression.weight": w,
             "param.loss.heads.regression.bias": b}
    return loss, x, given, {"loss_beta": beta, "average_top_k_layers": 2}, {"batch": batch, "views": 1, "masks": 1}


def sinkhorn(scores, t, iterations):
    """sinkhorn_knopp_teacher of DINOv2, on the rows of one process."""
    Q = torch.exp(scores / t).t()
    K, B = Q.shape
    Q = Q / Q.sum()
    for _ in range(iterations):
        Q = Q / Q.sum(1, keepdim=True) / K
        Q = Q / Q.sum(0, keepdim=True) / B
    return (Q * B).t()


def dinov2(batch, locals_, patches, K, K_patch, D, gram=0, grid=None):
    """Oquab et al., arXiv:2304.07193, section 4, and the published ssl_meta_arch.py: two global crops. gram: weight of the
    term of DINOv3, arXiv:2508.10104, section 4.2, with an anchor that sees twice the grid."""
    crops, t, st = 2 + locals_, 0.07, 0.1
    x = {"scores": draw(crops * batch, K).requires_grad_(), "patch": draw(2 * batch, patches, K_patch).requires_grad_(),
         "pooled": draw(2 * batch, D).requires_grad_()}
    given = {"t_scores": draw(2 * batch, K) / 4, "t_patch": draw(2 * batch, patches, K_patch) / 4,
             "mask": (torch.rand(2 * batch, patches) < 0.4).double()}
    given = {k: v.float().double() for k, v in given.items()}
    target = sinkhorn(given["t_scores"], t, 3).chunk(2)
    dino, pairs = 0, 0
    for q, wanted in enumerate(target):
        for v, own in enumerate(x["scores"].chunk(crops)):
            if v != q:
                dino, pairs = dino - (wanted * (own / st).log_softmax(-1)).sum(-1).mean(), pairs + 1
    hidden = given["mask"].bool()
    wanted = torch.zeros_like(given["t_patch"])
    wanted[hidden] = sinkhorn(given["t_patch"][hidden], t, 3)
    each = -(wanted * (x["patch"] / st).log_softmax(-1)).sum(-1) * given["mask"]
    ibot = (each.sum(1) / given["mask"].sum(1).clamp(min=1)).mean()
    koleo = 0
    for tokens in x["pooled"].chunk(2):
        z = torch.nn.functional.normalize(tokens, eps=1e-8)
        dots = (z @ z.T).detach().fill_diagonal_(-1)
        distance = torch.nn.PairwiseDistance(2, eps=1e-8)(z, z[dots.argmax(1)])
        koleo = koleo - torch.log(distance + 1e-8).mean()
    loss = dino / pairs + ibot + 0.1 * koleo
    options = {"num_global_crops": 2, "num_local_crops": locals_, "teacher_temp": t, "warmup_teacher_temp_epochs": 0}
    if gram:
        x["map"] = draw(2 * batch, *grid, D).float().double().requires_grad_()
        given["t_map"] = draw(2 * batch, 2 * grid[0], 2 * grid[1], D).float().double()
        anchor = torch.nn.functional.interpolate(given["t_map"].permute(0, 3, 1, 2), scale_factor=0.5, mode="bilinear")
        own, wanted = (torch.nn.functional.normalize(m, dim=-1) @ torch.nn.functional.normalize(m, dim=-1).transpose(1, 2)
                       for m in (x["map"].flatten(1, 2), anchor.flatten(2).transpose(1, 2)))
        loss = loss + gram * torch.nn.functional.mse_loss(own, wanted)
        options["gram_loss_weight"] = gram
    return loss, x, given, options, {"batch": batch, "views": crops, "masks": 2}


def msn_sinkhorn(p, iterations):
    """distributed_sinkhorn of MSN: on probabilities; prototypes get equal weight over the rows, then each row sums to 1."""
    p = p / p.sum()
    for _ in range(iterations):
        p = p / (p.shape[1] * p.sum(0, keepdim=True))
        p = p / (p.shape[0] * p.sum(1, keepdim=True))
    return p * p.shape[0]


def masked_siamese(batch, anchors, K, use_sinkhorn):
    """Assran et al., arXiv:2204.07141, equations 1 and 2, and the published src/losses.py, which sharpens the
    probabilities before Sinkhorn. Scores are cosines that were already divided by the temperature."""
    x = {"scores": draw(anchors * batch, K).requires_grad_()}
    given = {"t_scores": draw(batch, K), "tokens": draw(anchors * batch, 2, 1)}
    target = given["t_scores"].softmax(1) ** (1 / 0.25)
    target = target / target.sum(1, keepdim=True)
    if use_sinkhorn:
        target = msn_sinkhorn(target, 3)
    p = x["scores"].softmax(1)
    mean = p.mean(0)
    cross = -(target.repeat(anchors, 1) * p.log()).sum(1).mean()
    loss = cross + torch.log(torch.tensor(float(K), dtype=torch.float64)) + (mean * mean.log()).sum()
    return loss, x, given, {"patch_size": 4, "use_sinkhorn": use_sinkhorn}, \
        {"batch": batch, "views": 1 + anchors, "side": 16, "grid": 4}


def feature_distillation(batch, Q, D, own):
    """The first version of lightly-train's distillation: the step's features of the teacher enter the queue first, then
    both sides are compared with all of it."""
    x = {"embedding": draw(batch, own).requires_grad_()}
    w, b = draw(D, own), draw(D)
    queue = torch.nn.functional.normalize(draw(Q, D)).float().double()
    given = {"t_embedding": draw(batch, D), "param.loss.queue": queue, "param.loss.heads.projection.weight": w,
             "param.loss.heads.projection.bias": b}
    t = torch.nn.functional.normalize(given["t_embedding"])
    s = torch.nn.functional.normalize(x["embedding"] @ w.T + b)
    rows = torch.cat([t, queue[batch:]])[:Q]
    loss = torch.nn.functional.kl_div((s @ rows.T / 0.07).log_softmax(1), (t @ rows.T / 0.07).softmax(1),
                                      reduction="batchmean")
    return loss, x, given, {"queue_size": Q}, {"batch": batch, "views": 1}


def simdino(batch, views, D, coeff, eps):
    """Wu et al., arXiv:2502.10385, section 3, with the constants of the published program: two global crops."""
    x = {"embedding": draw(views * batch, D).requires_grad_()}
    given = {"t_embedding": draw(2 * batch, D)}
    student = torch.nn.functional.normalize(x["embedding"]).chunk(views)
    teacher = torch.nn.functional.normalize(given["t_embedding"]).chunk(2)
    pairs = [(s * t).sum(1).mean() for i, t in enumerate(teacher) for k, s in enumerate(student) if i != k]
    rate = sum(coding_rate(z, eps) for z in student[:2]) / 2
    loss = -coeff * sum(pairs) / len(pairs) - (D + batch) / (D * batch) * rate
    return loss, x, given, {"coeff": coeff, "eps": eps}, {"batch": batch, "views": views}


def visreg(z, directions, global_views, lambda_, scale, center, shape):
    """Wu et al., arXiv:2606.02572, sections of scale, centre and shape; z (views, images, features)."""
    n = z.shape[1]
    mean, sigma = z.mean(1, keepdim=True), z.std(1, unbiased=False, keepdim=True)
    quantile = torch.distributions.Normal(0, 1).icdf(torch.arange(1, n + 1).double() / (n + 1))
    projections = ((z - mean) / sigma.detach() @ directions).sort(1).values
    regularisation = (scale * (sigma - 1).square().mean() + center * mean.square().mean()
                      + shape * (projections - quantile[:, None]).square().mean())
    return (1 - lambda_) * (z - z[:global_views].mean(0)).square().mean() + lambda_ * regularisation


def visreg_case(folder, name, views, n, D, slices, *options):
    tensors, kind = {}, "visreg_loss"
    for i in range(2):
        z = (draw(n, D) * i + draw(views, n, D)).float().double().requires_grad_()
        directions = torch.nn.functional.normalize(draw(D, slices), dim=0).float().double()
        value = visreg(z, directions, *options)
        value.backward()
        tensors.update({f"z_{i}": z, f"grad_z_{i}": z.grad, f"directions_{i}": directions, f"loss_{i}": value.reshape(1)})
    names = ("global_views", "lambda", "scale_weight", "center_weight", "shape_weight")
    settings = dict(zip(names, options), slices=slices)
    save(folder, name, visreg.__doc__, tensors, {"LOSS": {"name": kind, kind: settings}}, {})


def on_grid(x, size, w, b):
    """Sends a map (N, h, w, C) through a linear layer and resizes the result to the teacher's grid."""
    x = torch.nn.functional.linear(x, w, b).permute(0, 3, 1, 2)
    return torch.nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False).permute(0, 2, 3, 1)


def patch_distillation(batch, Q, D, own, grid, t_grid, weight):
    """The third version of lightly-train's distillation: the first version's term, and the divergence between softmaxes of
    the cosines among the patches of one image, both divided by 0.07."""
    x = {"pooled": draw(batch, own).requires_grad_(), "map": draw(batch, *grid, own).requires_grad_()}
    given = {"t_pooled": draw(batch, D), "t_map": draw(batch, *t_grid, D),
             "param.loss.queue": torch.nn.functional.normalize(draw(Q, D)).float().double()}
    layers = {k: (draw(D, own), draw(D)) for k in ("global", "local")}
    for k, (w, b) in layers.items():
        given.update({f"param.loss.heads.projection_{k}.weight": w, f"param.loss.heads.projection_{k}.bias": b})
    unit = lambda z: torch.nn.functional.normalize(z, dim=-1)
    kl = lambda s, t: torch.nn.functional.kl_div((s / 0.07).log_softmax(-1).flatten(0, -2), (t / 0.07).softmax(-1).flatten(0, -2),
                                                 reduction="batchmean")
    t, s = unit(given["t_pooled"]), unit(torch.nn.functional.linear(x["pooled"], *layers["global"]))
    rows = torch.cat([t, given["param.loss.queue"][batch:]])[:Q]
    loss = kl(s @ rows.T, t @ rows.T)
    t = unit(given["t_map"].flatten(1, 2))
    s = unit(on_grid(x["map"], t_grid, *layers["local"]).flatten(1, 2))
    loss = loss + weight * kl(s @ s.mT, t @ t.mT)
    return loss, x, given, {"queue_size": Q, "loss_local_weight": weight}, {"batch": batch, "views": 1}


def dense_distillation(batch, D, own, grid, t_grid, prefix):
    """The second version of lightly-train's distillation: mean squared error with the patches of the last two blocks, which
    stand next to each other after `prefix` tokens; prefix None: with a trunk's last map."""
    x = {"map": draw(batch, *grid, own).requires_grad_()}
    given = {"t_map": draw(batch, *t_grid, D)}
    target = given["t_map"]
    if prefix is not None:
        blocks = [draw(batch, prefix + t_grid[0] * t_grid[1], D) for _ in range(2)]
        given.update({"t_normed1": blocks[0], "t_normed0": blocks[1]})
        target = torch.cat(blocks, -1)[:, prefix:].unflatten(1, t_grid)
    w, b = draw(target.shape[-1], own), draw(target.shape[-1])
    given.update({"param.loss.heads.projection.weight": w, "param.loss.heads.projection.bias": b})
    loss = torch.nn.functional.mse_loss(on_grid(x["map"], t_grid, w, b), target)
    return loss, x, given, {"n_teacher_blocks": 2}, {"batch": batch, "views": 1}


def given_case(folder, name, loss, x, given, options, values):
    """Writes a case of a loss on given outputs: x holds the student's, which get gradients."""
    loss.backward()
    tensors = {**x, **given, "loss": loss.reshape(1)}
    for k, v in x.items():
        tensors["grad_" + k] = v.grad
    if "tokens" in given:
        tensors["grad_tokens"] = torch.zeros_like(given["tokens"])
    save(folder, name, "", tensors, options, values)


# ---- replicas: r<k>.<name> belongs to replica k

def replicas(folder, name, world, views, n, D, options, output, losses):
    """losses(outputs of the replicas, step) returns the value to differentiate, the loss of each replica, and further
    tensors of the case."""
    tensors = {}
    for i in range(2):
        x = [draw(views * n, D).requires_grad_() for _ in range(world)]
        value, each, more = losses(x, i)
        value.backward()
        tensors.update(more)
        for r in range(world):
            tensors.update({f"r{r}.{output}{i}": x[r], f"r{r}.grad_{output}{i}": x[r].grad,
                            f"r{r}.loss{i}": each[r].reshape(1)})
    loss = options.pop("name")
    config = {"LOSS": {"name": loss, loss: options}, "bs_per_replica": n, "max_iteration": 6}
    save(folder, name, "", tensors, config, {"world_size": world})


def world_simclr(x, t):
    """Chen et al., arXiv:2002.05709, equation 1, negatives from all replicas."""
    n = len(x[0]) // 2
    z = torch.nn.functional.normalize(torch.cat(x))
    image = torch.cat([torch.arange(2 * n) % n + r * n for r in range(len(x))])
    same = image[:, None] == image
    s = (z @ z.T / t).exp()
    positive = (s * (same & ~torch.eye(len(z), dtype=torch.bool))).sum(1)
    each = -torch.log(positive / (positive + (s * ~same).sum(1)))
    each = [part.mean() for part in each.chunk(len(x))]
    return sum(each), each, {}


def world_barlow(x, lambda_, scale):
    """Zbontar et al., arXiv:2103.03230, equations 1 and 2, over all rows; VISSL takes the statistics of both
    views together."""
    a, b = (torch.cat([v.chunk(2)[k] for v in x]) for k in (0, 1))
    z = torch.cat([a, b])
    z = (z - z.mean(0)) / torch.sqrt(z.var(0, unbiased=False) + 1e-5)
    c = z[:len(a)].T @ z[len(a):] / len(a)
    off = c.square().sum() - c.diagonal().square().sum()
    loss = scale * ((1 - c.diagonal()).square().sum() + lambda_ * off)
    return loss, [loss] * len(x), {}


def world_align_uniform(x, alpha, t, lambda_):
    """Pairs of all replicas: each replica has the whole loss, and the gradients of all are added."""
    loss = align_uniform(alpha, t, lambda_, *(torch.cat([v.chunk(2)[k] for v in x]) for k in (0, 1)))
    return len(x) * loss, [loss] * len(x), {}


def world_dino(center, x, i, n):
    """Caron et al., arXiv:2104.14294, algorithm 1, two crops of the teacher; the centre moves by all rows."""
    each, more, t = [], {}, [draw(2 * n, x[0].shape[1]) for _ in x]
    for r, own in enumerate(x):
        q = ((t[r] - center[0]) / 0.05).softmax(1).chunk(2)
        crops = (own / 0.1).log_softmax(1).split(n)
        terms = [-(q[a] * crop).sum(1).mean() for a in (0, 1) for v, crop in enumerate(crops) if v != a]
        each.append(sum(terms) / len(terms))
        more[f"r{r}.teacher{i}"] = t[r]
    center[0] = 0.8 * center[0] + 0.2 * torch.cat(t).mean(0)
    more[f"center{i}"] = center[0]
    return sum(each), each, more


def world_cases(folder, world):
    center = [torch.zeros(1, 9, dtype=torch.float64)]
    made = {
        "simclr": (2, 5, 7, {"name": "simclr_info_nce_loss", "temperature": 0.2, "buffer_params": {"embedding_dim": 7}},
                   "out", lambda x, i: world_simclr(x, 0.2)),
        "views_align_uniform": (2, 4, 6, {"name": "align_uniform_loss", "alpha": 1.5, "t": 3, "lambda": 0.7},
                                "out", lambda x, i: world_align_uniform(x, 1.5, 3, 0.7)),
        "barlow": (2, 4, 5, {"name": "barlow_twins_loss", "lambda_": 0.01, "scale_loss": 0.3, "embedding_dim": 5},
                   "out", lambda x, i: world_barlow(x, 0.01, 0.3)),
        "dino": (5, 3, 9, {"name": "dino_loss", "student_temp": 0.1, "teacher_temp_min": 0.05, "teacher_temp_max": 0.05,
                           "output_dim": 9, "num_crops": 5, "ema_center": 0.8},
                 "student", lambda x, i: world_dino(center, x, i, 3))}
    for name, case_of in made.items():
        replicas(folder, f"dist_{name}_{world}", world, *case_of)
    return [f"dist_{name}_{world}" for name in made]


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


def views_case(folder, name, loss, options, n, D, seed, views=2):
    """options: those of the loss, with its name."""
    tensors = {}
    torch.manual_seed(seed)
    for i in range(3):
        # Views of an image become more and more similar.
        image = draw(n, D)
        z = [(image * i + draw(n, D)).float().double().requires_grad_() for _ in range(views)]
        value = loss(*z)
        value.backward()
        for v, x in enumerate(z):
            tensors.update({f"z{v + 1}_{i}": x, f"grad_z{v + 1}_{i}": x.grad})
        tensors[f"loss_{i}"] = value.reshape(1)
    kind = options.pop("name")
    save(folder, name, loss.__doc__ or "", tensors, {"LOSS": {"name": kind, kind: options}}, {})


def save(folder, name, description, tensors, config, values):
    write(f"{folder}/{name}.safetensors", tensors)
    shapes = {k: {"shape": list(x.shape), "dtype": "F64", "what": ""} for k, x in tensors.items()}
    with open(f"{folder}/{name}.json", "w") as f:
        json.dump({"name": name, "description": description, "config": config, "values": values, "tensors": shapes}, f)


runner = sys.argv[1] if len(sys.argv) > 1 else "build/run-golden"
with tempfile.TemporaryDirectory() as folder:
    names = []
    for k, (n, D, t, views) in enumerate(((4, 3, 0.5, 2), (16, 8, 0.1, 2), (33, 20, 0.07, 2), (5, 4, 0.3, 3), (17, 9, 0.1, 4))):
        names.append(f"views_dcl_{k}")
        views_case(folder, names[-1], lambda *z: dcl(t, *z),
                   {"name": "dcl_loss", "temperature": t, "embedding_dim": D, "num_crops": views}, n, D, k, views)
    for k, (gamma, eps) in enumerate(((1.5, 0.01), (1, 1e-4))):
        names.append(f"views_vicreg_{k}")
        views_case(folder, names[-1], lambda *z: vicreg(gamma, eps, *z),
                   {"name": "vicreg_loss", "gamma": gamma, "eps": eps}, 12, 5, k)
    for k, (alpha, t, lambda_, n, D) in enumerate(((2, 2, 1, 6, 4), (1, 3, 0.5, 17, 8), (3.5, 0.7, 2, 33, 20), (2, 60, 1, 5, 3))):
        names.append(f"views_align_uniform_{k}")
        views_case(folder, names[-1], lambda *z: align_uniform(alpha, t, lambda_, *z),
                   {"name": "align_uniform_loss", "alpha": alpha, "t": t, "lambda": lambda_}, n, D, k)
    for k, (lambda_, eps, n, D, views) in enumerate(((200, 0.2, 12, 5, 4), (3, 0.5, 6, 20, 2), (50, 2, 33, 32, 3))):
        names.append(f"views_empssl_{k}")
        views_case(folder, names[-1], lambda *z: empssl(lambda_, eps, *z),
                   {"name": "empssl_loss", "lambda": lambda_, "eps": eps}, n, D, k, views)
    for k, (weight, n, D, views) in enumerate(((1, 12, 5, 2), (0.5, 6, 20, 4), (2, 33, 32, 3))):
        names.append(f"views_frossl_{k}")
        views_case(folder, names[-1], lambda *z: frossl(weight, *z), {"name": "frossl_loss", "invariance_weight": weight}, n, D, k,
                   views)
    for k, shape in enumerate(((2, 12, 5, 7, 2, 0.9, 1, 1, 1), (4, 33, 20, 16, 2, 0.6, 2, 0.5, 3), (3, 7, 40, 64, 1, 0.5, 0, 1, 2))):
        torch.manual_seed(k)
        names.append(f"visreg_{k}")
        visreg_case(folder, names[-1], *shape)
    made = {"data2vec_0": lambda: data2vec(2, 9, 6, 2.0), "data2vec_1": lambda: data2vec(5, 16, 8, 0.5),
            "dinov2_0": lambda: dinov2(3, 0, 9, 7, 5, 4), "dinov2_1": lambda: dinov2(4, 3, 16, 12, 12, 8),
            "dinov2_gram_0": lambda: dinov2(3, 0, 9, 7, 5, 4, 2.0, (3, 3)), "dinov2_gram_1": lambda: dinov2(2, 2, 12, 6, 9, 7, 0.5, (4, 3)),
            "masked_siamese_0": lambda: masked_siamese(4, 1, 6, False),
            "masked_siamese_1": lambda: masked_siamese(6, 3, 10, True),
            "simdino_0": lambda: simdino(5, 2, 12, 1, 0.5), "simdino_1": lambda: simdino(16, 4, 7, 2, 0.05),
            "feature_distillation_0": lambda: feature_distillation(5, 12, 7, 4),
            "feature_distillation_1": lambda: feature_distillation(9, 6, 20, 33),
            "patch_distillation_0": lambda: patch_distillation(5, 12, 11, 4, (2, 3), (3, 3), 1.0),
            "patch_distillation_1": lambda: patch_distillation(3, 8, 6, 9, (7, 5), (4, 5), 0.5),
            "patch_distillation_2": lambda: patch_distillation(4, 6, 16, 5, (3, 3), (3, 3), 1.0),
            "dense_distillation_blocks_0": lambda: dense_distillation(3, 6, 4, (2, 3), (4, 5), 1),
            "dense_distillation_blocks_1": lambda: dense_distillation(2, 5, 7, (6, 6), (3, 3), 5),
            "dense_distillation_map_0": lambda: dense_distillation(4, 8, 9, (4, 4), (4, 4), None)}
    for k, (name, make) in enumerate(made.items()):
        torch.manual_seed(100 + k)
        given_case(folder, name, *make())
    names += list(made)
    torch.manual_seed(1)
    names += [name for world in (2, 3) for name in world_cases(folder, world)]
    sys.exit(max(subprocess.run([runner, folder, name]).returncode for name in names))
