#!/bin/sh
# Tries the packages of DIR on a system that has nothing else, the smallest root that debootstrap makes: first sslrun
# alone, then the library and the Python module too. Needs root. DIR/root.tar keeps the empty root for the next call.
# usage: package_root.sh DIR
set -e
root=$1/root
mirror=${MIRROR:-http://deb.debian.org/debian}
suite=$(. /etc/os-release; echo "${SUITE:-$VERSION_CODENAME}")
clean() { umount "$root/proc" 2>/dev/null || true; rm -rf "$root"; }
trap clean EXIT
clean
if [ ! -s "$1/root.tar" ]; then
    debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$1/debootstrap.log" || { tail "$1/debootstrap.log"; exit 1; }
    tar -c -C "$root" . >"$1/root.tar"
else
    mkdir "$root" && tar -x -C "$root" -f "$1/root.tar"
fi
mount -t proc proc "$root/proc"
cp "$1"/*.deb debian/tests/smoke "$root/tmp"
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
# Container images may exclude manual pages by a setting of dpkg; a root of minbase keeps them.
inside sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends man-db /tmp/sslrun_*.deb' >"$1/install.log" 2>&1 ||
    { tail "$1/install.log"; exit 1; }
inside env SMOKE=program sh /tmp/smoke
inside sh -c 'apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config /tmp/libsslrun0_*.deb /tmp/libsslrun-dev_*.deb \
    /tmp/python3-sslrun_*.deb' >>"$1/install.log" 2>&1 || { tail "$1/install.log"; exit 1; }
inside sh /tmp/smoke
inside sh -c 'apt-get -qq purge -y sslrun libsslrun0 && ! ls /usr/bin/sslrun /usr/share/sslrun 2>/dev/null' >>"$1/install.log" 2>&1 ||
    { echo "check-deb: something stays behind"; exit 1; }
echo "check-deb: ok"
