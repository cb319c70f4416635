"""sslrun from Python: features, nearest neighbours, edited graphs, files of weights and training, over libsslrun.so.0
with ctypes and numpy only.

    import sslrun
    model = sslrun.Model("runs/photos")            # a run, a checkpoint, a configuration, or "resnet50"
    model.tap("layer4,flatten")                    # with the checkpoint's own weights
    x = model.preprocess(["a.jpg", "b.jpg"])       # (2, 3, H, W), as the configuration evaluates
    maps, vectors = model.features(x)
    rows, cosine = sslrun.Index(vectors).search(vectors, k=2)

    graph = sslrun.Graph("resnet50", weights="resnet50.pth")
    graph.replace("fc", "linear", out_features=10)
    graph["fc.bias"] = numpy.zeros(10)
    small = sslrun.Model(graph)                    # a copy

    sslrun.train("photos.yaml", ["SEED_VALUE=1"], on_step=lambda step: print(step.loss))

The library is the one that LIBSSLRUN names, otherwise libsslrun.so.0 in the tree or prefix that holds this file, otherwise
the one that the system's linker finds.
After a fork (multiprocessing's default on Linux before Python 3.14) the child computes on one thread; start processes
by "spawn" to use all cores in each.
As a program:  python3 sslrun.py RUN QUERY.jpg IMAGE.jpg ...  prints the images most similar to the first.
"""
import collections
import ctypes
import json
import numbers
import os
import sys
import threading

import numpy

_NAME = "libsslrun.so.0"


def _library():
    """Returns LIBSSLRUN, a file in one of the three folders above this file or in its lib/, or a bare name for the linker."""
    named = os.environ.get("LIBSSLRUN")
    if named:
        return named
    folder = os.path.dirname(os.path.realpath(__file__))
    for _ in range(3):
        folder = os.path.dirname(folder)
        for path in (os.path.join(folder, _NAME), os.path.join(folder, "lib", _NAME)):
            if os.path.isfile(path):
                return path
    return _NAME


def _load(path):
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("the library of sslrun cannot be loaded (%s): run `make` or `make install`, or set LIBSSLRUN "
                          "to the path of %s" % (error, _NAME)) from None


_lib = _load(_library())
_floats = ctypes.POINTER(ctypes.c_float)


class Error(RuntimeError):
    """An error of the library; its text is one line."""


class _Shape(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("rank", ctypes.c_int), ("shape", ctypes.c_int * 6)]


class _GraphNode(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("op", ctypes.c_char_p), ("rank", ctypes.c_int), ("shape", ctypes.c_int * 6),
                ("n_inputs", ctypes.c_int), ("inputs", ctypes.POINTER(ctypes.c_int)), ("tags", ctypes.c_uint)]


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int),
                ("shape", ctypes.c_int * 6), ("count", ctypes.c_int64)]


class _TrainStep(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int64), ("total_steps", ctypes.c_int64), ("epoch", ctypes.c_int64),
                ("loss", ctypes.c_double), ("lr", ctypes.c_double), ("seconds", ctypes.c_double)]


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    return function


