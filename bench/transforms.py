#!/usr/bin/python3
"""The SwAV transforms on 500x375 images: PIL and torchvision compared with `sslrun bench --data`, one core each, in turn.

    bench/transforms.py [ROUNDS] [FORMAT ...]        FORMAT: jpg (default), png, webp. Needs python3-torchvision, python3-sklearn (two real photographs), ./sslrun

Both programs read the same files and apply ImgPilToMultiCrop 2x224 + 6x96, RandomHorizontalFlip, ImgPilColorDistortion,
ImgPilGaussianBlur, ToTensor and Normalize, as configs/pretrain/swav/swav_resnet50.yaml does. The images are 24 windows of
500x375 from scikit-learn's china.jpg and flower.jpg (640x427); JPEG and WebP have quality 92. Figures are images per
second of processor time. Each round measures every program once; the medians over the rounds are printed.
"""
import json, os, random, statistics, subprocess, sys, tempfile, time

os.environ["OMP_NUM_THREADS"] = "1"
from need_peer import need_peer

need_peer("torch", "torchvision", "sklearn", "PIL")
import sklearn.datasets, torch
from PIL import Image, ImageFilter
from torchvision import transforms as T

torch.set_num_threads(1)
CONFIG = "configs/pretrain/swav/swav_resnet50.yaml"
BATCH = 24


def make_images(folder, kind):
    where = os.path.join(os.path.dirname(sklearn.datasets.__file__), "images")
    for name in ("china", "flower"):
        photo = Image.open(os.path.join(where, name + ".jpg")).convert("RGB")
        for i in range(BATCH // 2):
            x, y = i % 4 * 45, i // 4 * 26
            photo.crop((x, y, x + 500, y + 375)).save(os.path.join(folder, f"{name}{i:02}.{kind}"), quality=92)


class Blur:
    def __call__(self, image):
        if random.random() >= 0.5:
            return image
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


def pipeline():
    jitter = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    rest = [T.RandomHorizontalFlip(0.5), jitter, T.RandomGrayscale(p=0.2), Blur(), T.ToTensor(),
            T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    crops = [T.RandomResizedCrop(224, scale=(0.14, 1.0))] * 2 + [T.RandomResizedCrop(96, scale=(0.05, 0.14))] * 6
    chains = [T.Compose([crop] + rest) for crop in crops]
    return lambda image: [chain(image) for chain in chains]


def run_pil(paths, views):
    began = time.process_time()
    for path in paths:
        with open(path, "rb") as f:
            views(Image.open(f).convert("RGB"))
    return len(paths) / (time.process_time() - began)


def run_ours(folder, pixels):
    out = subprocess.check_output(["./sslrun", "bench", CONFIG, f"DATA.TRAIN.DATA_PATHS=[{folder}]",
                                   f"DATA.TRAIN.BATCHSIZE_PER_REPLICA={BATCH}", f"DATA.TRAIN.PIXELS={pixels}",
                                   "--data", "--json", "--steps", "9", "--warmup", "2"], stderr=subprocess.DEVNULL)
    return json.loads(out)["images_per_s"]


def compare(kind, rounds, views):
    with tempfile.TemporaryDirectory() as folder:
        make_images(folder, kind)
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        figures = {"PIL/torchvision": [], "exact": [], "fast": []}
        run_pil(paths, views)
        for _ in range(rounds):
            figures["PIL/torchvision"].append(run_pil(paths, views))
            for pixels in ("exact", "fast"):
                figures[pixels].append(run_ours(folder, pixels))
        size = sum(map(os.path.getsize, paths)) / len(paths)
    print(f"{kind}, {size / 1000:.0f} KB an image")
    peer = statistics.median(figures["PIL/torchvision"])
    for name, values in figures.items():
        median = statistics.median(values)
        print(f"{name:16} {median:7.1f} images/s a core, {median / peer:5.2f} x PIL   "
              f"({min(values):.1f} .. {max(values):.1f} in {rounds} rounds)", flush=True)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(subprocess.check_output(["./sslrun", "--version"], text=True).strip().replace("\n", ", ") + f"; Pillow {Image.__version__}")
    views = pipeline()
    for kind in sys.argv[2:] or ["jpg"]:
        compare(kind, rounds, views)


main()
