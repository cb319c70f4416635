#!/bin/sh
# Tests tests/layers.sh: in a small tree it reports each kind of wrong file, and without one it succeeds.
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tests" && cp "$here/layers.awk" "$here/plugin_names.awk" "$tree/tests"
for d in base formats kernels/conv graph measure trunks heads losses data library folder pages cli trainer/schedules trainer/optim \
    trainer/config trainer/data trainer/model trainer/features trainer/run trainer/eval trainer/bench; do
    mkdir -p "$tree/$d" && echo '// nothing' >"$tree/$d/empty.h"
done
fails=0
check() { # file, its text, expected report
    printf '%b' "$2" >"$tree/$1"
    "$here/layers.sh" "$tree" 2>&1 | grep -q "$3" || { echo "test_layers: $1 was not reported ($3)"; fails=1; }
    rm -f "$tree/$1"
}
"$here/layers.sh" "$tree" | grep -q "layers: ok" || { echo "test_layers: a clean tree fails"; fails=1; }
check base/a.c '#include "graph/empty.h"\n' "base/a.c includes graph/empty.h"
check trainer/optim/a.c '#include "trainer/run/empty.h"\n' "trainer/optim/a.c includes trainer/run/empty.h"
check trainer/features/a.c '#include "trainer/run/empty.h"\n' "trainer/features/a.c includes trainer/run/empty.h"
check trainer/model/a.c '#include "trainer/features/empty.h"\n' "trainer/model/a.c includes trainer/features/empty.h"
check pages/a.c '#include "cli/empty.h"\n' "pages/a.c includes cli/empty.h"
check data/a.c '#include "formats/empty.h"\n' "data/a.c includes formats/empty.h"
printf '#include "graph/b.h"\n' >"$tree/graph/a.h"
check graph/b.c '#include "graph/a.h"\n' "circle: graph/a.h includes graph/b.h"
rm -f "$tree/graph/a.h"
printf 'typedef struct {\n    int a;\n} SrTwice;\n' >"$tree/graph/a.h"
check heads/b.h 'typedef struct {\n    int a;\n} SrTwice;\n' "type SrTwice"
printf 'const SrTrunk sr_trunk_some = {\n    .name = "some",\n};\n' >"$tree/trunks/some.c"
check losses/a.c 'return strcmp(name, "some") == 0;\n' 'compares with "some"'
rm -f "$tree/trunks/some.c"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo '// nothing' >"$tree/trainer/file$i.h"; done
check trainer/a.c '// nothing\n' "trainer/ has 14 files at its top"
rm -f "$tree"/trainer/file*.h
check base/a.c 'double x = strtod("0.5", NULL);\n' "numbers are parsed and printed by base/text/number.h"
check pages/a.c 'sr_plan_compile(graph, &options, &plan);\n' "pages/a.c: compiles a plan"
echo 'int sr_some(int a);' >"$tree/graph/a.h"
check graph/b.c 'int sr_some(int a) {\n' "graph/b.c: implements functions of graph/a.h"
rm -f "$tree/graph/a.h"
check graph/long.c "$(seq -f '// %g\n' 601 | tr -d '\n')" "graph/long.c has 601 lines"
for i in $(seq 40); do echo '// nothing' >"$tree/heads/file$i.h"; done
check heads/a.c '// nothing\n' "heads has 42 files at one level"
rm -f "$tree"/heads/file*.h
mkdir -p "$tree/data/augment/shared"
check data/augment/shared/a.c '#include "graph/empty.h"\n' "data/augment/shared/a.c includes graph/empty.h"
[ $fails = 0 ] && echo "test_layers: ok"
exit $fails
