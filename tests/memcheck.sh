#!/bin/sh
# Runs suites under valgrind's memcheck, each in a process of its own, as many at a time as there are cores. Prints a line
# per suite with its seconds, and the errors of each suite that has some.
# usage: memcheck.sh RUN-TESTS SUITE...
# ORIGINS=yes names the allocation of uninitialised memory. MEMCHECK_SECONDS (1500) ends a suite that takes longer.
supp=$(dirname "$0")/memcheck.supp
if [ "$1" = --one ]; then
    began=$(date +%s)
    logs=$(mktemp -d)
    timeout "${MEMCHECK_SECONDS:-1500}" valgrind --quiet --log-file="$logs/%p" --error-exitcode=99 --num-callers=20 \
        --track-origins="${ORIGINS:-no}" --leak-check=no --suppressions="$supp" "$2" -j1 "$3" >"$logs/said" 2>&1
    code=$?
    # Children that a suite forks write logs of their own, and their exit codes may be lost.
    errors=$(cat "$logs"/[0-9]* 2>/dev/null | grep -c '^==[0-9]*== [A-Z]')
    [ "$code" -ne 0 ] || [ "$errors" -eq 0 ] || code=99
    [ "$code" -ne 124 ] || echo "$3: not done after ${MEMCHECK_SECONDS:-1500} s"
    [ "$code" -eq 0 ] || { cat "$logs"/[0-9]* 2>/dev/null; grep -v '^\[ *\(RUN\|OK\|=*\|-*\|PASSED\) *\]' "$logs/said" | tail -40; }
    echo "$3: $(tail -1 "$logs/said"), $(($(date +%s) - began)) s"
    rm -r "$logs"
    exit $code
fi
tests=$1
shift
# Under valgrind the program cannot start itself again, so it is given the settings that it would choose. Threads take turns
# there, and waiting threads would take the time of others.
export OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
# libjpeg-turbo's vector code computes the last column of a row together with bytes after it, and valgrind takes that column
# for uninitialised. Its pixels are the same for any contents of new memory (valgrind --malloc-fill), and those of its C code.
export JSIMD_FORCENONE=1
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$tests" &&
    echo "memcheck: all $# suites pass" || { echo "memcheck: some suites failed"; exit 1; }
