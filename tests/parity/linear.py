# Linear classifiers on features compared with scikit-learn's, on the same rows with the same costs.
#   /usr/bin/python3 tests/parity/linear.py ./sslrun
# SVM: mean AP of VISSL's recipe (cross-validated cost, class weight 2, VOC's all-point rule) and top-1 of LinearSVC.
# Logistic regression: top-1 of LogisticRegression of all classes at once (lbfgs) and one against the rest (liblinear).
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score
    from sklearn.model_selection import cross_val_score
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
except ImportError:
    print("linear: skipped, python3-sklearn is not installed")
    sys.exit(0)
warnings.filterwarnings("ignore")
program = sys.argv[1]
failures = 0


def check(name, ours, theirs, tolerance):
    global failures
    good = abs(ours - theirs) <= tolerance
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {name}: {ours:.4f}, scikit-learn {theirs:.4f}")


def rows(n, classes, d, spread, seed, relu):
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(1).normal(size=(classes, d)) * spread
    label = rng.integers(0, classes, n)
    x = means[label] + rng.normal(size=(n, d))
    return (np.maximum(x, 0) if relu else x).astype(np.float32), label


def run(verb, folder, *args):
    out = subprocess.run([program, verb, f"{folder}/train.npz", f"{folder}/test.npz", "--json", *args],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def unit(x):
    return x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-5)


def voc_ap(target, score):
    order = np.argsort(-score, kind="stable")
    hit = target[order] > 0
    recall = np.cumsum(hit) / hit.sum()
    precision = np.cumsum(hit) / np.arange(1, len(hit) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(np.concatenate([[0], recall])) * precision))


def svm(c):
    return LinearSVC(C=c, class_weight={1: 2, -1: 1}, intercept_scaling=1, max_iter=2000, dual=True, random_state=0)


def check_svm(folder, x, y, tx, ty, classes, name):
    costs = [0.1, 0.01]
    x, tx = unit(x), unit(tx)
    validated = np.array([[cross_val_score(svm(c), x, np.where(y == k, 1, -1), cv=3,
                                           scoring="average_precision").mean() for c in costs] for k in range(classes)])
    cost = costs[int(validated.mean(axis=0).argmax())]
    score = np.stack([svm(cost).fit(x, np.where(y == k, 1, -1)).decision_function(tx) for k in range(classes)], 1)
    ours = run("svm", folder, "--out", f"{folder}/out", "--force")
    check(f"{name} SVM cross-validated AP, largest difference", np.abs(
        np.load(f"{folder}/out/crossval_ap.npy") - validated).max(), 0, 2e-3)
    check(f"{name} SVM mean AP", ours["trained_mean_ap"],
          float(np.mean([voc_ap(ty == k, score[:, k]) for k in range(classes)])), 2e-3)
    check(f"{name} SVM top-1", ours["trained_top1"], 100 * float((score.argmax(1) == ty).mean()), 1)
    plain = LinearSVC(C=cost, max_iter=2000, random_state=0).fit(x, y)
    check(f"{name} SVM top-1, LinearSVC without weights", ours["trained_top1"], 100 * plain.score(tx, ty), 1)


def logreg(folder, n, cost, way):
    ours = run("logreg", folder, f"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.LAMBDA={n / cost:g}",
               f"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.MULTI_CLASS={way}")
    return [v for k, v in ours.items() if k.startswith("trained_top1") and k[-1].isdigit()][0]


# Where the data do not determine the weights (C = 4000: VISSL's default lambda) both solvers stop after 100 iterations, at
# different points; elsewhere both reach the minimum.
def check_logreg(folder, x, y, tx, ty, name):
    scaler = StandardScaler().fit(x)
    x, tx = scaler.transform(x), scaler.transform(tx)
    for cost, tolerance in ((1.0, 0.1), (0.01, 0.1), (len(x) / 0.025, 1)):
        joint = LogisticRegression(C=cost).fit(x, y)
        check(f"{name} logistic regression C={cost:g}, all at once", logreg(folder, len(x), cost, "multinomial"),
              100 * joint.score(tx, ty), tolerance)
    for cost in (1.0, 0.01):
        rest = LogisticRegression(C=cost, solver="liblinear", random_state=0).fit(x, y)
        check(f"{name} logistic regression C={cost:g}, one against the rest", logreg(folder, len(x), cost, "ovr"),
              100 * rest.score(tx, ty), 0.2)


def check_targets(folder):
    rng = np.random.default_rng(5)
    x, _ = rows(900, 2, 20, 0, 6, False)
    w = rng.normal(size=(20, 4))
    target = (x @ w + rng.normal(size=(900, 4)) * 2 > 2).astype(np.int64)
    target[rng.random(target.shape) < 0.1] = -1
    np.savez(f"{folder}/train.npz", features=x[:600], labels=target[:600])
    np.savez(f"{folder}/test.npz", features=x[600:], labels=target[600:])
    ours = run("svm", folder, "SVM.costs.costs_list=[0.1]")
    aps = []
    for k in range(4):
        machine = svm(0.1).fit(unit(x[:600]), np.where(target[:600, k] == 1, 1, -1))
        judged = target[600:, k] != -1
        aps.append(voc_ap(target[600:, k][judged], machine.decision_function(unit(x[600:]))[judged]))
    check("several labels an image: SVM mean AP", ours["trained_mean_ap"], float(np.mean(aps)), 2e-3)


with tempfile.TemporaryDirectory() as folder:
    for name, classes, d, spread, relu in (("10 classes", 10, 64, 0.35, True), ("3 classes", 3, 12, 0.6, False),
                                               ("2 classes", 2, 12, 0.3, False)):
        x, y = rows(1500, classes, d, spread, 2, relu)
        tx, ty = rows(3000, classes, d, spread, 3, relu)
        np.savez(f"{folder}/train.npz", features=x, labels=y)
        np.savez(f"{folder}/test.npz", features=tx, labels=ty)
        check_svm(folder, x, y, tx, ty, classes, name)
        check_logreg(folder, x, y, tx, ty, name)
    check_targets(folder)
sys.exit(failures > 0)
