#!/bin/sh
# Builds Debian packages of the files under version control, in their present state, in DIR/sslrun, and leaves them in
# DIR.
# usage: package.sh DIR                 packages of this machine's architecture
#        package.sh DIR ARCHITECTURE    those of another one, without python3-sslrun, which is the same for all; the program
#                                       of the package is tried under qemu-user
set -e
kind=-b
if [ -n "$2" ]; then
    kind="-B -a $2 -Pcross,nocheck"
    export DEB_BUILD_OPTIONS="nocheck${DEB_BUILD_OPTIONS:+ $DEB_BUILD_OPTIONS}"
fi
mkdir -p "$1"
rm -rf "$1"/sslrun "$1"/*.deb "$1"/*.changes "$1"/*.buildinfo
mkdir "$1/sslrun"
git ls-files -z | tar -c --null -T - | tar -x -C "$1/sslrun"
(cd "$1/sslrun" && dpkg-buildpackage -us -uc $kind >../log 2>&1) || { tail -30 "$1/log"; exit 1; }
(cd "$1/sslrun" && tests/hardening.sh debian/sslrun/usr/bin/sslrun debian/libsslrun0/usr/lib/*/libsslrun.so.0)
lintian --tag-display-limit 0 --fail-on error --allow-root "$1"/*.changes
if [ -n "$2" ]; then
    at=$(realpath "$1")/tree
    rm -rf "$at"
    dpkg -x "$1"/sslrun_*.deb "$at"
    dpkg -x "$1"/libsslrun0_*.deb "$at"
    cpu=$(readelf -h "$at/usr/bin/sslrun" | awk '/Machine:/ { print tolower($2) }')
    mkdir "$at/bin"
    # An emulated program cannot start itself again with the settings that it would choose.
    export OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
    printf '#!/bin/sh\nexec qemu-%s "%s" "$@"\n' "$cpu" "$at/usr/bin/sslrun" >"$at/bin/sslrun"
    chmod +x "$at/bin/sslrun"
    PATH="$at/bin:$PATH" SMOKE=unpacked sh debian/tests/smoke
fi
ls -s --block-size=K "$1"/*.deb
echo "deb: ok"
