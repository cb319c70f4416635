#!/bin/sh
# Installs missing Debian packages with one apt-get command, which it prints first. Where it may not install, it prints
# what is needed; it succeeds if everything required is there.
# usage: deps.sh REQUIRED... [-- RECOMMENDED...]
#        deps.sh --lacks [PACKAGE...]    prints one line on what a build lacks; nothing if it lacks nothing

# Sets `words` to the use of a package, and `probe` to a command that succeeds if that part exists even without the
# package.
about() {
    words=$1 probe="command -v $1"
    case $1 in
    gcc) words="a C17 compiler" probe="command -v ${CC:-cc}" ;;
    libc6-dev) words="the C library's headers" probe="links stdio.h c" ;;
    libopenblas-dev) words="OpenBLAS with cblas.h" probe="links cblas.h openblas" ;;
    liblinear-dev) words="LIBLINEAR" probe="links linear.h linear" ;;
    libyaml-dev) words="libyaml" probe="links yaml.h yaml" ;;
    libstb-dev) words="the stb headers" probe="links stb/stb_image.h c" ;;
    zlib1g-dev) words="zlib" probe="links zlib.h z" ;;
    libjansson-dev) words="jansson" probe="links jansson.h jansson" ;;
    libcmocka-dev) words="cmocka (tests)" probe="links cmocka.h cmocka" ;;
    dataset-fashion-mnist) words="Fashion-MNIST (make run)" probe="test -d /usr/share/datasets/fashion-mnist" ;;
    libturbojpeg0-dev) words="fast JPEG decoding" probe="links turbojpeg.h turbojpeg" ;;
    libwebp-dev) words="WebP images" probe="links webp/decode.h webp" ;;
    libtiff-dev) words="TIFF images" probe="links tiffio.h tiff" ;;
    libheif-dev) words="HEIC and AVIF images" probe="links libheif/heif.h heif" ;;
    libseccomp-dev) words="a sandbox for decoders" probe="links seccomp.h seccomp" ;;
    libmicrohttpd-dev) words="the live page (sslrun web)" probe="links microhttpd.h microhttpd" ;;
    libopenmpi-dev) words="training by several processes" probe="${PKG_CONFIG:-pkg-config} --exists ompi" ;;
    openmpi-bin) words="mpirun" probe="command -v mpirun" ;;
    afl++) words="AFL++ (make fuzz-afl)" probe="command -v afl-fuzz" ;;
    python3-numpy) words="numpy" probe="/usr/bin/python3 -c 'import numpy'" ;;
    esac
}
links() {
    printf '#include <%s>\nint main(void) { return 0; }\n' setjmp.h stdarg.h stddef.h stdint.h stdio.h "$1" | sed '/^int/{$!d}' |
        ${CC:-cc} -x c - -l"$2" -o /dev/null
}
is_there() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed' && return
    about "$1"
    eval "$probe" >/dev/null 2>&1
}
# Prints its arguments as "words (package), ...".
in_words() {
    list=
    for p in "$@"; do about "$p"; list="$list${list:+, }$words ($p)"; done
    echo "$list"
}

if [ "$1" = --lacks ]; then
    shift
    [ $# -eq 0 ] || echo "this build goes without $(in_words "$@"); to add them, as root: apt-get install -y $*, then make"
    exit 0
fi
required= recommended= side=required
for p in "$@"; do
    if [ "$p" = -- ]; then side=recommended; elif ! is_there "$p"; then eval "$side=\"\$$side $p\""; fi
done
[ -z "$required$recommended" ] && exit 0
run=
if ! command -v apt-get >/dev/null; then
    advice="the names in brackets are Debian's, and there is no apt-get here"
elif [ "$(id -u)" != 0 ] && ! { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; then
    advice="as root: apt-get install -y$required$recommended"
else
    advice=
    [ "$(id -u)" = 0 ] || run=sudo
fi
if [ -n "$advice" ]; then
    [ -z "$required" ] || { echo "missing: $(in_words $required); $advice" >&2; exit 1; }
    echo "going on without $(in_words $recommended); $advice" >&2
    exit 0
fi
apt_get() { $run env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" >/dev/null; }
install() { apt_get install -y --no-install-recommends "$@"; }
echo "installing: apt-get install -y --no-install-recommends$required$recommended"
ls "${APT_LISTS:-/var/lib/apt/lists}"/*_Packages* >/dev/null 2>&1 || apt_get update
install $required $recommended && exit 0
# The package lists may be old, and a distribution may not have a recommended package.
apt_get update
install $required $recommended && exit 0
[ -z "$required" ] || install $required || {
    echo "apt-get failed; as root please run: apt-get update && apt-get install -y$required" >&2
    exit 1
}
for p in $recommended; do
    install "$p" || echo "going on without $(in_words "$p"): apt-get could not install it" >&2
done
exit 0