_p, _i, _n = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_version = _declare("sr_version", ctypes.c_char_p)
_message = _declare("sr_status_message", ctypes.c_char_p)
_open = _declare("sr_feature_model_open", _i, ctypes.c_char_p, _i, _i, _i, ctypes.POINTER(_p))
_close = _declare("sr_feature_model_close", None, _p)
_size = _declare("sr_feature_model_size", None, _p, *[ctypes.POINTER(_i)] * 3)
_node = _declare("sr_feature_model_node", _i, _p, _i, ctypes.POINTER(_Shape))
_tap = _declare("sr_feature_model_tap", _i, _p, ctypes.c_char_p, ctypes.c_char_p, _i)
_preprocess = _declare("sr_feature_model_preprocess", _i, _p, ctypes.c_char_p, ctypes.c_size_t, _floats)
_features = _declare("sr_feature_model_features", _i, _p, _floats, _n, ctypes.POINTER(_floats))
_output = _declare("sr_feature_model_output", _floats, _p, _i, ctypes.POINTER(_Shape))
_index_open = _declare("sr_knn_index_open", _i, _floats, _n, _i, _i, ctypes.POINTER(_p))
_index_close = _declare("sr_knn_index_close", None, _p)
_index_search = _declare("sr_knn_index_search", _i, _p, _floats, _n, _i, ctypes.POINTER(_n), _floats)
_open_graph = _declare("sr_feature_model_open_graph", _i, _p, ctypes.POINTER(_p))
_graph_open = _declare("sr_model_graph_open", _i, ctypes.c_char_p, ctypes.c_char_p, _i, _i, _i, ctypes.POINTER(_p))
_graph_close = _declare("sr_model_graph_close", None, _p)
_graph_node = _declare("sr_model_graph_node", _i, _p, _i, ctypes.POINTER(_GraphNode))
_graph_find = _declare("sr_model_graph_find", _i, _p, ctypes.c_char_p)
_graph_cut = _declare("sr_model_graph_cut", _i, _p, ctypes.c_char_p)
_graph_insert = _declare("sr_model_graph_insert", _i, _p, *[ctypes.c_char_p] * 4)
_graph_replace = _declare("sr_model_graph_replace", _i, _p, *[ctypes.c_char_p] * 3)
_graph_remove = _declare("sr_model_graph_remove", _i, _p, ctypes.c_char_p)
_graph_tag = _declare("sr_model_graph_tag", _i, _p, ctypes.c_char_p, ctypes.c_uint, ctypes.POINTER(_i))
_graph_tensor = _declare("sr_model_graph_tensor", _i, _p, _i, ctypes.POINTER(_Tensor))
_graph_read = _declare("sr_model_graph_read", _i, _p, ctypes.c_char_p, _floats, _n)
_graph_set = _declare("sr_model_graph_set", _i, _p, ctypes.c_char_p, _floats, _n)
_graph_save = _declare("sr_model_graph_save", _i, _p, ctypes.c_char_p)
_graph_export = _declare("sr_model_graph_export", _i, _p, ctypes.c_char_p, ctypes.c_char_p)
_weights_open = _declare("sr_weights_file_open", _i, ctypes.c_char_p, ctypes.POINTER(_p))
_weights_close = _declare("sr_weights_file_close", None, _p)
_weights_tensor = _declare("sr_weights_file_tensor", _i, _p, _i, ctypes.POINTER(_Tensor))
_weights_read = _declare("sr_weights_file_read", _i, _p, ctypes.c_char_p, _floats, _n)
_weights_write = _declare("sr_weights_file_write", _i, ctypes.c_char_p, ctypes.POINTER(_Tensor),
                          ctypes.POINTER(_floats), _i)
_on_step = ctypes.CFUNCTYPE(_i, _p, ctypes.POINTER(_TrainStep))
_train = _declare("sr_train", _i, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), _i, _on_step, _p)
_config_open = _declare("sr_train_config_open", _i, ctypes.c_char_p, ctypes.POINTER(_p))
_config_close = _declare("sr_train_config_close", None, _p)
_config_bool = _declare("sr_train_config_bool", _i, _p, ctypes.c_char_p, _i)
_config_int = _declare("sr_train_config_int", _i, _p, ctypes.c_char_p, _n)
_config_number = _declare("sr_train_config_number", _i, _p, ctypes.c_char_p, ctypes.c_double)
_config_text = _declare("sr_train_config_text", _i, _p, ctypes.c_char_p, ctypes.c_char_p)
_config_texts = _declare("sr_train_config_texts", _i, _p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), _i)
_config_run = _declare("sr_train_config_run", _i, _p, _on_step, _p)
_STOPPED = 5

__version__ = _version().decode()


def _bytes(text):
    """Returns a name or path for the library, whose texts end at a NUL."""
    data = os.fsencode(text)
    if b"\0" in data:
        raise ValueError(f"{data!r} holds a NUL, which no name may")
    return data


def _text(data):
    """Returns a name of the library. Bytes that are not UTF-8 come back from _bytes as they were."""
    return data.decode("utf-8", "surrogateescape")


def _check(status):
    if status != 0:
        raise Error(_message().decode("utf-8", "backslashreplace"))


def _array(x, *shape):
    """Returns x as the C side reads it; None in a shape stands for any length."""
    x = numpy.ascontiguousarray(x, numpy.float32)
    if x.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, x.shape)):
        raise Error("an array of shape %s, expected %s" % (x.shape, shape))
    return x


def _pointer(x):
    return x.ctypes.data_as(_floats)


_OWN = object()  # a default that no caller can pass by accident


