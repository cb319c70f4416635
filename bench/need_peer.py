"""Ends a script that lacks a program to compare with: one line names what is missing and the command that installs it.

need_peer("torch", "torchvision") imports nothing that stays: call it before the imports. need_node_peer() looks for
onnxruntime-node below NODE_PATH.
"""
import importlib.util
import shutil
import subprocess
import sys

PACKAGES = {"torch": "python3-torch", "torchvision": "python3-torchvision", "sklearn": "python3-sklearn", "PIL": "python3-pil"}
NODE_INSTALL = "npm install --prefix /tmp/peers --ignore-scripts onnxruntime-node && export NODE_PATH=/tmp/peers/node_modules"


def need_peer(*modules):
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        packages = " ".join(PACKAGES[m] for m in modules)
        print(f"{sys.argv[0]}: python3 has no module {missing[0]}; install the peers: apt-get install {packages}", file=sys.stderr)
        sys.exit(2)


def need_node_peer():
    if shutil.which("node") is None:
        print(f"{sys.argv[0]}: node is missing; install it: apt-get install nodejs npm", file=sys.stderr)
        sys.exit(2)
    if subprocess.run(["node", "-e", "require('onnxruntime-node')"], stderr=subprocess.DEVNULL).returncode:
        print(f"{sys.argv[0]}: node has no module onnxruntime-node; install it: {NODE_INSTALL}", file=sys.stderr)
        sys.exit(2)
