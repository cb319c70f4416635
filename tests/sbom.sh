#!/bin/bash
# Prints the software bill of materials of a built program as CycloneDX 1.5: the program, and each Debian package whose
# shared library it loads, with version, licences and package URL. Files that were compiled or linked into the program
# follow it: headers with code, and the archives of a static program.
# usage: sbom.sh PROGRAM VERSION [FILE...]
set -eu -o pipefail
program=$1 version=$2
shift 2
files=$({ ldd "$program" 2>/dev/null || true; } | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
files="$files $*"
# The licences are those that the package's copyright file names where it has Debian's machine-readable form.
licences() {
    file=/usr/share/doc/$1/copyright
    if head -1 "$file" 2>/dev/null | grep -q '^Format:'; then
        sed -n 's/^License: *\(.\)/\1/p' "$file"
    else
        echo "see $file"
    fi | sort -u | awk '{ gsub(/[\\"]/, ""); printf "%s{\"license\": {\"name\": \"%s\"}}", (NR > 1 ? ", " : ""), $0 }'
}
# Debian knows some libraries by their path below /usr alone.
owner() { dpkg-query -S "$(readlink -f "$1")" 2>/dev/null || dpkg-query -S "/usr$(readlink -f "$1")" 2>/dev/null || dpkg-query -S "$1"; }
echo '{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,'
echo " \"metadata\": {\"component\": {\"type\": \"application\", \"name\": \"sslrun\", \"version\": \"$version\","
echo "  \"licenses\": [{\"license\": {\"id\": \"MIT\"}}], \"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"$(sha256sum "$program" | cut -d' ' -f1)\"}]}},"
echo ' "components": ['
comma=
for package in $(for file in $files; do owner "$file" | cut -d' ' -f1 | sed 's/:$//'; done | sort -u); do
    name=${package%%:*}
    printf '%s' "$comma"
    dpkg-query -W -f '  {"type": "library", "name": "'"$name"'", "version": "${Version}", "purl": "pkg:deb/debian/'"$name"'@${Version}?arch=${Architecture}",' "$package"
    printf '\n   "licenses": [%s]}' "$(licences "$name")"
    comma=$',\n'
done
printf '\n ]}\n'
