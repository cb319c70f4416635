// Scripts for users: configs/prepare_data.sh prepares data sets, and scripts of bench/ that compare
// with other programs say how to install what is missing. Long checks find their suites.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temp_dir.h"

#define PREPARE "configs/prepare_data.sh"

static char said[1 << 14];

// Runs a shell command in the root of the tree, where $T is a folder for its files and $S the
// program. Returns its exit code; `said` holds what it printed.
static int shell(const char *dir, const char *line) {
    char whole[8192], program[4096];
    program_path(program);
    snprintf(whole, sizeof whole, "T='%s'; S='%s'; { %s; } >'%s/said' 2>&1", dir, program, line,
             dir);
    int code = system(whole);
    program_read(dir, "said", said, sizeof said);
    return WEXITSTATUS(code);
}

static void must(const char *dir, const char *line, const char *says) {
    int code = shell(dir, line);
    if (code != 0 || !strstr(said, says))
        fail_msg("%s ended with %d instead of saying \"%s\": %s", line, code, says, said);
}

static void refused(const char *dir, const char *line, int expected, const char *says) {
    int code = shell(dir, line);
    if (code != expected || !strstr(said, says))
        fail_msg("%s ended with %d instead of %d and \"%s\": %s", line, code, expected, says, said);
}

// A small archive with the form of CIFAR-10's binary version.
static void make_cifar(const char *dir) {
    must(dir,
         "mkdir $T/cifar-10-batches-bin && cd $T/cifar-10-batches-bin && "
         "for f in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do "
         "head -c $((4 * 3073)) /dev/zero >$f.bin; done && "
         "for c in airplane automobile bird cat deer dog frog horse ship truck; do echo $c; done "
         ">batches.meta.txt && cd .. && tar -czf cifar.tar.gz cifar-10-batches-bin",
         "");
}

// A wrong checksum is refused before anything is written. The keys that are printed at the end are
// those that a recipe needs.
TEST(test_cifar) {
    char dir[64];
    temp_dir_make(dir);
    make_cifar(dir);
    refused(dir, PREPARE " cifar10 $T/cifar.tar.gz $T/data", 2, "has the MD5 checksum");
    refused(dir, PREPARE " cifar10 $T/none.tar.gz $T/data", 2, "there is no file");
    refused(dir, "ls $T/data $T/data.partial", 2, "No such file");
    must(dir, PREPARE " --unchecked cifar10 $T/cifar.tar.gz $T/data",
         "cifar-10-batches-bin is ready");
    refused(dir, PREPARE " --unchecked cifar10 $T/cifar.tar.gz $T/data", 2, "exists");
    refused(dir, PREPARE " --unchecked cifar100 $T/cifar.tar.gz $T/other", 1, "cifar-100-binary");
    must(dir,
         "cp -r $T/data $T/kept; rm -r $T/data; "
         "keys=$(" PREPARE " --unchecked cifar10 $T/cifar.tar.gz $T/data | tail -n 1); "
         "$S configs/pretrain/dcl/dcl_cifar10.yaml $keys DATA.TRAIN.BATCHSIZE_PER_REPLICA=4 "
         "OPTIMIZER.num_epochs=1 CHECKPOINT.DIR=$T/run",
         "20 images");
    temp_dir_remove(dir);
}

static const char make_imagenet[] =
    "cd $T && mkdir n01440764 n01443537 && "
    "touch n01440764/n01440764_1.JPEG n01443537/n01443537_2.JPEG ILSVRC2012_val_00000001.JPEG "
    "ILSVRC2012_val_00000002.JPEG && tar -cf n01440764.tar -C n01440764 n01440764_1.JPEG && "
    "tar -cf n01443537.tar -C n01443537 n01443537_2.JPEG && "
    "tar -cf train.tar n01440764.tar n01443537.tar && "
    "tar -cf val.tar ILSVRC2012_val_00000001.JPEG ILSVRC2012_val_00000002.JPEG && "
    "printf 'ImageId,PredictionString\\nILSVRC2012_val_00000002,n01440764 1 2 3 4\\n' >part.csv && "
    "{ cat part.csv; printf 'ILSVRC2012_val_00000001,n01443537 1 2 3 4 n01443537 5 6 7 8\\n'; } "
    ">all.csv";

