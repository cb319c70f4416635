# Checks beyond `make test`: golden numbers, other programs, sanitizers, long runs. The Makefile includes this file.
.PHONY: check-arm64 torture mutate-files histories power kills long-runs mutants mutant coverage golden ranks-long web-long vissl-run parity debug asan tsan analyze web-fuzz memcheck toy ci-night

## make golden     compare with the reference numbers in GOLDEN=DIR (tests/golden/cases)
GOLDEN ?= tests/golden/cases
golden: $(BUILD)/run-golden
	$(BUILD)/run-golden $(GOLDEN) $(ONLY)

## make ranks-long run every method on 1, 2 and 4 ranks for 50 steps; kill ranks 20 times (minutes)
ranks-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 $(BUILD)/run-tests ranks

## make histories run HISTORIES (10000) histories of simulated ranks from seed FIRST (1), half an hour of one core; SEED=n replays one
HISTORIES ?= 10000
FIRST ?= 1
histories: $(BUILD)/run-histories
	$(BUILD)/run-histories $(if $(SEED),--seed $(SEED),--count $(HISTORIES) --first $(FIRST))

## make web-long   try the live page for WEB_MINUTES (10) with 50 runs and 10 readers, and 10,000 malformed requests
WEB_MINUTES ?= 10
web-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 SSLRUN_WEB_MINUTES=$(WEB_MINUTES) $(BUILD)/run-tests web_verb web_requests web_events web_browser

## make vissl-run  run one reduced epoch of every supported VISSL file; ONLY="rotnet swav/": files with a word (minutes; python3)
vissl-run: sslrun
	python3 tests/vissl/run.py ./sslrun $(ONLY)

## make parity     compare features with torchvision's, if python3-torch is installed; RESNET20=FILE CIFAR10=FILE: with real weights too
RESNET20 ?=
CIFAR10 ?=
parity: sslrun build/run-golden
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/zoo.py ./sslrun $(ONLY)
	@/usr/bin/python3 tests/parity/parity.py ./sslrun $(ONLY) || { test -x /usr/bin/python3 && exit 1 || \
	    echo "parity: skipped, there is no /usr/bin/python3"; }
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/exchange.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/layouts.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/dinov2.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/released.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/export.py ./sslrun
	@test ! -x /usr/bin/python3 || test ! -f "$(RESNET20)" || \
	    /usr/bin/python3 tests/parity/resnet20.py ./sslrun $(RESNET20) $(CIFAR10)
	@test ! -x /usr/bin/python3 || test ! -f $(RESNET20) || \
	    /usr/bin/python3 tests/parity/patchcore.py ./sslrun $(RESNET20)
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/linear.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/folder_rows.py --check
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/losses.py build/run-golden
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/peer.py check build/run-golden

## make debug      run all tests, or those of ONLY, with the invariants of base/compiler.h checked; sanitized builds check them too
debug:
	@$(MAKE) --no-print-directory BUILD=build/debug EXTRA="-DSR_DEBUG=1" build/debug/run-tests
	build/debug/run-tests $(ONLY)

## make coverage   run all tests, or those of ONLY, with gcov's counters and print the lines and branches that they reach, by room
coverage:
	@$(MAKE) --no-print-directory BUILD=build/coverage OPT=-O1 EXTRA="--coverage" build/coverage/run-tests
	tests/coverage.py run build/coverage $(ONLY) $(if $(MINUTES),--minutes $(MINUTES))
	@tests/coverage.py print build/coverage

## make asan       run all tests under the address and undefined-behaviour sanitizers
ASAN = -fsanitize=address,undefined -fno-sanitize-recover=all -DSR_DEBUG=1
asan:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1" EXTRA="$(ASAN)" \
	    build/asan/run-tests
	build/asan/run-tests $(ONLY)

## make tsan       run suites under the thread sanitizer, ONLY="web_requests loader ..."; OpenMP is not instrumented and has one thread
TSAN = OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1 exitcode=66 suppressions=tests/tsan.supp"
tsan:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT="-O1" EXTRA="-fsanitize=thread -DSR_DEBUG=1" SIMD_EXTRA=-fno-sanitize=all build/tsan/run-tests
	$(TSAN) build/tsan/run-tests $(or $(ONLY),web_verb web_requests web_events loader pass_design feature_model model_graph training)
ifeq ($(MPI)$(ONLY),yes)
	rm -rf build/tsan/ranks
	$(TSAN) mpirun --allow-run-as-root --oversubscribe -n 2 build/tsan/sslrun tests/cli/tiny.yaml CHECKPOINT.DIR=build/tsan/ranks
endif