class Model:
    """A trunk by torchvision's name, a configuration, a checkpoint, the folder of a run, or a copy of a Graph.

    A Graph brings its own batch, height, width and weights.
    """

    def __init__(self, trunk, batch=8, height=0, width=0):
        self._lock = threading.RLock()  # the sizes of arrays belong to the layers chosen last
        self._handle = _p()
        if isinstance(trunk, Graph):
            self._trunk, self._has_weights = "a graph", True
            _check(_open_graph(trunk._handle, ctypes.byref(self._handle)))
        else:
            self._trunk = os.fsdecode(trunk)
            self._has_weights = os.path.isdir(self._trunk) or self._trunk.endswith(".safetensors")
            _check(_open(_bytes(trunk), batch, height, width, ctypes.byref(self._handle)))
        size = [_i(), _i(), _i()]
        _size(self._handle, *map(ctypes.byref, size))
        self.batch, self.height, self.width = (one.value for one in size)
        self.channels = self.nodes()[0][1][1]

    def __del__(self):
        _close(getattr(self, "_handle", None))

    def nodes(self):
        """Returns [(name, shape)] in execution order, with torchvision's names."""
        found, shape = [], _Shape()
        while _node(self._handle, len(found), ctypes.byref(shape)):
            found.append((_text(shape.name), tuple(shape.shape[:shape.rank])))
        return found

    def tap(self, nodes, weights=_OWN, train=False):
        """Chooses layers ("layer1,layer4:deep") and loads weights.

        weights: a file. Omitted: those of the checkpoint or Graph; an Error if the model is neither. None: the
        same, or random ones if the model is neither.
        """
        if weights is _OWN:
            if not self._has_weights:
                raise Error("%s has no weights of its own: weights=FILE loads some, weights=None takes random ones"
                            % self._trunk)
            weights = None
        with self._lock:
            _check(_tap(self._handle, _bytes(nodes), _bytes(weights) if weights else None, train))

    def preprocess(self, images):
        """Decodes files, or bytes of image files, to (n, channels, height, width)."""
        x = numpy.empty((len(images), self.channels, self.height, self.width), numpy.float32)
        for image, to in zip(images, x):
            if not isinstance(image, bytes):
                with open(image, "rb") as file:
                    image = file.read()
            _check(_preprocess(self._handle, image, len(image), _pointer(to)))
        return x

    def _shapes(self):
        shapes, shape = [], _Shape()
        while _output(self._handle, len(shapes), ctypes.byref(shape)):
            shapes.append(tuple(shape.shape[1:shape.rank]))
        return shapes

    def features(self, x):
        """Returns one array per layer, (n, ...) in PyTorch's layout. Any thread may call it; tap() waits for it to end."""
        x = _array(x, None, self.channels, self.height, self.width)
        with self._lock:
            out = [numpy.empty((len(x), *shape), numpy.float32) for shape in self._shapes()]
            pointers = (_floats * max(len(out), 1))(*map(_pointer, out))
            _check(_features(self._handle, _pointer(x), len(x), pointers))
        return out


class Index:
    """Exact nearest neighbours among rows (n, d)."""

    def __init__(self, rows, cosine=True):
        rows = _array(rows, None, None)
        self.n, self.d = rows.shape
        self._handle = _p()
        _check(_index_open(_pointer(rows), self.n, self.d, cosine, ctypes.byref(self._handle)))

    def __del__(self):
        _index_close(getattr(self, "_handle", None))

    def search(self, queries, k):
        """Returns numbers of the k nearest rows of each query and their similarities, best first: (m, k), (m, k)."""
        queries = _array(queries, None, self.d)
        rows = numpy.empty((len(queries), max(k, 0)), numpy.int64)
        similarity = numpy.empty(rows.shape, numpy.float32)
        row_pointer = rows.ctypes.data_as(ctypes.POINTER(_n))
        _check(_index_search(self._handle, _pointer(queries), len(queries), k, row_pointer, _pointer(similarity)))
        return rows, similarity


Node = collections.namedtuple("Node", "name op shape inputs tags")  # inputs: names of the nodes that it reads
Tensor = collections.namedtuple("Tensor", "name dtype shape")  # dtype: safetensors' name of the type in the file
Step = collections.namedtuple("Step", "step total_steps epoch loss lr seconds")  # as SrTrainStep in sslrun.h


