# Writes pictures of many channels or 16 bits, and next to each NAME.ext the floats that are expected of it: NAME.C.f32,
# (H, W, C).  Pillow reads the grey ones back and resizes in its mode F; files of more channels, which it does not know, are
# made of the expected samples.
# usage: channels.py FOLDER
import os
import struct
import sys
import zlib

from PIL import Image

folder = sys.argv[1]
W, H = 21, 13


def sample(x, y, c):
    return (x * 2657 + y * 991 + c * 5303 + x * y * (c + 1) * 77) % 65536


def floats(values, white):
    return struct.pack("<%df" % len(values), *[v / white for v in values])


def write(name, ending, data, channels, expected):
    with open(os.path.join(folder, name + ending), "wb") as f:
        f.write(data)
    with open(os.path.join(folder, "%s.%d.f32" % (name, channels)), "wb") as f:
        f.write(expected)


def save(image, name, ending, **how):
    path = os.path.join(folder, name + ending)
    image.save(path, **how)
    with Image.open(path) as back:
        pixels = list(back.getdata())
    values = [v for p in pixels for v in (p if isinstance(p, tuple) else (p,))]
    with open(path, "rb") as f:
        write(name, ending, f.read(), len(values) // len(pixels), floats(values, 65535 if image.mode == "I;16" else 255))


# ---- what Pillow writes and reads: grey of 16 bits, opacity of 8

grey = [sample(x, y, 0) for y in range(H) for x in range(W)]
deep = Image.frombytes("I;16", (W, H), struct.pack("<%dH" % len(grey), *grey))
save(deep, "png16", ".png")
for kind in ("raw", "tiff_lzw", "tiff_adobe_deflate"):
    save(deep, "tiff16_" + kind, ".tif", compression=kind)
rgba = Image.new("RGBA", (W, H))
rgba.putdata([tuple(sample(x, y, c) >> 8 for c in range(4)) for y in range(H) for x in range(W)])
for mode in ("L", "LA", "RGB", "RGBA"):
    save(rgba.convert(mode), "png8_" + mode, ".png")
for mode in ("L", "RGB", "RGBA"):
    save(rgba.convert(mode), "tiff8_" + mode, ".tif")

# ---- PNG of 16 bits in colour


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png16(channels):
    rows = b"".join(
        b"\0" + struct.pack(">%dH" % (W * channels), *[sample(x, y, c) for x in range(W) for c in range(channels)])
        for y in range(H))
    color = {3: 2, 4: 6}[channels]
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 16, color, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def values(channels):
    return [sample(x, y, c) for y in range(H) for x in range(W) for c in range(channels)]


for n in (3, 4):
    write("png16_%d" % n, ".png", png16(n), n, floats(values(n), 65535))
words = struct.pack(">%dH" % (W * H * 3), *values(3))
write("ppm16", ".ppm", b"P6 %d %d 65535\n" % (W, H) + words, 3, floats(values(3), 65535))

# ---- TIFF


def tiff(channels, kind, order="<", planes=False, tile=0, rows=H, deflate=False):
    form = {"B": (8, 1), "H": (16, 1), "f": (32, 3)}[kind]
    w, h = (tile, tile) if tile else (W, rows)
    groups = [[c] for c in range(channels)] if planes else [list(range(channels))]
    level = {"B": lambda v: v >> 8, "H": lambda v: v, "f": lambda v: v / 7 - 100}[kind]
    chunks = []
    for group in groups:
        for top in range(0, H, h):
            for left in range(0, W, w):
                inside = h if tile else min(h, H - top)
                data = [level(sample(x, y, c)) if x < W and y < H else 0 for y in range(top, top + inside)
                        for x in range(left, left + w) for c in group]
                raw = struct.pack("%s%d%s" % (order, len(data), kind), *data)
                chunks.append(zlib.compress(raw) if deflate else raw)
    out, offsets = b"", []
    for c in chunks:
        offsets.append(8 + len(out))
        out += c + b"\0" * (len(c) % 2)
    tags = {256: ("H", [W]), 257: ("H", [H]), 258: ("H", [form[0]] * channels), 259: ("H", [8 if deflate else 1]),
            262: ("H", [1]), 277: ("H", [channels]), 284: ("H", [2 if planes else 1]), 339: ("H", [form[1]] * channels),
            338: ("H", [0] * (channels - 1))}
    if channels == 1:
        del tags[338]
    tags[324 if tile else 273] = ("I", offsets)
    tags[325 if tile else 279] = ("I", [len(c) for c in chunks])
    if tile:
        tags[322] = tags[323] = ("H", [tile])
    else:
        tags[278] = ("H", [rows])
    entries = b""
    for tag, (k, v) in sorted(tags.items()):
        data = struct.pack(order + k * len(v), *v)
        if len(data) > 4:
            data, at = b"", 8 + len(out)
            out += struct.pack(order + k * len(v), *v)
            out += b"\0" * (len(out) % 2)
            data = struct.pack(order + "I", at)
        entries += struct.pack(order + "HHI", tag, {"H": 3, "I": 4}[k], len(v)) + data.ljust(4, b"\0")
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(out))
    return head + out + struct.pack(order + "H", len(tags)) + entries + b"\0\0\0\0"


for name, n, how in (("13", 13, dict(kind="H")), ("13_big", 13, dict(kind="H", order=">")),
                     ("13_planes", 13, dict(kind="H", planes=True, rows=5)), ("13_tiles", 13, dict(kind="H", tile=16)),
                     ("13_plane_tiles", 13, dict(kind="H", planes=True, tile=16, deflate=True)),
                     ("13_bytes", 13, dict(kind="B", rows=4)), ("2", 2, dict(kind="H")), ("40", 40, dict(kind="B", planes=True)),
                     ("float", 5, dict(kind="f")), ("float_planes", 3, dict(kind="f", planes=True, deflate=True))):
    v = values(n)
    expected = {"H": lambda: floats(v, 65535), "B": lambda: floats([x >> 8 for x in v], 255),
                "f": lambda: struct.pack("<%df" % len(v), *[x / 7 - 100 for x in v])}[how["kind"]]()
    write("tiff_" + name, ".tif", tiff(n, **how), n, expected)

# ---- resizing: mode F, one channel after the other

filters = {"nearest": Image.NEAREST, "lanczos": Image.LANCZOS, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
           "box": Image.BOX, "hamming": Image.HAMMING}
channels = [Image.frombytes("F", (W, H), floats([sample(x, y, c) for y in range(H) for x in range(W)], 65535)) for c in range(5)]
for name, f in filters.items():
    for h, w in ((7, 9), (29, 17), (13, 8)):
        small = [list(c.crop((2, 1, 19, 12)).resize((w, h), f).getdata()) for c in channels]
        data = [small[c][i] for i in range(h * w) for c in range(5)]
        with open(os.path.join(folder, "%s_%dx%d.resized" % (name, h, w)), "wb") as out:
            out.write(struct.pack("<%df" % len(data), *data))
