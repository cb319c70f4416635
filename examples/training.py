"""Trains a configuration, prints the loss of each update, and looks at what the first layer learned.

python3 training.py CONFIG.yaml [KEY=VALUE ...]
CHECKPOINT.DIR is set to runs/python unless KEY=VALUE sets it. Ctrl-C saves the run; the same command resumes.
"""
import sys

import numpy
import sslrun


def main(config, *overrides):
    run = "runs/python"
    for one in overrides:
        if one.startswith("CHECKPOINT.DIR="):
            run = one.partition("=")[2]
    finished = sslrun.train(config, ["CHECKPOINT.DIR=" + run, *overrides],
                            on_step=lambda s: print("update %d of %d: loss %.4f" % (s.step, s.total_steps, s.loss)))
    if not finished:
        return
    graph = sslrun.Graph(run)
    name = next(name for name in graph if graph[name].ndim == 4)
    print("%s: norm %.3f" % (name, numpy.linalg.norm(graph[name])))
    graph.save(run + "/trunk.safetensors")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: training.py CONFIG.yaml [KEY=VALUE ...]")
    try:
        main(*sys.argv[1:])
    except (sslrun.Error, OSError) as error:
        sys.exit("training.py: %s" % error)