class _Tensors:
    """Named tensors as float32 arrays: what Graph and Weights share."""

    def tensors(self):
        """Returns [Tensor(name, dtype, shape)]."""
        found, one = [], _Tensor()
        while self._tensor(self._handle, len(found), ctypes.byref(one)):
            found.append(Tensor(_text(one.name), _text(one.dtype), tuple(one.shape[:one.rank])))
        return found

    def keys(self):
        return [one.name for one in self.tensors()]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.tensors())

    def __contains__(self, name):
        return name in self.keys()

    def __getitem__(self, name):
        """Reads a tensor of any type as a float32 array."""
        shape = next((one.shape for one in self.tensors() if one.name == name), None)
        if shape is None:
            raise KeyError(name)
        x = numpy.empty(shape, numpy.float32)
        _check(self._read(self._handle, _bytes(name), _pointer(x), x.size))
        return x


class Weights(_Tensors):
    """A file of weights: safetensors, PyTorch's .pth, .npz or .npy. weights["conv1.weight"] is an array."""

    _tensor, _read = staticmethod(_weights_tensor), staticmethod(_weights_read)

    def __init__(self, path):
        self._handle = _p()
        _check(_weights_open(_bytes(path), ctypes.byref(self._handle)))

    def __del__(self):
        _weights_close(getattr(self, "_handle", None))


def save_weights(path, arrays):
    """Writes {name: array} as float32. The path's ending is .safetensors, .pth or .npz; the file is replaced as a whole."""
    arrays = {name: numpy.asarray(x, numpy.float32, order="C") for name, x in arrays.items()}
    infos, pointers = (_Tensor * max(len(arrays), 1))(), (_floats * max(len(arrays), 1))()
    for i, (name, x) in enumerate(arrays.items()):
        if x.ndim > 6:
            raise Error("%s has %d dimensions; at most 6 are possible" % (name, x.ndim))
        infos[i].name, infos[i].rank, infos[i].shape[:x.ndim] = _bytes(name), x.ndim, x.shape
        pointers[i] = _pointer(x)
    _check(_weights_write(_bytes(path), infos, pointers, len(arrays)))


class Graph(_Tensors):
    """A trunk's nodes and weights, to be edited. A failed edit changes nothing.

    graph["conv1.weight"] reads a tensor, and graph["conv1.weight"] = array sets it. Nodes are named as in Model.tap: a
    node, a module, which means its last node, or a stage. Model(graph) makes a model with a copy.
    """

    _tensor, _read = staticmethod(_graph_tensor), staticmethod(_graph_read)

    def __init__(self, trunk, weights=None, batch=8, height=0, width=0):
        """weights: a file. None: the checkpoint's own, or random ones if the trunk is no checkpoint."""
        self._handle = _p()
        _check(_graph_open(_bytes(trunk), _bytes(weights) if weights else None, batch, height, width,
                           ctypes.byref(self._handle)))

    def __del__(self):
        _graph_close(getattr(self, "_handle", None))

    def nodes(self):
        """Returns [Node(name, op, shape, inputs, tags)] in execution order."""
        found, one = [], _GraphNode()
        while _graph_node(self._handle, len(found), ctypes.byref(one)):
            inputs = tuple(found[i].name for i in one.inputs[:one.n_inputs])
            found.append(Node(_text(one.name), _text(one.op), tuple(one.shape[:one.rank]), inputs, one.tags))
        return found

    def find(self, name):
        """Returns the name of the node that a module or stage means."""
        i = _graph_find(self._handle, _bytes(name))
        if i < 0:
            raise Error(_message().decode("utf-8", "backslashreplace"))
        return self.nodes()[i].name

    def cut(self, nodes):
        """Keeps what these nodes need ("layer2,layer3")."""
        _check(_graph_cut(self._handle, _bytes(nodes)))

    def insert(self, after, name, op, **options):
        """Adds a node in the module of node `after`, which it reads; all readers of `after` read the new node."""
        _check(_graph_insert(self._handle, _bytes(after), _bytes(name), _bytes(op), _bytes(json.dumps(options))))

    def replace(self, node, op, **options):
        """Puts an op in a node's place. Weights of the same name and shape stay."""
        _check(_graph_replace(self._handle, _bytes(node), _bytes(op), _bytes(json.dumps(options))))

    def remove(self, node):
        """Removes a node; its readers read its first input."""
        _check(_graph_remove(self._handle, _bytes(node)))

    def tag(self, pattern, bits):
        """Sets bits in the tags of the nodes that match a pattern, and returns their number."""
        n = _i()
        _check(_graph_tag(self._handle, _bytes(pattern), bits, ctypes.byref(n)))
        return n.value

    def __setitem__(self, name, array):
        shape = next((one.shape for one in self.tensors() if one.name == name), None)
        if shape is None:
            raise KeyError(name)
        x = _array(array, *shape) if shape else numpy.asarray(array, numpy.float32)
        _check(_graph_set(self._handle, _bytes(name), _pointer(x), x.size))

    def save(self, path):
        """Writes all weights: .safetensors, .pth or .npz."""
        _check(_graph_save(self._handle, _bytes(path)))

    def export(self, nodes, path):
        """Writes the part that nodes ("layer4,flatten:features") need as ONNX."""
        _check(_graph_export(self._handle, _bytes(nodes), _bytes(path)))


