#!/usr/bin/python3
"""Reference numbers for the tools that put a folder in order, by NumPy, SciPy and scikit-learn.

usage: folder_rows.py            writes tests/measure/folder_golden.h
       folder_rows.py --check    compares that file with numbers computed now

The rows come from a 32-bit linear congruential generator, which tests/measure/folder_rows.c repeats. Nothing is
taken from sslrun: each method is written here from its paper. Without the packages the script says so and passes.
"""
import re
import sys

try:
    import numpy as np
    import scipy.cluster.hierarchy as hierarchy
    import scipy.ndimage as ndimage
    import scipy.sparse.csgraph as csgraph
    import scipy.spatial.distance as distance
    import scipy.stats as stats
    from sklearn.neighbors import NearestNeighbors
except ImportError as error:
    print(f"folder_rows: skipped, {error}")
    sys.exit(0)

OUT = "tests/measure/folder_golden.h"
N, D, CLASSES = 150, 6, 3


class Draws:
    """Numbers in [-0.5, 0.5), exact in single precision."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) / 2**24 - 0.5

    def array(self, *shape):
        n = int(np.prod(shape))
        return np.array([self.next() for _ in range(n)]).reshape(shape)


def rows():
    """(N, D) around one centre a class, and labels: row i is of class i % CLASSES."""
    label = np.arange(N) % CLASSES
    x = Draws(1).array(N, D)
    x[np.arange(N), label] += 0.75
    return x.astype(np.float32).astype(np.float64), label


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nearest(x, label):
    u = unit(x)
    d, i = NearestNeighbors(n_neighbors=4, algorithm="brute", metric="cosine").fit(u).kneighbors(u)
    full = 1 - u @ u.T
    np.fill_diagonal(full, np.inf)
    alike = label[:, None] == label[None, :]
    same = np.where(alike, full, np.inf).min(1)
    other = np.where(~alike, full, np.inf).min(1)
    return {"third_row": i[:, 3], "third_distance": d[:, 3], "ratio": other / (same + other)}


def tree(x, largest):
    full = distance.squareform(distance.pdist(x))
    total = csgraph.minimum_spanning_tree(full).sum()
    merges = hierarchy.single(distance.pdist(x))
    members = {i: [i] for i in range(len(x))}
    leaf = np.zeros(len(x))
    for step, (a, b, height, _) in enumerate(merges):
        a, b = members.pop(int(a)), members.pop(int(b))
        for side, rest in ((a, b), (b, a)):
            if len(side) <= len(rest) and len(side) <= largest:
                leaf[side] = height
        members[len(x) + step] = a + b
    return {"tree_length": np.array([total]), "leaf": leaf}


def k_centre(x, k, have=()):
    full = distance.squareform(distance.pdist(x))
    chosen = list(have)
    if not chosen:
        chosen = [int(np.argmin(np.linalg.norm(x - x.mean(0), axis=1)))]
    while len(chosen) < k + len(have):
        chosen.append(int(np.argmax(full[chosen].min(0))))
    return np.array(chosen[len(have):])


def cutoff(score, share, significance):
    z = np.log(score / (1 - score))
    p = np.array([share, np.sqrt(share / 2)])
    x, y = np.quantile(z, p), stats.logistic.ppf(p)
    scale = (x[0] - x[1]) / (y[0] - y[1])
    at = x[0] + scale * (stats.logistic.ppf(significance * share) - y[0])
    return np.array([1 / (1 + np.exp(-at))])


def noise(label):
    """Confident learning of labels of which every seventh was moved."""
    z = Draws(5).array(N, CLASSES) * 2
    z[np.arange(N), label] += 1.5
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    given = np.where(np.arange(N) % 7 == 0, (label + 1) % CLASSES, label)
    threshold = np.array([p[given == c, c].mean() for c in range(CLASSES)])
    count = np.zeros((CLASSES, CLASSES))
    for i in range(N):
        sure = [c for c in range(CLASSES) if p[i, c] >= threshold[c]]
        if sure:
            count[given[i], max(sure, key=lambda c: p[i, c])] += 1
    share = np.bincount(given, minlength=CLASSES) / N
    joint = count / count.sum(1, keepdims=True) * share[:, None]
    wrong = np.zeros(N, int)
    for i in range(CLASSES):
        for j in range(CLASSES):
            if i != j:
                of_i = np.where(given == i)[0]
                margin = p[of_i, j] - p[of_i, i]
                order = np.argsort(-margin, kind="stable")[: int(np.rint(joint[i, j] * N))]
                wrong[of_i[order[margin[order] > 0]]] = 1
    return {"joint": joint.ravel(), "wrong": wrong}


def pooled(x):
    h, w, _ = x.shape
    wide = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    return sum(wide[a:a + h, b:b + w] for a in range(3) for b in range(3)) / 9


def resized(x, height, width):
    h, w = x.shape[:2]

    def places(n, m):
        at = np.maximum((np.arange(n) + 0.5) * m / n - 0.5, 0)
        low = np.minimum(at.astype(int), m - 1)
        return low, np.minimum(low + 1, m - 1), at - low

    a, b, p = places(height, h)
    c, d, q = places(width, w)
    p, q = p[:, None, None], q[None, :, None]
    return (1 - p) * ((1 - q) * x[a][:, c] + q * x[a][:, d]) + p * ((1 - q) * x[b][:, c] + q * x[b][:, d])


def patches(seed):
    draws = Draws(seed)
    fine, coarse = draws.array(6, 5, 3), draws.array(3, 3, 4)
    return np.concatenate([pooled(fine), resized(pooled(coarse), 6, 5)], 2).reshape(30, 7)


def patch_core():
    train = np.concatenate([patches(20 + i) for i in range(8)])
    bank = train[k_centre(train, 24)]
    test = patches(50) * 1.5
    full = distance.cdist(test, bank)
    score = full.min(1)
    worst = int(score.argmax())
    near = int(full[worst].argmin())
    around = np.argsort(np.linalg.norm(bank - bank[near], axis=1), kind="stable")[:9]
    weight = 1 - np.exp(score[worst]) / np.exp(full[worst, around]).sum()
    heat = ndimage.gaussian_filter(resized(score.reshape(6, 5, 1), 24, 20)[..., 0], 2.0, mode="reflect", truncate=4)
    return {"patch_first": train[:30].ravel(), "patch_score": score, "patch_image": np.array([weight * score[worst]]),
            "patch_heat": heat[::5, ::3].ravel()}


def padim():
    train = np.stack([patches(20 + i) for i in range(8)])
    test = patches(50)
    score = []
    for p in range(30):
        covariance = np.cov(train[:, p].T) + 0.01 * np.eye(7)
        score.append(distance.mahalanobis(test[p], train[:, p].mean(0), np.linalg.inv(covariance)))
    return {"gauss_score": np.array(score)}


def numbers():
    x, label = rows()
    out = nearest(x, label)
    out |= tree(x, 5)
    out["centre"] = k_centre(x, 12)
    out["centre_have"] = k_centre(x, 12, [3, 77])
    out["cutoff"] = cutoff(out["ratio"], 0.1, 0.05)
    out |= noise(label)
    out |= patch_core()
    out |= padim()
    return out


def text(out):
    lines = ["// Reference numbers for folders of pictures; tests/parity/folder_rows.py writes this file.",
             "#ifndef SR_TESTS_MEASURE_FOLDER_GOLDEN_H", "#define SR_TESTS_MEASURE_FOLDER_GOLDEN_H", "",
             "// clang-format off"]
    for name, value in out.items():
        whole = value.dtype.kind == "i"
        words = [str(v) if whole else f"{v:.9g}" for v in value]
        words = [w if whole or "." in w or "e" in w else w + ".0" for w in words]
        lines.append(f"static const {'int' if whole else 'double'} golden_{name}[{len(value)}] = {{")
        for i in range(0, len(words), 8):
            lines.append("    " + ", ".join(words[i:i + 8]) + ",")
        lines.append("};")
    return "\n".join(lines + ["// clang-format on", "", "#endif", ""])


def main():
    written = text(numbers())
    if sys.argv[1:] != ["--check"]:
        open(OUT, "w", encoding="utf-8").write(written)
        return
    number = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
    old, new = (np.array([float(v) for v in number.findall(t)]) for t in (open(OUT, encoding="utf-8").read(), written))
    if len(old) != len(new) or not np.allclose(old, new, rtol=1e-6, atol=1e-7):
        sys.exit(f"FAIL {OUT}: its numbers are not those of this script; run the script without --check")
    print(f"ok   {OUT}: {len(new)} numbers")


main()