// Validation images are sorted into the folders of their classes; one without a class fails, and
// OUT exists only when it is whole.
TEST(test_imagenet) {
    char dir[64];
    temp_dir_make(dir);
    must(dir, make_imagenet, "");
    refused(dir, PREPARE " imagenet $T/train.tar $T/val.tar $T/all.csv $T/out", 2, "checksum");
    refused(dir, PREPARE " --unchecked imagenet $T/train.tar $T/val.tar $T/part.csv $T/out", 1,
            "names no class for ILSVRC2012_val_00000001.JPEG");
    refused(dir, "ls $T/out", 2, "No such file");
    must(dir, PREPARE " --unchecked imagenet $T/train.tar $T/val.tar $T/all.csv $T/out",
         "out/train] DATA.TEST.DATA_PATHS=[");
    must(dir, "cd $T/out && find . -type f | sort | tr '\\n' ' '",
         "./train/n01440764/n01440764_1.JPEG ./train/n01443537/n01443537_2.JPEG "
         "./val/n01440764/ILSVRC2012_val_00000002.JPEG "
         "./val/n01443537/ILSVRC2012_val_00000001.JPEG ");
    temp_dir_remove(dir);
}

TEST(test_fashion_mnist) {
    char dir[64];
    if (!sr_file_exists("/usr/share/datasets/fashion-mnist"))
        SKIP("Fashion-MNIST is not installed", "apt-get install dataset-fashion-mnist");
    temp_dir_make(dir);
    must(dir, PREPARE " fashion-mnist /usr/share/datasets/fashion-mnist", "is ready");
    refused(dir, PREPARE " fashion-mnist $T", 2, "there is no file");
    refused(dir, PREPARE, 2, "cifar-10-binary.tar.gz");
    temp_dir_remove(dir);
}

// python3 -S sees none of Debian's modules, as on a machine without PyTorch.
TEST(test_peers) {
    static const char *const scripts[] = {"attention",       "ddp",        "frozen_features",
                                          "frozen_runtimes", "torch_step", "torch_features",
                                          "transforms"};
    char dir[64], line[256];
    if (!sr_file_exists("/usr/bin/python3"))
        SKIP("there is no /usr/bin/python3", "apt-get install python3");
    temp_dir_make(dir);
    for (int i = 0; i < SR_COUNT(scripts); i++) {
        snprintf(line, sizeof line, "/usr/bin/python3 -B -S bench/%s.py", scripts[i]);
        refused(dir, line, 2, "install the peers: apt-get install python3-torch");
        CHECK(strchr(said, '\n') == said + strlen(said) - 1); // one line
    }
    refused(dir, ". bench/peer_env.sh; need_peer no_such_module", 2, "apt-get install");
    temp_dir_remove(dir);
}

// A chart of the documents shows what its table says: `make charts` draws it from the page.
TEST(test_charts) {
    char dir[64];
    temp_dir_make(dir);
    must(dir,
         "awk -v chart=steps -f bench/charts.awk docs/reference/performance.md | "
         "cmp - docs/pictures/steps.svg && "
         "awk -v chart=methods -f bench/charts.awk docs/reference/results.md | "
         "cmp - docs/pictures/methods.svg",
         "");
    refused(dir, "echo | awk -v chart=steps -f bench/charts.awk", 1, "no rows");
    temp_dir_remove(dir);
}

// `make` finds the suites of the rooms that run under valgrind and under emulation.
TEST(test_suites_of_rooms) {
    char dir[64];
    temp_dir_make(dir);
    must(dir, "make -n memcheck | grep 'tests/memcheck[.]sh .* weights_files '", " decode ");
    must(dir, "make -n check-arm64 | grep 'tests/arm64[.]sh .* weights_files '", " conv ");
    // A line end inside ONLY would cut the commands of `make` apart.
    must(dir,
         "make -n asan ONLY=\"$(tests/suites.sh base kernels)\" | grep 'asan/run-tests arena '",
         " conv ");
    refused(dir, "tests/suites.sh no_such_room", 2, "no_such_room");
    temp_dir_remove(dir);
}

SR_TESTS(scripts, unit(test_cifar), unit(test_imagenet), unit(test_fashion_mnist), unit(test_peers),
         unit(test_charts), unit(test_suites_of_rooms))
