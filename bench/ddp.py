#!/usr/bin/python3
"""Prints the milliseconds of a step of PyTorch's DistributedDataParallel over gloo: bench/ddp.yaml's model, random images.

usage: ddp.py [--processes 2] [--threads 1] [--batch 64] [--steps 10] [--warmup 2]     prints one JSON line
"""
import argparse
import json
import os
import statistics
import time

from need_peer import need_peer

need_peer("torch", "torchvision")
import torch
import torch.distributed as dist
import torchvision


def work(rank, a, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=a.processes)
    torch.manual_seed(0)
    torch.set_num_threads(a.threads)
    model = torchvision.models.resnet18(num_classes=1000)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = torch.nn.Identity()
    model = torch.nn.parallel.DistributedDataParallel(model.to(memory_format=torch.channels_last))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x = torch.randn(a.batch, 3, 32, 32).to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (a.batch,))
    times = []
    for i in range(a.warmup + a.steps):
        dist.barrier()
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if i >= a.warmup:
            times.append(time.perf_counter() - began)
    if rank == 0:
        print(json.dumps({"peer": "torch " + torch.__version__, "processes": a.processes, "threads": a.threads,
                          "batch": a.batch, "median_ms": round(statistics.median(times) * 1e3, 1)}))
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    for name, value in (("processes", 2), ("threads", 1), ("batch", 64), ("steps", 10), ("warmup", 2)):
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    torch.multiprocessing.spawn(work, args=(a, 29500 + os.getpid() % 1000), nprocs=a.processes)
