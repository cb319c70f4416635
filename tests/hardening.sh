#!/bin/sh
# Fails if a built program or library lacks hardening: position independence, relocations that are read-only before the
# first instruction, a stack without execution, the stack protector and fortified calls. Objects of a static library
# must carry the notes of Intel CET; the linker drops them from programs if the system's start files have none.
# usage: hardening.sh FILE ...   (FILE: a program, a shared library, or a static library)
export LC_ALL=C
bad=0
lacks() { echo "hardening: $1 lacks $2"; bad=1; }
for file; do
    case $file in
    *.a)
        [ "$(uname -m)" = x86_64 ] || continue
        objects=$(ar t "$file" | wc -l)
        noted=$(readelf -W -n "$file" 2>/dev/null | grep -c 'x86 feature:.*IBT.*SHSTK')
        [ "$objects" -gt 0 ] && [ "$noted" = "$objects" ] || lacks "$file" "-fcf-protection in $((objects - noted)) objects"
        continue ;;
    esac
    all=$(readelf -W -h -l -d --dyn-syms "$file") || exit 1
    # A static program has no symbols for the loader; those of the linker name what is inside.
    printf '%s\n' "$all" | grep -q NEEDED || all=$(readelf -W -h -l -d -s "$file")
    has() { printf '%s\n' "$all" | grep -Eq "$1" || lacks "$file" "$2"; }
    has '^ *Type: *DYN' 'position independence (-pie)'
    has '^ *GNU_RELRO' 'read-only relocations (-z relro)'
    has 'BIND_NOW|FLAGS_1.*NOW' 'immediate binding (-z now)'
    has '^ *GNU_STACK .* RW ' 'a stack that cannot be executed'
    has '__stack_chk_fail' 'the stack protector'
    has '__[a-z]+_chk(@|$)' 'fortified calls (-D_FORTIFY_SOURCE)'
done
exit $bad