## make analyze    run gcc's analyser, clang-tidy and cppcheck; ONLY="formats base/file.c": these files (half an hour of one core)
# Findings that are no defects are explained in tests/analyze/explained.txt; the target fails on every other finding, and on
# an explanation without a finding. A file that did not change since the last run is not analysed again. ANALYZE_TOOL=gcc,
# clang-tidy, clang-analyzer or cppcheck runs one of them. Other versions of the tools find more or less.
ANALYZED = $(if $(ONLY),$(filter $(ONLY) $(ONLY:%=%/%),$(SOURCES)),$(SOURCES))
ANALYZE_FLAGS = -std=c17 -O1 -D_GNU_SOURCE -DSR_DEBUG=1 -fno-math-errno -I. -I$(BUILD) \
    $(if $(filter yes,$(MPI)),$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags-only-I ompi)))
analyze: $(DEFS)
	@tests/deps.sh clang-tidy-14 cppcheck
	@tests/analyze/analyze.py $(BUILD) $(if $(JOBS),--jobs $(JOBS)) $(if $(ANALYZE_TOOL),--tool $(ANALYZE_TOOL)) $(if $(ONLY),--part) \
	    $(or $(ANALYZED),no-such-file) -- $(ANALYZE_FLAGS)

## make memcheck   run suites of readers, or those of ONLY, under valgrind, which sees every use of uninitialised memory
# MemorySanitizer is not used: it reports what Debian's libraries (libyaml, zlib, libjpeg-turbo, libwebp, OpenBLAS) write,
# since they are not instrumented. valgrind follows their code, too, and takes the ordinary build; it has no AVX-512, and the
# program takes AVX2 then. Suites of MEMCHECK_NOT need what it does not have: denormals that count as 0 (parallel), and
# filters of system calls (sandbox). ORIGINS=yes names the place where memory came from, at twice the time.
MEMCHECK_ROOMS = base formats data
MEMCHECK_NOT = parallel sandbox
MEMCHECKED = image_fuzz weights_fuzz $(filter-out $(MEMCHECK_NOT),$(shell tests/suites.sh $(MEMCHECK_ROOMS)))
memcheck: $(BUILD)/run-tests
	@tests/deps.sh valgrind
	@ORIGINS=$(ORIGINS) tests/memcheck.sh $(BUILD)/run-tests $(or $(ONLY),$(MEMCHECKED))

## make check-arm64 build for aarch64 by Debian's cross compiler and run suites, ONLY="op conv ...", under emulation (qemu-user)
# All suites of these rooms run on a processor with BF16; those of ARM_TWICE also run on one without. ARM_NOT are suites that
# train for minutes where nothing is emulated; emulation takes 20 to 80 times as long. Suites of ARM_LONG take ten minutes to
# forty and start first, so that no core waits for one of them at the end. qemu-user has no seccomp, which sandbox needs.
ARM_ROOMS = base formats kernels graph measure heads losses data trainer
ARM_TWICE = cpu conv block_product
ARM_NOT = every_key every_key_learning every_key_sections recipes sandbox teacher_cache train use_cases
ARM_LONG = loss replicas op conv_tiles winograd_blocks conv image_failures stages eval_crops
ARM_SUITES = $(ARM_LONG) $(filter-out $(ARM_LONG) $(ARM_NOT),$(shell tests/suites.sh $(ARM_ROOMS)))
ARM_WITHOUT = libc6-dev libstb-dev libmicrohttpd-dev libopenmpi-dev
ARM = CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar PKG_CONFIG=false BUILD=build/arm64 MPI=no WEB=no
check-arm64:
	@command -v aarch64-linux-gnu-gcc qemu-aarch64 >/dev/null || { echo "check-arm64: needs packages; to install them:"; \
	    echo "    dpkg --add-architecture arm64 && apt-get update && apt-get install gcc-aarch64-linux-gnu qemu-user" \
	        "libgomp1:arm64" $(patsubst %,%:arm64,$(filter lib%-dev zlib%,$(filter-out $(ARM_WITHOUT),$(PACKAGES) $(RECOMMENDED)))); exit 1; }
	+@$(LOOK_AGAIN) $(ARM) build/arm64/sslrun build/arm64/run-tests
	@tests/arm64.sh build/arm64/run-tests $(or $(ONLY),$(ARM_SUITES))
	@QEMU_CPU=cortex-a57 tests/arm64.sh build/arm64/run-tests $(or $(filter $(ARM_TWICE),$(ONLY)),$(if $(ONLY),cpu,$(ARM_TWICE)))

