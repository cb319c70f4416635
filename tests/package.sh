#!/bin/sh
# Builds Debian packages of the files under version control, in their present state, in DIR/sslrun, and leaves them in
# DIR.
# usage: package.sh DIR
set -e
mkdir -p "$1"
rm -rf "$1"/sslrun "$1"/*.deb "$1"/*.changes "$1"/*.buildinfo
mkdir "$1/sslrun"
git ls-files -z | tar -c --null -T - | tar -x -C "$1/sslrun"
(cd "$1/sslrun" && dpkg-buildpackage -us -uc -b >../log 2>&1) || { tail -30 "$1/log"; exit 1; }
(cd "$1/sslrun" && tests/hardening.sh debian/sslrun/usr/bin/sslrun debian/libsslrun0/usr/lib/*/libsslrun.so.0)
lintian --tag-display-limit 0 --fail-on error --allow-root "$1"/*.changes
ls -s --block-size=K "$1"/*.deb
echo "deb: ok"
