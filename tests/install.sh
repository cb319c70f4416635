#!/bin/sh
# Checks that the result of `make install` works on its own: the program finds its configurations from any folder, the
# licence is there, and a program links with the output of `pkg-config --libs sslrun`. usage: install.sh MAKE CC
set -e
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
"$1" --no-print-directory -s install PREFIX="$to"
test -s "$to/share/doc/sslrun/LICENSE" && test -s "$to/share/doc/sslrun/docs/guide/first-hour.md" && test -s "$to/share/sslrun/configs/swav.yaml"
zcat "$to/share/man/man1/sslrun.1.gz" | grep -q '^\.TH SSLRUN 1' || { echo "install: no manual page"; exit 1; }
zcat "$to/share/man/man1/sslrun-knn.1.gz" | grep -q '^\.SH EXAMPLES' || { echo "install: no manual page of knn"; exit 1; }
bash -n "$to/share/bash-completion/completions/sslrun" && test -s "$to/share/zsh/vendor-completions/_sslrun" &&
    test -s "$to/share/fish/vendor_completions.d/sslrun.fish"
for name in configs/swav.yaml swav configs/photos.yaml pretrain/rotnet/rotnet_8gpu_resnet; do
    (cd / && "$to/bin/sslrun" check "$name" 2>/dev/null | grep -q "trunk") || { echo "install: $name is not found"; exit 1; }
done
[ "$(readelf -S "$to/bin/sslrun" | grep -c debug_info)" = 0 ] || { echo "install: the program has symbols for debuggers"; exit 1; }
tests/hardening.sh "$to/bin/sslrun" "$to/lib/libsslrun.so.0" "$to/lib/libsslrun.a"
export PKG_CONFIG_PATH="$to/lib/pkgconfig"
# shellcheck disable=SC2046  # several words
"$2" -std=c17 -o "$to/features" examples/features.c $(pkg-config --cflags --libs sslrun)
(cd / && LD_LIBRARY_PATH="$to/lib" "$to/features" >"$to/shared")
readelf -d "$to/lib/libsslrun.so.0" | grep -q 'SONAME.*\[libsslrun\.so\.0\]' || { echo "install: another soname"; exit 1; }
readelf -d "$to/features" | grep -q 'NEEDED.*\[libsslrun\.so\.0\]' || { echo "install: not linked by the soname"; exit 1; }
# shellcheck disable=SC2046
"$2" -std=c17 -o "$to/features" examples/features.c $(pkg-config --cflags sslrun) "$to/lib/libsslrun.a" \
    $(pkg-config --static --libs sslrun | sed 's/-lsslrun //')
(cd / && "$to/features" >"$to/static")
cmp "$to/shared" "$to/static"
if command -v g++ >/dev/null; then
    echo '#include <sslrun.h>' | g++ -x c++ -Wall -Werror -fsyntax-only -I"$to/include" -
fi
if /usr/bin/python3 -c "import numpy" 2>/dev/null; then
    (cd "$to/share/sslrun/python" && LD_LIBRARY_PATH="$to/lib" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c \
        "import sslrun; print(len(sslrun.Model('resnet18', 1, 64, 64).nodes()))") | grep -qx 70 ||
        { echo "install: Python finds no library"; exit 1; }
fi
echo "install: ok"
