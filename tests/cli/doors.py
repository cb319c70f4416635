"""Tests python/sslrun.py: shapes, several threads, fork, files and bytes, graphs, weights, training, errors.

Usage: doors.py RUN IMAGE.jpg CONFIG FOLDER
"""
import os
import sys
import threading

import numpy

sys.path.insert(0, ".")
import sslrun  # noqa: E402


def fails(word, function, *arguments):
    try:
        function(*arguments)
    except sslrun.Error as error:
        assert word in str(error), error
    else:
        raise AssertionError("%s: no error" % word)


run, image, config, folder = sys.argv[1:]
model = sslrun.Model(run, batch=4)
assert (model.batch, model.height, model.width) == (4, 16, 16)
assert dict(model.nodes())["conv1"] == (4, 4, 16, 16)
fails("sr_feature_model_tap first", model.features, numpy.zeros((1, 3, 16, 16)))
model.tap("layer2:deep,flatten")
with open(image, "rb") as file:
    x = model.preprocess([image, file.read()])
assert x.shape == (2, 3, 16, 16) and (x[0] == x[1]).all()
rng = numpy.random.default_rng(1)
x = rng.standard_normal((9, 3, 16, 16))
maps, vectors = model.features(x)
assert maps.shape == (9, 8, 8, 8) and vectors.shape == (9, 32)
found = [None] * 3


def call(i):
    found[i] = model.features(x[i:])[1]


threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all((found[i] == vectors[i:]).all() for i in range(3))


# Other layers are chosen while features are computed: each array must have the size of its own call.
def choose(turns=40):
    for turn in range(turns):
        model.tap("flatten" if turn % 2 else "layer1,layer2")


thread = threading.Thread(target=choose)
thread.start()
while thread.is_alive():
    one = model.features(x)
    assert [len(array) for array in one] == [9] * len(one) and len(one) in (1, 2)
    assert len(one) == 2 or (one[0] == vectors).all()
thread.join()
model.tap("flatten")

# After a fork the child computes on one thread, with the same bits.
child = os.fork()
if child == 0:
    import signal
    signal.alarm(20)  # a child that hangs dies
    os._exit(0 if (model.features(x)[0] == vectors).all() else 1)
assert os.waitpid(child, 0)[1] == 0

rows, cosine = sslrun.Index(vectors).search(vectors, 2)
assert (rows[:, 0] == numpy.arange(9)).all() and numpy.allclose(cosine[:, 0], 1, atol=1e-6)
length = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
best = numpy.sort(length @ length.T, axis=1)[:, -2]
assert numpy.allclose(cosine[:, 1], best, atol=1e-5)
fails("expected", model.features, numpy.zeros((1, 3, 8, 8)))
fails("there are 9 rows", sslrun.Index(vectors).search, vectors, 10)
fails("did you mean 'resnet50'", sslrun.Model, "resnet51", 1, 32, 32)
fails("there is no layer", model.tap, "layer9")
plain = sslrun.Model("resnet18", 1, 32, 32)
fails("no weights of its own: weights=FILE loads some, weights=None takes random ones", plain.tap, "flatten")
plain.tap("flatten", weights=None)

