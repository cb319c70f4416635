# Writes pictures in many formats by Pillow (python3-pil), and next to each NAME.ext the pixels that are expected of it,
# NAME.ppm.  Kinds of TIFF that Pillow cannot write are put together byte by byte.
# usage: readers.py FOLDER
import os
import struct
import sys

from PIL import Image, ImageOps

folder = sys.argv[1]
W, H = 21, 13


def level(x, y, c):
    return (x * 37 + y * 91 + c * 53 + x * y) % 256


rgb = Image.new("RGB", (W, H))
rgb.putdata([tuple(level(x, y, c) for c in range(3)) for y in range(H) for x in range(W)])
grey = rgb.convert("L")
palette = rgb.quantize(16)


def expect(name, image):
    image.convert("RGB").save(os.path.join(folder, name + ".ppm"))


def save(image, name, ending, **how):
    path = os.path.join(folder, name + ending)
    image.save(path, **how)
    with Image.open(path) as back:
        expect(name, ImageOps.exif_transpose(back))


def raw(name, ending, data, image):
    with open(os.path.join(folder, name + ending), "wb") as f:
        f.write(data)
    expect(name, image)


save(rgb, "bmp24", ".bmp")
save(grey, "bmp8", ".bmp")
save(palette, "bmp4", ".bmp")
save(rgb.convert("1"), "bmp1", ".bmp")
save(rgb.convert("RGBA"), "bmp32", ".bmp")
save(rgb, "ppm8", ".pnm")
save(grey, "pgm8", ".pgm")
save(palette, "gif", ".gif")
save(grey, "gif_grey", ".gif")
tall = rgb.resize((40, 37), Image.BICUBIC).quantize(64)  # Pillow interlaces no picture below 16 pixels
save(tall, "gif_interlaced", ".gif", interlace=1, comment=b"rows 0, 8, 16, ... " * 20)
large = rgb.resize((300, 200), Image.BICUBIC).quantize(256)  # its table of codes fills up
save(large, "gif_large", ".gif", interlace=0)
save(palette, "gif_film", ".gif", save_all=True, append_images=[palette.transpose(Image.FLIP_TOP_BOTTOM)])
save(palette, "gif_transparent", ".gif", transparency=palette.getpixel((3, 2)))
for name, flags, extension in (("gif_interlaced", 0x40, b"!\xfe"), ("gif_transparent", 0, b"!\xf9")):
    with open(os.path.join(folder, name + ".gif"), "rb") as f:  # they are what their names say
        data = f.read()
    size = struct.pack("<HH", *struct.unpack_from("<HH", data, 6))
    assert extension in data and data[data.index(b"," + bytes(4) + size) + 9] & 0x40 == flags, name


# ---- BMP by hand: masks of colours, a short palette, rows from above


def bmp(bits, compression, colors, after, rows, down=False):
    start = 54 + len(after)
    head = struct.pack("<IiiHHIIiiII", 40, W, -H if down else H, 1, bits, compression, 0, 0, 0, colors, 0)
    lines = [row + bytes(-len(row) % 4) for row in (rows if down else rows[::-1])]
    return b"BM" + struct.pack("<IHHI", start + sum(map(len, lines)), 0, 0, start) + head + after + b"".join(lines)