## make web-fuzz   send WEB_FUZZ_SECONDS (60) of drawn requests to a sanitized `sslrun web`; WEB_FUZZ_SEED=n repeats a run
WEB_FUZZ_SECONDS ?= 60
web-fuzz: $(BUILD)/run-tests
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1" EXTRA="$(ASAN)" SIMD_EXTRA=-fno-sanitize=all build/asan/sslrun
	cp $(BUILD)/run-tests build/asan/run-web-fuzz
	SSLRUN_WEB_FUZZ_SECONDS=$(WEB_FUZZ_SECONDS) $(if $(WEB_FUZZ_SEED),SSLRUN_WEB_FUZZ_SEED=$(WEB_FUZZ_SEED)) build/asan/run-web-fuzz web_fuzz

## make torture    let every call of VERBS (all) on memory, threads and files fail once, TORTURE_SECONDS (75) per verb (an hour)
TORTURE_SECONDS ?= 75
torture: sslrun $(BUILD)/inject.so $(EXAMPLES)
	tests/torture/torture.py $(VERBS) --seconds $(TORTURE_SECONDS)
$(BUILD)/inject.so: tests/torture/inject.c Makefile
	$(SAY) CC $@
	$(Q)$(CC) $(FLAGS) -fvisibility=default -shared -o $@ $< -ldl

## make mutate-files damage MUTATIONS (100000) files in ways that a seed draws, MUTATION_SEED=1, and let the program read them (20 minutes)
MUTATIONS ?= 100000
mutate-files: sslrun
	tests/torture/mutate_files.py --count $(MUTATIONS) $(if $(MUTATION_SEED),--seed $(MUTATION_SEED)) $(if $(KINDS_OF_FILES),--kinds $(KINDS_OF_FILES))

## make power      cut the power at CUTS=n moments (all) of a run's writes, in five models of a disk, and resume (20 minutes; strace)
power: sslrun
	tests/torture/power.py $(if $(CUTS),--cuts $(CUTS))

## make kills      kill runs of every loss KILLS (1000) times, go on with other threads and ranks, and compare bits (an hour)
KILLS ?= 1000
kills: sslrun $(BUILD)/run-tests
	SSLRUN_KILLS=$(KILLS) SSLRUN_KILLS_RANKS=$(if $(filter yes,$(MPI)),1,0) $(BUILD)/run-tests kills

## make long-runs  train all losses, or those of ONLY, for STEPS (20000) updates in f32 and bf16, which must be flat; odd data (two hours)
STEPS ?= 20000
long-runs: sslrun $(BUILD)/run-tests
	SSLRUN_STEPS=$(STEPS) SSLRUN_LOSSES="$(ONLY)" SSLRUN_ODD=1 OMP_NUM_THREADS=1 $(BUILD)/run-tests -j1 long_runs odd_data

## make mutants    break MUTANTS (300) lines one at a time, and print those that no test notices; ROOMS=kernels,losses MUTANT_SEED=1
MUTANTS ?= 300
mutants: sslrun $(BUILD)/run-tests
	tests/mutate.py --count $(MUTANTS) $(if $(MUTANT_SEED),--seed $(MUTANT_SEED)) $(if $(ROOMS),--rooms $(ROOMS))

## make toy        add one plugin of each kind, one file each, to a copy of the tree; build, test and train
toy: sslrun $(BUILD)/run-tests
	@BUILD=$(BUILD) tests/toy.sh

## make ci-night   run every job of tests/ci.sh and print their minutes: other compilers, sanitizers, fuzzers, ranks (hours)
ci-night:
	@tests/ci.sh

# tests/mutate.py links the objects of one changed file, MUTANT, before the library and without the tables of a debugger:
# the archive, the shared library and the examples stay as they were.
LINK_MUTANT = $(Q)$(CC) $(CFLAGS) -Wl,-S $(MUTATED) -o 
MUTATED = $(filter $(MUTANT:%.c=$(BUILD)/%.o) $(MUTANT:%.c=$(BUILD)/%.%.o),$(OBJECTS))
mutant: $(MUTATED)
	$(LINK_MUTANT)$(BUILD)/run-tests $(TESTOBJ) $(BUILD)/libsslrun.a $(LDLIBS) -lcmocka
	$(LINK_MUTANT)$(BUILD)/run-golden $(GOLDOBJ) $(BUILD)/libsslrun.a $(LDLIBS)
	$(LINK_MUTANT)$(BUILD)/run-histories $(HISTORYOBJ) $(BUILD)/libsslrun.a $(LDLIBS) -lcmocka
	$(LINK_MUTANT)$(BUILD)/sslrun -pie $(BUILD)/cli/main.o $(BUILD)/libsslrun.a $(LDLIBS) $(LINK_MPI)
