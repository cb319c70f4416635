#!/bin/sh
# Installs the Debian packages named as arguments that are missing; where that may not be done, prints the line to paste.
missing=
for p in "$@"; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
echo "installing:$missing"
if [ "$(id -u)" = 0 ]; then run=; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then run=sudo; else
    echo "missing packages; as root please run:  apt-get install -y$missing" >&2
    exit 1
fi
{ $run apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing || { $run apt-get update && $run apt-get install -y --no-install-recommends $missing; }; } >/dev/null || {
    echo "apt-get failed; please run:  apt-get update && apt-get install -y$missing" >&2
    exit 1
}
