#!/bin/bash
# Runs continuous integration job by job and prints a table of the jobs, their minutes and results at the end.
#     tests/ci.sh              every job (make ci-night; some hours on two cores)
#     tests/ci.sh JOB ...      only these; .ci/run names those that fit into 20 minutes
# The exit code is 0 if every job passed and 1 otherwise. A failed job does not stop the others. CI_FUZZ_SECONDS (60) is
# the time of each fuzzer and of the web server's fuzzer.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${CI_FUZZ_SECONDS:-60}
table=$(mktemp) || exit 1
trap 'rm -f "$table"' EXIT

# Each job is a function. Its comment says what it checks that the others do not.

# Comments, formatting, and the order of rooms and includes.
job_style() { make layers check-format prose; }
# The build and all tests with the golden cases, as a user runs them.
job_gcc() { make test; }
# An installed tree works from any folder.
job_install() { make check-install; }
# The program as one file passes the tests of its verbs.
job_static() { make check-static; }
# Plugins of each kind can be added to a copy of the tree, one file each.
job_toy() { make toy; }
# A second compiler builds without warnings, and its vector code computes the same numbers.
job_clang() {
    tests/deps.sh clang libomp-14-dev &&
        make BUILD=build/clang CC=clang STRICT=-Werror build/clang/run-tests && build/clang/run-tests
}
# The rooms that read what strangers give, and those below them, have no memory errors and no undefined behaviour.
job_sanitizers() { make asan ONLY="$(tests/suites.sh base formats data graph heads measure)"; }
# The same for all tests.
job_sanitizers_all() { make asan; }
# Three analysers of the source have no finding without an explanation.
job_analyze() { make analyze; }
# The rooms that read what strangers give use no uninitialised memory.
job_memcheck() { make memcheck; }
# The loader, the web server and the machines of a plan have no data races.
job_threads() { make tsan; }
# Each fuzzer runs on its corpus.
job_fuzz() { tests/deps.sh clang libclang-rt-14-dev afl++ && make fuzz fuzz-afl FUZZ_SECONDS="$seconds"; }
# Requests drawn by a grammar do not break the live page.
job_web() { make web-fuzz WEB_FUZZ_SECONDS="$seconds"; }
# Features and losses agree with PyTorch and torchvision.
job_parity() { tests/deps.sh python3-torch python3-torchvision && make parity; }
# Every method gives the same bits on 1, 2 and 4 ranks, also after kills, and in histories of simulated ranks.
job_ranks() { make ranks-long && make histories HISTORIES=2000; }
# The Debian packages work in a root that has nothing else.
job_package() { make check-deb; }
# The levels of aarch64 compute the numbers of the references, under emulation.
job_arm64() { make check-arm64; }
# Two builds in two folders are equal byte by byte.
job_reproducible() { make check-reproducible; }

jobs=${*:-style gcc install static toy analyze clang sanitizers sanitizers_all memcheck threads fuzz web parity ranks package arm64 reproducible}
failed=0
for job in $jobs; do
    if ! declare -F "job_$job" >/dev/null; then
        echo "ci: no job '$job'; the jobs are: $(declare -F | sed -n 's/^declare -f job_//p' | tr '\n' ' ')" >&2
        exit 2
    fi
done
for job in $jobs; do
    echo "== $job"
    start=$SECONDS
    if "job_$job"; then result=passed; else result=FAILED failed=1; fi
    printf '| %-10s | %7s | %s |\n' "$job" "$(awk -v s=$((SECONDS - start)) 'BEGIN { printf "%.1f", s / 60 }')" "$result" >>"$table"
done
printf '\n| job        | minutes | result |\n|---|---|---|\n'
cat "$table"
exit $failed