# A graph has the run's weights and gives its features, and edits leave models that were opened before.
graph = sslrun.Graph(run, batch=4)
copy = sslrun.Model(graph)
assert (copy.batch, copy.height, copy.width) == (4, 16, 16)
copy.tap("flatten")
assert (copy.features(x)[0] == vectors).all()
nodes = graph.nodes()
assert [(node.name, node.shape) for node in nodes] == model.nodes()
assert nodes[0].op == "input" and nodes[1].inputs == (nodes[0].name,)
name = "trunk._feature_blocks.conv1.weight"
assert name in graph and graph[name].shape == (4, 3, 3, 3) and len(graph) == len(graph.tensors())
fails("slot weight must be", graph.insert, "layer1", "probe", "conv2d")  # one channel, where layer2 wants four
graph.insert("layer1", "probe", "identity")
assert graph.nodes()[[node.name for node in graph.nodes()].index("layer1.1.probe")].inputs == ("layer1.1.relu_1",)
same = sslrun.Model(graph)
same.tap("flatten")
assert (same.features(x)[0] == vectors).all()
graph.remove("layer1.1.probe")
assert [node.name for node in graph.nodes()] == [node.name for node in nodes]
assert graph.find("layer1") == "layer1.1.relu_1"
fails("there is no layer", graph.find, "layer9")
fails("there is no layer", graph.cut, "layer9")
assert graph.tag("layer1.*.conv?", 2) == 4
assert sum(node.tags == 2 for node in graph.nodes()) == 4
graph.cut("layer2")
graph.insert("layer2", "probe", "conv2d", out_channels=3, kernel_h=1)
probe = "trunk._feature_blocks.layer2.1.probe.weight"
graph[probe] = numpy.arange(24).reshape(3, 8, 1, 1)
assert (graph[probe].ravel() == numpy.arange(24)).all()
fails("expected", graph.__setitem__, probe, numpy.zeros((3, 8)))
small = sslrun.Model(graph)
small.tap("layer2.1.relu_1,layer2:p")  # the last node of layer2 is the probe
maps, products = small.features(x)
assert numpy.allclose(products, numpy.einsum("kc,nchw->nkhw", graph[probe][:, :, 0, 0], maps), rtol=1e-4, atol=1e-3)
graph.replace("layer2.1.probe", "conv2d", out_channels=2, kernel_h=1)
assert graph[probe].shape == (2, 8, 1, 1)
assert (copy.features(x)[0] == vectors).all()
try:
    graph["conv9"]
    raise AssertionError("conv9: no error")
except KeyError:
    pass

# Files of weights.
path = os.path.join(folder, "graph.safetensors")
graph.save(path)
file = sslrun.Weights(path)
assert list(file) == list(graph) and all((file[key] == graph[key]).all() for key in file)
assert {"F32", "I64"} == {one.dtype for one in file.tensors()}
arrays = {"a": rng.standard_normal((2, 3)).astype("f4"), "b.c": numpy.float32(5), "half": numpy.ones(4, "f2")}
for ending in ("safetensors", "npz", "pth"):
    path = os.path.join(folder, "w." + ending)
    sslrun.save_weights(path, arrays)
    file = sslrun.Weights(path)
    assert list(file) == list(arrays) and all((file[key] == arrays[key]).all() for key in arrays), ending
    assert file["b.c"].shape == ()
fails("the format is not known", sslrun.save_weights, os.path.join(folder, "w.bin"), arrays)
graph.export("layer2", os.path.join(folder, "graph.onnx"))
assert os.path.getsize(os.path.join(folder, "graph.onnx")) > 1000

# A training that is stopped in each way and resumed has the bits of an uninterrupted one.
steps = []
keys = {"CHECKPOINT.DIR": os.path.join(folder, "whole")}
assert sslrun.train(config, keys, on_step=steps.append) is True
assert [step.step for step in steps] == list(range(1, 25)) and steps[0].total_steps == 24
seen = []


def stop_often(step):
    seen.append(step)
    if step.step == 5:
        return True
    if step.step == 8:
        raise KeyboardInterrupt
    if step.step == 9:
        raise ValueError("nine")
    return False


keys = ["CHECKPOINT.DIR=" + os.path.join(folder, "parts")]
assert sslrun.train(config, keys, on_step=stop_often) is False
for kind in (KeyboardInterrupt, ValueError):
    try:
        sslrun.train(config, keys, on_step=stop_often)
        raise AssertionError("no %s" % kind)
    except kind:
        pass
