#!/bin/sh
# Compares many small images in tar shards with the same images in a folder: start-up, images per second warm and cold,
# memory.
#
#   bench/shards.sh [IMAGES] [FOLDER]   default 1000000 in a new folder below /tmp; some 4.5 KB of disk per image
#
# The images are 32 x 32 PNGs in 100 class folders. For cold measurements root drops the whole page cache, other users
# that of the files.
cd "$(dirname "$0")/.." || exit 1
n=${1:-1000000} top=${2:-$(mktemp -d)}
[ "$2" ] || trap 'rm -rf "$top"' EXIT
/usr/bin/python3 - "$n" "$top/folder" <<'P' || exit 1
import os, random, struct, sys, zlib
n, top = int(sys.argv[1]), sys.argv[2]
def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
def png(r):
    # Smooth noise, so that files are as small as photos of that size.
    base = [r.randrange(200) for _ in range(3)]
    rows = b"".join(b"\0" + bytes(base[c % 3] + r.randrange(8) for c in range(96)) for _ in range(32))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")
r = random.Random(0)
some = [png(r) for _ in range(1000)]
for c in range(100):
    os.makedirs(f"{top}/c{c:03d}", exist_ok=True)
    for i in range(c, n, 100):
        path = f"{top}/c{c:03d}/{i:08d}.png"
        if not os.path.exists(path):
            with open(path, "wb") as f:
                f.write(some[r.randrange(1000)])
P
cold() { sync; { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null || /usr/bin/python3 - "$1" <<'P'
import os, sys
for top, _, names in os.walk(sys.argv[1]):
    for name in names:
        fd = os.open(os.path.join(top, name), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
P
}
data() { # FOLDER STEPS: prints seconds of the whole program and its peak memory
    /usr/bin/time -o "$top/time" -f "%e %M" ./sslrun bench configs/pretrain/supervised/supervised_8gpu_resnet.yaml \
        "DATA.TRAIN.DATA_SOURCES=[]" "DATA.TRAIN.DATA_PATHS=[$1]" DATA.TRAIN.BATCHSIZE_PER_REPLICA=256 \
        "DATA.TRAIN.TRANSFORMS=[{name: CenterCrop, size: 32}, {name: ToTensor}]" \
        --data --warmup 0 --steps "$2" >/dev/null 2>"$top/errors" || { cat "$top/errors" >&2; exit 1; }
    cat "$top/time"
}
steps=$((n / 256 > 200 ? 200 : n / 256))
rm -rf "$top/shards"
/usr/bin/time -f "pack: %e s, peak %M KB" ./sslrun pack "$top/folder" --out "$top/shards"
for what in folder shards; do
    for state in cold warm; do
        [ $state = cold ] && cold "$top/$what"
        one=$(data "$top/$what" 1) || exit 1
        [ $state = cold ] && cold "$top/$what"
        all=$(data "$top/$what" $steps) || exit 1
        echo "$one $all" | awk -v what="$what $state" -v images=$(((steps - 1) * 256)) '{
            printf "%s: first batch after %.2f s, then %.0f images/s of one thread, peak %.0f MB\n", what, $1, images / ($3 - $1), $4 / 1024 }'
    done
done