def masked(masks, order):
    shift = [(m & -m).bit_length() - 1 for m in masks]
    top = [m >> s for m, s in zip(masks, shift)]
    code = [[[level(x, y, c) * top[c] // 255 for c in range(3)] for x in range(W)] for y in range(H)]
    seen = Image.new("RGB", (W, H))
    seen.putdata([tuple(v * 255 // t for v, t in zip(code[y][x], top)) for y in range(H) for x in range(W)])
    rows = [b"".join(struct.pack(order, sum(v << s for v, s in zip(code[y][x], shift))) for x in range(W)) for y in range(H)]
    return struct.pack("<III", *masks), rows, seen


after, rows, seen = masked((0xF800, 0x7E0, 0x1F), "<H")
raw("bmp_565", ".bmp", bmp(16, 3, 0, after, rows), seen)
after, rows, seen = masked((0x3FF, 0xFFC00, 0x3FF00000), "<I")
raw("bmp_masks", ".bmp", bmp(32, 3, 0, after, rows), seen)
_, rows, seen = masked((0x7C00, 0x3E0, 0x1F), "<H")
raw("bmp_555", ".bmp", bmp(16, 0, 0, b"", rows, down=True), seen)
five = [(10, 20, 30), (200, 100, 0), (0, 0, 255), (255, 255, 255), (1, 2, 3)]
rows = [bytes((x + y) % 6 for x in range(W)) for y in range(H)]  # the sixth colour is none
seen = Image.new("RGB", (W, H))
seen.putdata([(five + [(0, 0, 0)])[(x + y) % 6] for y in range(H) for x in range(W)])
head = struct.pack("<IHHHH", 12, W, H, 1, 8)  # the header of OS/2, whose palette has no fourth byte
lines = b"".join(row + bytes(-len(row) % 4) for row in rows[::-1])
colours = b"".join(bytes((b, g, r)) for r, g, b in (five + [(0, 0, 0)] * 251))
raw("bmp_os2", ".bmp", b"BM" + struct.pack("<IHHI", 26 + 768 + len(lines), 0, 0, 26 + 768) + head + colours + lines, seen)
raw("bmp_five", ".bmp", bmp(8, 0, 5, b"".join(bytes((b, g, r, 0)) for r, g, b in five), rows), seen)

for kind, how in (("raw", None), ("lzw", "tiff_lzw"), ("deflate", "tiff_adobe_deflate"), ("bits", "packbits")):
    save(rgb, "tiff_" + kind, ".tif", compression=how)
save(rgb.resize((40, 40)), "tiff_jpeg", ".tif", compression="jpeg", quality=95)
save(rgb.resize((40, 40)).convert("YCbCr"), "tiff_ycc", ".tif", compression="jpeg", quality=95)
save(grey, "tiff_grey", ".tif")
save(palette, "tiff_palette", ".tif")
save(rgb.convert("RGBA"), "tiff_alpha", ".tif")
save(rgb.convert("1"), "tiff_fax", ".tif", compression="group4")
save(rgb.convert("CMYK"), "tiff_ink", ".tif")

# ---- orientations

for o in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = o
    save(rgb, "turned%d_png" % o, ".png", exif=exif)
    save(rgb, "turned%d_webp" % o, ".webp", exif=exif, lossless=True)
    rgb.save(os.path.join(folder, "turned%d_tiff.tiff" % o), exif=exif)
    with Image.open(os.path.join(folder, "turned%d_png.png" % o)) as back:  # Pillow's TIFF reader turns some itself
        expect("turned%d_tiff" % o, ImageOps.exif_transpose(back))
    save(rgb, "turned%d_jpeg" % o, ".jpg", exif=exif, quality=95)

# ---- 16 bits: the upper 8 are kept in PNG and TIFF, and PGM and PPM are rounded


def deep(x, y, c):
    return level(x, y, c) << 8 | level(y, x, c)


def samples(channels, order):
    return b"".join(struct.pack(order + "H", deep(x, y, c)) for y in range(H) for x in range(W) for c in range(channels))


first = rgb.getchannel(0)
near = Image.new("RGB", (W, H))
near.putdata([tuple((deep(x, y, c) * 255 + 32767) // 65535 for c in range(3)) for y in range(H) for x in range(W)])
raw("ppm16", ".ppm16", b"P6 # a comment\n%d %d\n65535\n" % (W, H) + samples(3, ">"), near)
raw("pgm16", ".pgm16", b"P5\n%d\t%d 65535\n" % (W, H) + samples(1, ">"), near.getchannel(0))
few = Image.new("L", (4, 1))
few.putdata([0, 85, 170, 255])
raw("pgm2", ".pgm2", b"P5 4 1 3\n\0\1\2\3", few)
deep_grey = Image.frombytes("I;16", (W, H), samples(1, "<"))
deep_grey.save(os.path.join(folder, "png16.png"))
expect("png16", first)


# ---- TIFF by hand: pages of (tags, chunks of pixels)


def tiff(pages, order="<"):
    out = (b"II*\0" if order == "<" else b"MM\0*") + b"\0\0\0\0"
    place = 4
    for tags, chunks in pages:
        offsets, tags = [], dict(tags)
        for chunk in chunks:
            offsets.append(len(out))
            out += chunk
        tiled = 322 in tags
        tags[324 if tiled else 273] = (4, offsets)
        tags[325 if tiled else 279] = (4, [len(chunk) for chunk in chunks])
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            data = struct.pack(order + {3: "H", 4: "I"}[kind] * len(values), *values)
            if len(data) > 4:
                out += b"\0" * (len(out) % 2)
                at, out = len(out), out + data
                data = struct.pack(order + "I", at)
            entries += struct.pack(order + "HHI", tag, kind, len(values)) + data.ljust(4, b"\0")
        out += b"\0" * (len(out) % 2)
        out = out[:place] + struct.pack(order + "I", len(out)) + out[place + 4:]
        place = len(out) + 2 + len(entries)
        out += struct.pack(order + "H", len(tags)) + entries + b"\0\0\0\0"
    return out


def tags(channels, bits, meaning, **more):
    t = {256: (3, [W]), 257: (3, [H]), 258: (3, [bits] * channels), 259: (3, [1]), 262: (3, [meaning]), 277: (3, [channels])}
    if not more.get("tile"):
        t[278] = (3, [more.get("rows", H)])
    else:
        t[322] = t[323] = (3, [16])
    if more.get("planes"):
        t[284] = (3, [2])
    return t


def tiles(image):
    size = len(image.getbands())
    padded = Image.new(image.mode, (32, 16))
    padded.paste(image, (0, 0))
    return [padded.crop((x, 0, x + 16, 16)).tobytes() for x in (0, 16)] if size else []


for order, name in (("<", "little"), (">", "big")):
    raw("tiff16_" + name, ".tif", tiff([(tags(3, 16, 2), [samples(3, order)])], order), rgb)
    raw("tiff16_grey_" + name, ".tif", tiff([(tags(1, 16, 1), [samples(1, order)])], order), first)
raw("tiff_white", ".tif", tiff([(tags(1, 8, 0), [grey.tobytes()])]), ImageOps.invert(grey))
raw("tiff_tiles", ".tif", tiff([(tags(3, 8, 2, tile=1), tiles(rgb))]), rgb)
raw("tiff_tiles_grey", ".tif", tiff([(tags(1, 8, 1, tile=1), tiles(grey))]), grey)
row = W * 3
strips = [rgb.tobytes()[at:at + 4 * row] for at in range(0, H * row, 4 * row)]
raw("tiff_strips", ".tif", tiff([(tags(3, 8, 2, rows=4), strips)], ">"), rgb)
planes = [rgb.getchannel(c).tobytes() for c in range(3)]
raw("tiff_planes", ".tif", tiff([(tags(3, 8, 2, planes=1), planes)]), rgb)
raw("tiff_plane_tiles", ".tif",
    tiff([(tags(3, 8, 2, planes=1, tile=1), [t for c in range(3) for t in tiles(rgb.getchannel(c))])]), rgb)
# Two pages, for pages.tif#2.
pages = [(tags(1, 8, 1), [grey.tobytes()]), (tags(3, 8, 2), [rgb.tobytes()])]
for order, name in (("<", "pages"), (">", "pages_big")):
    raw(name, ".tif", tiff(pages, order), grey)
expect("page2", rgb)