assert sslrun.train(config, keys, on_step=stop_often) is True
assert [(one.step, one.loss) for one in seen] == [(one.step, one.loss) for one in steps]
whole, parts = (sslrun.Weights(os.path.join(folder, name, "checkpoint.safetensors")) for name in ("whole", "parts"))
assert list(whole) == list(parts) and len(whole) > 60
assert all((whole[key] == parts[key]).all() for key in whole)
fails("none.yaml", sslrun.train, "none.yaml")

# A dict that says what the file says gives the same run; its keys are nested, dotted, or both.
values = {
    "LOG_FREQUENCY": 4, "TEST_MODEL": False, "CHECKPOINT.DIR": os.path.join(folder, "dict"),
    "DATA": {
        "NUM_DATALOADER_WORKERS": 1,
        "TRAIN": {
            "DATA_SOURCES": ["synthetic"], "RANDOM_SYNTHETIC_IMAGES": numpy.bool_(True), "RANDOM_SYNTHETIC_LABELS": 4,
            "DEFAULT_GRAY_IMG_SIZE": 20, "DATA_LIMIT": numpy.int32(70), "BATCHSIZE_PER_REPLICA": 8,
            "COLLATE_FUNCTION": "multicrop_collator",
            "TRANSFORMS": [{"name": "ImgPilToMultiCrop", "total_num_crops": 3, "num_crops": (2, 1),
                            "size_crops": numpy.array([16, 8]), "crop_scales": [[0.3, 1.0], [0.1, 0.4]]}] +
                          [{"name": name} for name in ("RandomHorizontalFlip", "ImgPilColorDistortion",
                                                       "ImgPilGaussianBlur", "ToTensor", "Normalize")]}},
    "MODEL": {"TRUNK": {"NAME": "resnet", "RESNETS": {"DEPTH": 18, "WIDTH_MULTIPLIER": 0.0625, "SMALL_IMAGE_STEM": True}},
              "HEAD.PARAMS": [["swav_head", {"dims": [32, 16, 8], "use_bn": True, "num_clusters": [6]}]],
              "TEMP_FROZEN_PARAMS_ITER_MAP": [["module.heads.0.prototypes0.weight", 5]]},
    "LOSS": {"name": "swav_loss", "swav_loss": {"queue.start_iter": 6, "queue.queue_length": 16}},
    "OPTIMIZER": {"use_larc": True, "num_epochs": 3, "nesterov": True,
                  "param_schedulers.lr": {"name": "cosine", "start_value": 0.3, "end_value": numpy.float64(0.003),
                                          "update_interval": "step"}},
    "CHECKPOINT": {"CHECKPOINT_ITER_FREQUENCY": 2, "KEEP_LAST": 2},
    "NEAREST_NEIGHBOR": {"TOPK": 5},
}
assert sslrun.train(values, on_step=lambda step: step.step == 10) is False
assert sslrun.train(values) is True
by_dict = sslrun.Weights(os.path.join(folder, "dict", "checkpoint.safetensors"))
assert list(whole) == list(by_dict) and all((whole[key] == by_dict[key]).all() for key in whole)
fails("OPTIMIZER.num_epochs is ten, expected a whole number", sslrun.train, values, {"OPTIMIZER": {"num_epochs": "ten"}})
fails("unknown key 'OPTIMIZER.num_epoch'; did you mean", sslrun.train, values, {"OPTIMIZER.num_epoch": 1})
fails("SEED_VALUE is a set, expected a dict, list", sslrun.train, values, {"SEED_VALUE": {1}})
fails("expected a whole number of 64 bits", sslrun.train, values, {"SEED_VALUE": 2**63})
fails("KEY=VALUE strings change a file", sslrun.train, values, ["SEED_VALUE=1"])
fails("a\\xffb", sslrun.Weights, os.fsdecode(b"a\xffb"))  # a message that is not UTF-8
for broken in (lambda: sslrun.Weights("a\0b"), lambda: sslrun.save_weights("x.npz", {"a\0b": [1.0]})):
    try:
        broken()
        raise AssertionError("a NUL is accepted")
    except ValueError:
        pass
print("doors: ok")
