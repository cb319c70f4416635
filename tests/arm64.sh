#!/bin/sh
# Runs suites of an arm64 test program under qemu-user, each in a process of its own, as many at a time as there are
# cores. Prints a line per suite with its seconds, and what failed.
# usage: arm64.sh RUN-TESTS SUITE...    the suites on a processor with all extensions that qemu knows
# QEMU_CPU=NAME emulates another processor (cortex-a57 has no BF16); ARM_SECONDS (3000) ends a suite that takes longer.
if [ "$1" = --one ]; then
    began=$(date +%s)
    log=$(mktemp)
    timeout "${ARM_SECONDS:-3000}" qemu-aarch64 "$2" -j1 "$3" >"$log" 2>&1
    code=$?
    [ $code -eq 0 ] || grep -v '^\[ *\(RUN\|OK\|=*\|-*\|PASSED\) *\]' "$log" | tail -40
    [ $code -ne 124 ] || echo "$3: not done after ${ARM_SECONDS:-3000} s"
    echo "$3: $(tail -1 "$log"), $(($(date +%s) - began)) s"
    rm -f "$log"
    exit $code
fi
# Suites that start the program find a script next to the test program that starts it under qemu-user, and those that read
# what fuzzers found find it there, too.
build=$(cd "$(dirname "$1")" && pwd) tests=$build/emulated/run-tests
shift
mkdir -p "$build/emulated" && ln -f "$build/run-tests" "$tests" && ln -sfn ../seeds "$build/emulated/seeds"
printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$build/sslrun" >"$build/emulated/sslrun.new"
chmod +x "$build/emulated/sslrun.new" && mv "$build/emulated/sslrun.new" "$build/emulated/sslrun"
# Under emulation the program cannot start itself again, so it is given the settings that it would choose. Waiting threads
# sleep: they would take the emulated time of others. The default processor checks return addresses by a cheap hash.
export QEMU_CPU="${QEMU_CPU:-max,pauth-impdef=on}" OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$tests" &&
    echo "arm64 (${QEMU_CPU%%,*}): all $# suites pass" || { echo "arm64 (${QEMU_CPU%%,*}): some suites failed"; exit 1; }
