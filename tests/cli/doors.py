"""Tests python/sslrun.py: shapes, several threads, fork, files and bytes, errors. Usage: doors.py RUN IMAGE.jpg"""
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


run, image = sys.argv[1:]
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
print("doors: ok")
