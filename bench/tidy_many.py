#!/usr/bin/python3
"""Makes a large folder of pictures with planted faults, and measures `sslrun tidy` on it.

    bench/tidy_many.py make clothing128 many --files 100000 --planted 50
    bench/tidy_many.py measure many [--program ./sslrun]

`make` writes JPEG files: parts of the given pictures at a random place, of 60 to 100 % of each side, every second one
mirrored, brighter or darker by up to a tenth, of quality 70 to 95, so that no two are equal. 500 lie in each subfolder.
For each issue of tidy it then plants files into `many/planted`, named after the issue. `measure` runs tidy once, and
prints milliseconds per file and core, peak memory, and how many planted files were named with their issue. Needs
python3-pil.
"""
import argparse, csv, os, random, resource, shutil, subprocess, sys, tempfile, time
from PIL import Image, ImageEnhance, ImageFilter, ImageOps


def images_of(folder):
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs
                  if f.lower().endswith((".jpg", ".jpeg", ".png")))


def variant(image, rng):
    w, h = image.size
    cw, ch = (round(side * rng.uniform(.6, 1)) for side in (w, h))
    left, top = rng.randint(0, w - cw), rng.randint(0, h - ch)
    part = image.crop((left, top, left + cw, top + ch))
    part = ImageOps.mirror(part) if rng.random() < .5 else part
    return ImageEnhance.Brightness(part).enhance(rng.uniform(.9, 1.1))


def save(image, stem, **more):
    image.save(stem + ".jpg", quality=90, **more)


def write_bytes(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


# One file of each issue.  path: a file of the folder.  stem: the path to write, without an ending.
def unreadable(path, image, stem, rng):
    data = read_bytes(path)
    write_bytes(stem + ".jpg", rng.choice([b"", rng.randbytes(3000), b"<html>not found</html>",
                                          data[:len(data) // 2], data[:-2]]))


def wrong_extension(path, image, stem, rng):
    save(variant(image, rng), stem)
    os.rename(stem + ".jpg", stem + ".png")


def grey(image):
    return ImageOps.grayscale(image).convert("RGB")


def odd_aspect(path, image, stem, rng):
    save(image.resize((240, 60)), stem)


FAULTS = {
    "unreadable": unreadable,
    "wrong-extension": wrong_extension,
    "same-file": lambda path, image, stem, rng: shutil.copyfile(path, stem + ".jpg"),
    "same-pixels": lambda path, image, stem, rng: image.save(stem + ".png"),
    "near-copy": lambda path, image, stem, rng: image.save(stem + ".jpg", quality=60),
    "blurry": lambda path, image, stem, rng: save(image.filter(ImageFilter.GaussianBlur(6)), stem),
    "dark": lambda path, image, stem, rng: save(image.point(lambda v: v // 10), stem),
    "bright": lambda path, image, stem, rng: save(image.point(lambda v: 250 + v // 60), stem),
    "low-information": lambda path, image, stem, rng: image.convert("1").save(stem + ".png"),
    "odd-size": lambda path, image, stem, rng: save(image.resize((3000, 2000)), stem),
    "odd-aspect": odd_aspect,
    "grey-as-colour": lambda path, image, stem, rng: save(grey(variant(image, rng)), stem),
    "rotated": lambda path, image, stem, rng: save(variant(image, rng), stem, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01"
                                                   b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"),
}


def make(a):
    rng = random.Random(0)
    sources = [Image.open(p).convert("RGB") for p in images_of(a.pictures)]
    os.makedirs(a.folder)
    paths = []
    for i in range(a.files - a.planted * len(FAULTS)):
        if i % 500 == 0:
            part = os.path.join(a.folder, f"{i // 500:04}")
            os.mkdir(part)
        paths.append(os.path.join(part, f"{i:06}.jpg"))
        variant(sources[i % len(sources)], rng).save(paths[-1], quality=rng.randint(70, 95))
    os.mkdir(os.path.join(a.folder, "planted"))
    for issue, write in FAULTS.items():
        for i in range(a.planted):
            path = rng.choice(paths)
            write(path, Image.open(path).convert("RGB"), os.path.join(a.folder, "planted", f"{issue}-{i:03}"), rng)
    print(f"{a.folder}: {a.files} files, {a.planted} of them planted for each of {len(FAULTS)} issues")


def measure(a):
    with tempfile.TemporaryFile("w+") as out:
        began = time.time()
        subprocess.run([a.program, "-q", "tidy", a.folder, "--csv"], stdout=out, check=True)
        seconds = time.time() - began
        use = resource.getrusage(resource.RUSAGE_CHILDREN)
        out.seek(0)
        found = [(r["issue"], os.path.basename(r["file"])) for r in csv.DictReader(out)]
    n = sum(len(files) for _, _, files in os.walk(a.folder))
    print(f"{n} files: {seconds:.0f} s, {1e3 * (use.ru_utime + use.ru_stime) / n:.2f} ms per file and core, "
          f"peak memory {use.ru_maxrss / 1024:.0f} MB, {len(found)} findings")
    named = set(found)
    missed = 0
    for issue in FAULTS:
        planted = [f for f in os.listdir(os.path.join(a.folder, "planted")) if f.startswith(issue)]
        right = sum((issue, f) in named for f in planted)
        missed += len(planted) - right
        print(f"  {issue}: {right} of {len(planted)} planted files named, "
              f"{sum(i == issue for i, _ in found)} findings in all")
    sys.exit(missed > 0)


def main():
    p = argparse.ArgumentParser()
    verbs = p.add_subparsers(dest="verb", required=True)
    v = verbs.add_parser("make")
    v.add_argument("pictures")
    v.add_argument("folder")
    v.add_argument("--files", type=int, default=100000)
    v.add_argument("--planted", type=int, default=50)
    v = verbs.add_parser("measure")
    v.add_argument("folder")
    v.add_argument("--program", default="./sslrun")
    a = p.parse_args()
    make(a) if a.verb == "make" else measure(a)


main()