class _Config:
    """A configuration from values: dicts, dotted keys, lists, numbers, booleans, texts, paths and None."""

    def __init__(self, file, *layers):
        self._handle = _p()
        _check(_config_open(_bytes(file) if file is not None else None, ctypes.byref(self._handle)))
        for one in layers:
            for key, value in one.items():
                self._set(key, value)

    def __del__(self):
        _config_close(getattr(self, "_handle", None))

    def _set(self, key, value):
        name = _bytes(key)
        if isinstance(value, dict):
            for inner, one in value.items():
                self._set("%s.%s" % (key, inner), one)
        elif isinstance(value, (list, tuple, numpy.ndarray)):
            _check(_config_texts(self._handle, name, None, 0))  # a list replaces the whole list
            for i, one in enumerate(value):
                self._set("%s.%d" % (key, i), one)
        elif isinstance(value, (bool, numpy.bool_)):
            _check(_config_bool(self._handle, name, value))
        elif isinstance(value, numbers.Integral):
            if not -2**63 <= value < 2**63:
                raise Error("%s is %d, expected a whole number of 64 bits" % (key, value))
            _check(_config_int(self._handle, name, value))
        elif isinstance(value, numbers.Real):
            _check(_config_number(self._handle, name, value))
        elif value is None or isinstance(value, (str, bytes, os.PathLike)):
            _check(_config_text(self._handle, name, None if value is None else _bytes(value)))
        else:
            raise Error("%s is a %s, expected a dict, list, number, boolean, text or None" % (key, type(value).__name__))


def train(config, overrides=(), on_step=None):
    """Trains a configuration as `sslrun train` does, and resumes what an earlier call left. Returns whether it finished.

    config: a file, a name of VISSL's, or a dict of values over the defaults of all keys. Dicts may be nested, and keys
    dotted: {"OPTIMIZER": {"num_epochs": 10}} and {"OPTIMIZER.num_epochs": 10} are the same.
    overrides: such a dict, or "KEY=VALUE" strings over a file. on_step(Step) is called after every update; a true result
    stops the run, which is saved, and so does Ctrl-C. An exception of on_step does so too, and is raised when the run is
    saved.
    """
    raised = []

    def call(_, step):
        try:
            one = step.contents
            values = [getattr(one, name) for name in Step._fields]
            return 1 if on_step is not None and on_step(Step(*values)) else 0
        except BaseException as error:  # KeyboardInterrupt too: ctypes would print it and go on
            raised.append(error)
            return 1

    if isinstance(config, dict) and overrides and not isinstance(overrides, dict):
        raise Error("KEY=VALUE strings change a file; a dict of values takes a second dict")
    if isinstance(config, dict):
        values = _Config(None, config, overrides or {})
    elif isinstance(overrides, dict):
        values = _Config(config, overrides)
    else:
        values = None
    if values:
        status = _config_run(values._handle, _on_step(call), None)
    else:
        words = (ctypes.c_char_p * max(len(overrides), 1))(*[_bytes(one) for one in overrides])
        status = _train(_bytes(config), words, len(overrides), _on_step(call), None)
    if raised:
        raise raised[0]
    if status != _STOPPED:
        _check(status)
    return status != _STOPPED


def _main(run, query, *images):
    model = Model(run)
    model.tap("flatten")
    (vectors,) = model.features(model.preprocess([query, *images]))
    rows, cosine = Index(vectors[1:]).search(vectors[:1], len(images))
    for row, value in zip(rows[0], cosine[0]):
        print("%.4f  %s" % (value, images[row]))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: sslrun.py RUN QUERY IMAGE...")
    try:
        _main(*sys.argv[1:])
    except (Error, OSError) as error:
        sys.exit("sslrun.py: %s" % error)
