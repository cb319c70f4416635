"""sslrun from Python: features of named layers and nearest neighbours, over libsslrun.so.0 with ctypes and numpy only.

    import sslrun
    model = sslrun.Model("runs/photos")            # a run, a checkpoint, a configuration, or "resnet50"
    model.tap("layer4,flatten")                    # with the checkpoint's own weights
    x = model.preprocess(["a.jpg", "b.jpg"])       # (2, 3, H, W), as the configuration evaluates
    maps, vectors = model.features(x)
    rows, cosine = sslrun.Index(vectors).search(vectors, k=2)

The library is the one that LIBSSLRUN names, otherwise libsslrun.so.0 in the tree or prefix that holds this file, otherwise
the one that the system's linker finds.
After a fork (multiprocessing's default on Linux before Python 3.14) the child computes on one thread; start processes
by "spawn" to use all cores in each.
As a program:  python3 sslrun.py RUN QUERY.jpg IMAGE.jpg ...  prints the images most similar to the first.
"""
import ctypes
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

__version__ = _version().decode()


def _check(status):
    if status != 0:
        raise Error(_message().decode())


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
    """A trunk by torchvision's name, a configuration, a checkpoint, or the folder of a run."""

    def __init__(self, trunk, batch=8, height=0, width=0):
        self._trunk = os.fsdecode(trunk)
        self._lock = threading.RLock()  # the sizes of arrays belong to the layers chosen last
        self._handle = _p()
        _check(_open(os.fsencode(trunk), batch, height, width, ctypes.byref(self._handle)))
        size = [_i(), _i(), _i()]
        _size(self._handle, *map(ctypes.byref, size))
        self.batch, self.height, self.width = (one.value for one in size)

    def __del__(self):
        _close(getattr(self, "_handle", None))

    def nodes(self):
        """Returns [(name, shape)] in execution order, with torchvision's names."""
        found, shape = [], _Shape()
        while _node(self._handle, len(found), ctypes.byref(shape)):
            found.append((shape.name.decode(), tuple(shape.shape[:shape.rank])))
        return found

    def tap(self, nodes, weights=_OWN, train=False):
        """Chooses layers ("layer1,layer4:deep") and loads weights.

        weights: a file. Omitted: the checkpoint's own; an Error if the model is no checkpoint. None: the
        checkpoint's own, or random ones if the model is no checkpoint.
        """
        if weights is _OWN:
            if not (os.path.isdir(self._trunk) or self._trunk.endswith(".safetensors")):
                raise Error("%s has no weights of its own: weights=FILE loads some, weights=None takes random ones"
                            % self._trunk)
            weights = None
        with self._lock:
            _check(_tap(self._handle, nodes.encode(), os.fsencode(weights) if weights else None, train))

    def preprocess(self, images):
        """Decodes files, or bytes of image files, to (n, 3, height, width)."""
        x = numpy.empty((len(images), 3, self.height, self.width), numpy.float32)
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
        x = _array(x, None, 3, self.height, self.width)
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
