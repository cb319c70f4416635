#!/bin/sh
# Tests that a plugin is one file: adds one of each kind (tests/toy) to a copy of the tree, builds it from the existing
# objects, runs the contract tests, which name no plugin, and trains with all of them. No other file changes.
set -e
cd "$(dirname "$0")/.."
build=${BUILD:-build}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git ls-files -z | grep -zvE '^tests/vissl/configs/' | xargs -0 cp -p --parents -t "$tree"
find "$build" \( -name '*.o' -o -name '*.d' -o -name '*.def' -o -name 'build.h' -o -path '*/gen/flags' \) -not -path '*/asan/*' -not -path '*/fuzz/*' \
    -print0 | xargs -0 cp -p --parents -t "$tree"
cd "$tree"
(cd tests/toy && find . -name '*.c') | while read -r f; do cp "tests/toy/$f" "$f"; touch "$f"; done
# The loss of the tutorial compiles and passes the contract test too.
awk '/^```c$/ { f = 1; next } /^```$/ { f = 0 } f' docs/design/extending.md >losses/my_loss.c
make --no-print-directory BUILD="$build" STRICT=-Werror sslrun "$build/run-tests" >log 2>&1 ||
    { grep -E 'error|undefined' log | head; exit 1; }
SR_TEST_OP=toy_square "$build/run-tests" op op_hooks >log 2>&1 || { grep -aE 'FAILED|ERROR' log | head; exit 1; }
"$build/run-tests" trunk head loss augment dataset collators optim schedule meter >log 2>&1 || { grep -aE 'FAILED|ERROR' log | head; exit 1; }
for name in toy_square toy_trunk toy_head toy_loss my_loss ToyNegative toy_checks toy_collate toy_sign toy_halves toy_meter; do
    ./sslrun list all | grep -q "  $name " || { echo "toy: sslrun list does not know $name"; exit 1; }
done
./sslrun --help | grep -q "^  toygreet " || { echo "toy: no help"; exit 1; }
for form in "man toygreet" verbs bash zsh fish; do
    # shellcheck disable=SC2086  # two words
    ./sslrun manual $form | grep -q toygreet && ./sslrun manual $form | tr -d '\\' | grep -q toy-loud ||
        { echo "toy: manual $form does not know the verb"; exit 1; }
done
./sslrun tests/toy/toy.yaml CHECKPOINT.DIR="$tree/run" >log 2>&1 || { cat log; exit 1; }
grep -q '"train_toy_meter' run/metrics.json || { echo "toy: the meter said nothing"; exit 1; }
echo "toy: ok"
