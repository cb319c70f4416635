# sslrun: `make run` and `make test` do everything on a fresh Debian machine; `make help` lists the rest.
# All cores unless the caller says otherwise; only the outermost make may, or the job server is lost.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc)
endif
CC ?= gcc
BUILD ?= build
OPT ?= -O2
WARN = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
STRICT ?=
# Hardening as far as the compiler knows it (tests/hardening.sh reads the built files). Sanitizers see what fortified
# calls would hide, and go without.
ifeq ($(findstring -fsanitize,$(EXTRA)),)
HARDEN := $(shell for flag in -fstack-protector-strong -fcf-protection -mbranch-protection=standard; do \
    echo 'int one = 1;' | $(CC) -Werror $$flag -x c -c -o /dev/null - 2>/dev/null && echo $$flag; done) \
    $(if $(filter -O0,$(OPT) $(EXTRA)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LINK = -Wl,-z,relro,-z,now
endif
# Hidden: the shared library shows what sslrun.h declares, and nothing else.
FLAGS = -std=c17 $(OPT) -g $(WARN) -D_GNU_SOURCE -I. -I$(BUILD) -fopenmp -fno-math-errno -fno-trapping-math \
        -ffp-contract=off -fPIC -fvisibility=hidden -MMD -MP $(HARDEN) $(EXTRA)
CFLAGS = $(FLAGS) $(STRICT)
LDLIBS = -lopenblas -llinear -lyaml -lcjson -lz -lm -lpthread
PACKAGES = gcc libc6-dev make libopenblas-dev liblinear-dev libyaml-dev libstb-dev zlib1g-dev libcjson-dev libcmocka-dev pkg-config
# Each brings a part that a build may lack; tests/deps.sh has the words for them.
RECOMMENDED = libturbojpeg0-dev libwebp-dev libmicrohttpd-dev libopenmpi-dev openmpi-bin

FOLDERS = base formats kernels graph measure trunks heads losses data trainer pages cli
SOURCES := $(sort $(foreach d,$(FOLDERS),$(wildcard $(d)/*.c) $(wildcard $(d)/*/*.c)))
# libjpeg-turbo (libturbojpeg0-dev) reads JPEG where it is installed; TURBOJPEG=no builds without it, on stb_image alone.
ifeq ($(origin TURBOJPEG),undefined)
LOOKED_FOR += TURBOJPEG
TURBOJPEG := $(shell printf '\043include <turbojpeg.h>\nint main(void) { return !tjInitDecompress(); }' | \
    $(CC) -x c - -lturbojpeg -o /dev/null 2>/dev/null && echo yes || echo no)
endif
export TURBOJPEG
ifeq ($(TURBOJPEG),yes)
LDLIBS += -lturbojpeg
else
SOURCES := $(filter-out data/jpeg_turbo.c,$(SOURCES))
endif
# libwebp (libwebp-dev) reads WebP where it is installed; WEBP=no builds without it, and such files are passed over.
ifeq ($(origin WEBP),undefined)
LOOKED_FOR += WEBP
WEBP := $(shell printf '\043include <webp/decode.h>\nint main(void) { return !WebPGetDecoderVersion(); }' | \
    $(CC) -x c - -lwebp -o /dev/null 2>/dev/null && echo yes || echo no)
endif
export WEBP
ifeq ($(WEBP),yes)
LDLIBS += -lwebp
else
SOURCES := $(filter-out data/webp.c,$(SOURCES))
endif
# libmicrohttpd (libmicrohttpd-dev) serves `sslrun web` where it is installed; WEB=no builds without it.
ifeq ($(origin WEB),undefined)
LOOKED_FOR += WEB
WEB := $(shell pkg-config --exists libmicrohttpd 2>/dev/null && echo yes || echo no)
endif
export WEB
ifeq ($(WEB),yes)
LDLIBS += $(shell pkg-config --libs libmicrohttpd)
SOURCES := $(filter-out pages/web_none.c,$(SOURCES))
else
SOURCES := $(filter-out pages/web_server.c,$(SOURCES))
endif
# Open MPI (libopenmpi-dev) runs a step on several machines; MPI=no builds without it, for one process.
ifeq ($(origin MPI),undefined)
LOOKED_FOR += MPI
MPI := $(shell pkg-config --exists ompi 2>/dev/null && echo yes || echo no)
endif
export MPI
ifeq ($(MPI),yes)
LINK_MPI = $(shell pkg-config --libs ompi)
$(BUILD)/base/comm_mpi.o: override EXTRA += $(shell pkg-config --cflags-only-I ompi)
else
SOURCES := $(filter-out base/comm_mpi.c,$(SOURCES))
endif
# What is installed first may bring parts that were not found above, so the build looks again.
LOOK_AGAIN = env $(LOOKED_FOR:%=-u %) $(MAKE) --no-print-directory
# Packages whose parts this build lacks, though nobody asked to leave them out.
lack = $(if $(filter $(1),$(LOOKED_FOR)),$(if $(filter yes,$($(1))),,$(2)))
LACKS = $(call lack,TURBOJPEG,libturbojpeg0-dev) $(call lack,WEBP,libwebp-dev) $(call lack,WEB,libmicrohttpd-dev) \
        $(call lack,MPI,libopenmpi-dev openmpi-bin)
HEADERS := $(sort $(foreach d,$(FOLDERS),$(wildcard $(d)/*.h) $(wildcard $(d)/*/*.h)))
# kernels/*_simd.c are written once in plain loops or vector templates and compiled once an instruction set.
SIMD   := $(filter %_simd.c,$(SOURCES))
# kernels/*_amx.c: once for tile registers, once with plain C in place of their instructions (kernels/tiles.h).
AMX    := $(filter %_amx.c,$(SOURCES))
PLAIN  := $(filter-out %_simd.c %_amx.c cli/main.c,$(SOURCES))
ARCH   := $(shell uname -m)
ifeq ($(ARCH),x86_64)
ISAS = plain avx2 avx512
AMX_ISAS = emulated amx
endif
ISAS ?= plain
AMX_ISAS ?= emulated
ISA_plain  =
ISA_avx2   = -mavx2 -mfma -mf16c -ffp-contract=fast
# Only for files whose products are made of bfloat16 pairs, beside the others; taken where the processor has it.
ISA_avx512bf16 = $(ISA_avx512) -mavx512bf16
ISA_emulated =
ISA_amx = $(ISA_avx512bf16) -mamx-tile -mamx-bf16 -ffp-contract=off
ISA_avx512 = -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512 -ffp-contract=fast
ifneq ($(filter avx512,$(ISAS)),)
BF16   := kernels/conv/conv_tile_simd.c kernels/block_product_simd.c kernels/rows_simd.c kernels/pointwise_simd.c \
          kernels/batch_norm_simd.c kernels/layer_norm_simd.c kernels/pool2d_simd.c kernels/mix_halves_simd.c \
          kernels/attention_whole_simd.c
endif
OBJECTS := $(PLAIN:%.c=$(BUILD)/%.o) $(foreach isa,$(ISAS),$(SIMD:%.c=$(BUILD)/%.$(isa).o)) \
           $(BF16:%.c=$(BUILD)/%.avx512bf16.o) $(foreach isa,$(AMX_ISAS),$(AMX:%.c=$(BUILD)/%.$(isa).o))
TESTS   := $(filter-out tests/fuzz/fuzz_% tests/faults/%,$(sort $(wildcard tests/*.c) $(wildcard tests/*/*.c)))
TESTOBJ := $(filter-out $(BUILD)/tests/golden/%,$(TESTS:%.c=$(BUILD)/%.o))
GOLDOBJ := $(filter $(BUILD)/tests/golden/%,$(TESTS:%.c=$(BUILD)/%.o))
KINDS = op trunk head loss dataset transform collator optimizer schedule meter verb
DEFS  := $(KINDS:%=$(BUILD)/gen/%.def) $(BUILD)/gen/tests.def $(BUILD)/gen/golden.def $(BUILD)/gen/build.h

.PHONY: FORCE toy vissl-run check-install fuzz fuzz-image fuzz-features fuzz-library fuzz-graph fuzz-config fuzz-yaml fuzz-tar example install parity all help deps test run golden asan \
    layers clean format check-format bench-conv
all: sslrun libsslrun.a libsslrun.so
	@tests/deps.sh --lacks $(LACKS)

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make            build ./sslrun, libsslrun.a and libsslrun.so
# Renamed into place: a program or library that runs at the time keeps its old file.
PLACE = cp $< $@.new && mv -f $@.new $@
sslrun: $(BUILD)/sslrun
	$(PLACE)
# Only the program itself is handed the message-passing library (cli/main.c).
$(BUILD)/sslrun: $(BUILD)/cli/main.o $(BUILD)/libsslrun.a
	$(CC) $(CFLAGS) -pie $(HARDEN_LINK) -o $@ $^ $(LDLIBS) $(LINK_MPI)
libsslrun.a: $(BUILD)/libsslrun.a
	$(PLACE)
$(BUILD)/libsslrun.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

# The shared library is for whoever has features to make: no verbs, no pages, no ranks.  Its soname changes when a
# program built with the sslrun.h of before would no longer run.
VERSION := $(shell sed -n 's/.define SR_VERSION "\(.*\)"/\1/p' base/version.h)
SONAME = libsslrun.so.0
SHARED = $(filter-out $(BUILD)/cli/% $(BUILD)/pages/% $(BUILD)/base/comm_mpi.o,$(OBJECTS))
$(BUILD)/$(SONAME): $(SHARED)
	$(CC) $(CFLAGS) -shared $(HARDEN_LINK) -Wl,-soname,$(SONAME) $(if $(findstring sanitize,$(EXTRA)),,-Wl,-z,defs) -Wl,--as-needed -o $@ $^ $(LDLIBS)
$(BUILD)/libsslrun.so: $(BUILD)/$(SONAME)
	ln -sf $(SONAME) $@
libsslrun.so: $(BUILD)/libsslrun.so
	cp $(BUILD)/$(SONAME) $(SONAME).new && mv -f $(SONAME).new $(SONAME) && ln -sf $(SONAME) $@

# Objects of other flags are made again; of -Werror alone they stay.
$(BUILD)/gen/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(FLAGS)' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

define compile_isa
$(BUILD)/%_$(2).$(1).o: %_$(2).c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -O3 $$(ISA_$(1)) $$(SIMD_EXTRA) -DSR_ISA=$(1) -DSR_ISA_$(1)=1 -c -o $$@ $$<
endef
$(foreach isa,$(ISAS) avx512bf16,$(eval $(call compile_isa,$(isa),simd)))
$(foreach isa,$(AMX_ISAS),$(eval $(call compile_isa,$(isa),amx)))
$(BUILD)/kernels/%.o: kernels/%.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -O3 -c -o $@ $<
$(BUILD)/data/pixels/%.o: data/pixels/%.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -O3 -c -o $@ $<
# stb lets ints overflow and shifts into their sign: harmless once that is defined to wrap.
# These flags stand here, not among those that gen/flags compares.
$(BUILD)/data/decode.o $(BUILD)/data/encode.o $(BUILD)/tests/data/fixture.o: Makefile
$(BUILD)/data/decode.o $(BUILD)/data/encode.o $(BUILD)/tests/data/fixture.o: override EXTRA += -fwrapv -fno-sanitize=shift
$(BUILD)/%.o: %.c $(BUILD)/gen/flags | $(DEFS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

# What this build was made with; rewritten only when that changes.
$(BUILD)/gen/build.h: FORCE
	@mkdir -p $(@D)
	@echo '#define SR_TURBOJPEG $(if $(filter yes,$(TURBOJPEG)),1,0)' >$@.new
	@echo '#define SR_WEBP $(if $(filter yes,$(WEBP)),1,0)' >>$@.new
	@echo '#define SR_WEB $(if $(filter yes,$(WEB)),1,0)' >>$@.new
	@echo '#define SR_MPI $(if $(filter yes,$(MPI)),1,0)' >>$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# Every line "const SrTrunk sr_trunk_resnet" in the sources becomes X(Type, trunk, resnet) in gen/trunk.def, whose macro
# SR_PLUGINS_trunk(X, Type) is made a registry by base/plugin.h.
define plugin_list
$(BUILD)/gen/$(1).def: $(2) Makefile
	@mkdir -p $$(@D)
	@{ echo '#define SR_PLUGINS_$(1)(X, Type) \'; sed -n '$(3)' $(2) | LC_ALL=C sort; echo; } >$$@.new
	@cmp -s $$@.new $$@ && rm $$@.new || mv $$@.new $$@
endef
descriptors = s/^const Sr[A-Za-z]* sr_$(1)_\([a-z0-9_]*\) *=.*/    X(Type, $(1), \1) \\/p
$(foreach kind,$(KINDS),$(eval $(call plugin_list,$(kind),$(SOURCES),$(call descriptors,$(kind)))))
$(eval $(call plugin_list,golden,$(TESTS),$(call descriptors,golden)))
test_groups = s/^SR_TESTS(\([a-z0-9_]*\),.*/    X(Type, tests, \1) \\/p
$(eval $(call plugin_list,tests,$(TESTS),$(test_groups)))

EXAMPLES = $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/*.c))
# tests/cli runs the program that lies beside the test binary.
$(BUILD)/run-tests: $(TESTOBJ) $(BUILD)/libsslrun.a | $(BUILD)/sslrun $(BUILD)/libsslrun.so $(BUILD)/run-golden $(BUILD)/faults.so $(EXAMPLES) seeds
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcmocka
# Preloaded into the program by tests/cli/test_faults.c: chosen system calls fail.
$(BUILD)/faults.so: tests/faults/preload.c Makefile
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -fvisibility=default -shared -o $@ $< -ldl
$(BUILD)/run-golden: $(GOLDOBJ) $(BUILD)/libsslrun.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# What fuzzers found, one archive a target, unpacked into $(BUILD)/seeds for them and for the tests.
SEEDS = $(patsubst tests/fuzz/corpus/%.tar.gz,$(BUILD)/seeds/%.unpacked,$(wildcard tests/fuzz/corpus/*.tar.gz))
.PHONY: seeds
seeds: $(SEEDS)
$(SEEDS): $(BUILD)/seeds/%.unpacked: tests/fuzz/corpus/%.tar.gz
	@rm -rf $(BUILD)/seeds/$* && mkdir -p $(BUILD)/seeds/$*
	@tar -xzmf $< -C $(BUILD)/seeds/$* && touch $@

## make test       install what is missing, build, pass all tests
test: deps
	+@$(LOOK_AGAIN) $(BUILD)/run-tests lacks
	$(BUILD)/run-tests $(ONLY)

## make ranks-long every method on 1, 2 and 4 ranks for 50 steps; 20 kills (minutes)
.PHONY: ranks-long
ranks-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 $(BUILD)/run-tests ranks

## make web-long   WEB_MINUTES (10) of 50 runs and 10 readers on the live page; 10,000 malformed requests
.PHONY: web-long
WEB_MINUTES ?= 10
web-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 SSLRUN_WEB_MINUTES=$(WEB_MINUTES) $(BUILD)/run-tests web_verb web_requests web_events web_browser

# kernels/simd.h is one table of macros, aligned by hand.
FORMATTED = git ls-files '*.c' '*.h' | grep -v '^kernels/simd\.h$$'
CLANG_FORMAT ?= clang-format-14
## make format     the one hand: clang-format over everything
format:
	@tests/deps.sh clang-format-14
	$(FORMATTED) | xargs $(CLANG_FORMAT) -i
check-format:
	@tests/deps.sh clang-format-14
	@$(FORMATTED) | xargs $(CLANG_FORMAT) --dry-run -Werror 2>&1 | head -20 | { ! grep .; } && echo "format: ok"

## make run        install what is missing, build, pretrain the quick start and report how good the trunk got
run:
	@tests/deps.sh $(PACKAGES) dataset-fashion-mnist -- $(RECOMMENDED)
	+@$(LOOK_AGAIN) lacks
	./sslrun configs/swav.yaml $(ARGS)

## make golden     compare with the reference numbers in GOLDEN=DIR (tests/golden/cases)
GOLDEN ?= tests/golden/cases
golden: $(BUILD)/run-golden
	$(BUILD)/run-golden $(GOLDEN) $(ONLY)

## make example    the C interface's examples
$(EXAMPLES): $(BUILD)/%: examples/%.c sslrun.h $(BUILD)/libsslrun.so
	$(CC) $(CFLAGS) -o $@ $< -L$(BUILD) -lsslrun -Wl,-rpath,'$$ORIGIN'
example: $(EXAMPLES)
	$(BUILD)/features

## make install    into PREFIX (/usr/local): program, configurations, both libraries, sslrun.h, sslrun.pc, manual, completions
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
SHARE = $(DESTDIR)$(PREFIX)/share
MAN = $(SHARE)/man/man1
ETC_BASH = $(SHARE)/bash-completion/completions
LIB = $(DESTDIR)$(LIBDIR)
# A folder below PREFIX from which Debian's Python imports; empty where there is none.
PYTHON_SITE ?= $(shell /usr/bin/python3 -c "import sys; print(next((p for p in sys.path if p.startswith('$(PREFIX)/') \
    and p.endswith('-packages')), ''))" 2>/dev/null)
install: sslrun libsslrun.a libsslrun.so
	@tests/deps.sh --lacks $(LACKS)
	install -d $(MAN) $(ETC_BASH) $(SHARE)/zsh/vendor-completions $(SHARE)/fish/vendor_completions.d
	./sslrun manual man | gzip -9n >$(MAN)/sslrun.1.gz
	./sslrun manual bash >$(ETC_BASH)/sslrun
	./sslrun manual zsh >$(SHARE)/zsh/vendor-completions/_sslrun
	./sslrun manual fish >$(SHARE)/fish/vendor_completions.d/sslrun.fish
	install -d $(DESTDIR)$(PREFIX)/bin $(LIB)/pkgconfig $(DESTDIR)$(PREFIX)/include $(SHARE)/doc/sslrun
	install sslrun $(DESTDIR)$(PREFIX)/bin/
	install -m 644 libsslrun.a $(LIB)/
	install -m 644 $(SONAME) $(LIB)/$(SONAME).$(VERSION)
	ln -sf $(SONAME).$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libsslrun.so
	install -m 644 sslrun.h $(DESTDIR)$(PREFIX)/include/
	install -D -m 644 -t $(SHARE)/sslrun/python python/sslrun.py
	install -m 644 README.md LICENSE $(SHARE)/doc/sslrun/
	find docs \( -name '*.md' -o -name '*.png' -o -name '*.svg' \) -exec install -D -m 644 {} $(SHARE)/doc/sslrun/{} \;
	$(if $(PYTHON_SITE),install -D -m 644 -t $(DESTDIR)$(PYTHON_SITE) python/sslrun.py,@echo "python: PYTHONPATH=$(PREFIX)/share/sslrun/python")
	find configs -name '*.yaml' -exec install -D -m 644 {} $(SHARE)/sslrun/{} \;
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: sslrun' 'Description: features of vision trunks' 'Version: $(VERSION)' \
	    'Cflags: -I$${prefix}/include' 'Libs: -L$(LIBDIR) -lsslrun' 'Libs.private: -fopenmp $(LDLIBS)' \
	    >$(LIB)/pkgconfig/sslrun.pc
## make docs       docs/reference/keys.md from the option tables; fails on a link of a document that leads nowhere
.PHONY: docs
docs: sslrun
	./sslrun manual keys >docs/reference/keys.md
	@tests/links.sh
## make check-install  installs into a folder of its own; runs from elsewhere; builds the example by pkg-config alone
check-install:
	@tests/install.sh "$(MAKE)" "$(CC)"

## make deb        Debian packages of this tree into package/, looked over by lintian
## make check-deb  ... installed and tried in a root of its own, made by debootstrap (as root; minutes)
.PHONY: deb check-deb
deb:
	@tests/deps.sh $(PACKAGES) debhelper dh-python fakeroot lintian libmicrohttpd-dev libturbojpeg0-dev libwebp-dev
	@tests/package.sh package
check-deb: deb
	@tests/deps.sh debootstrap
	@tests/package_root.sh package

## make vissl-run  one reduced epoch of every VISSL file that runs; ONLY="rotnet swav/" those with a word (minutes; python3)
vissl-run: sslrun
	python3 tests/vissl/run.py ./sslrun $(ONLY)

RESNET20 ?= ../shared/weights/resnet20-12fca82f.th
CIFAR10 ?= ../shared/data/cifar10_jpeg.tar
## make parity     features against torchvision's, where python3-torch is installed
parity: sslrun build/run-golden
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/zoo.py ./sslrun $(ONLY)
	@/usr/bin/python3 tests/parity/parity.py ./sslrun $(ONLY) || { test -x /usr/bin/python3 && exit 1 || \
	    echo "parity: skipped, there is no /usr/bin/python3"; }
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/exchange.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/layouts.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/dinov2.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/export.py ./sslrun
	@test ! -x /usr/bin/python3 || test ! -f $(RESNET20) || \
	    /usr/bin/python3 tests/parity/resnet20.py ./sslrun $(RESNET20) $(CIFAR10)
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/linear.py ./sslrun
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/losses.py build/run-golden
	@test ! -x /usr/bin/python3 || /usr/bin/python3 tests/parity/peer.py check build/run-golden

## make asan       all tests under the address and undefined-behaviour sanitizers
ASAN = -fsanitize=address,undefined -fno-sanitize-recover=all
asan:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1" EXTRA="$(ASAN)" \
	    build/asan/run-tests
	build/asan/run-tests $(ONLY)

## make tsan       ONLY="web_requests loader ...": suites under the thread sanitizer; OpenMP has one thread, as it is not instrumented
.PHONY: tsan
tsan:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT="-O1" EXTRA="-fsanitize=thread" SIMD_EXTRA=-fno-sanitize=all build/tsan/run-tests
	OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1 exitcode=66" build/tsan/run-tests $(or $(ONLY),web_verb web_requests web_events loader)

## make web-fuzz   WEB_FUZZ_SECONDS (60) of requests by grammar against a sanitized `sslrun web`; WEB_FUZZ_SEED=n repeats a run
.PHONY: web-fuzz
WEB_FUZZ_SECONDS ?= 60
web-fuzz: $(BUILD)/run-tests
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1" EXTRA="$(ASAN)" SIMD_EXTRA=-fno-sanitize=all build/asan/sslrun
	cp $(BUILD)/run-tests build/asan/run-web-fuzz
	SSLRUN_WEB_FUZZ_SECONDS=$(WEB_FUZZ_SECONDS) $(if $(WEB_FUZZ_SEED),SSLRUN_WEB_FUZZ_SEED=$(WEB_FUZZ_SEED)) build/asan/run-web-fuzz web_fuzz

## make fuzz       FUZZ_SECONDS (60) of libFuzzer (clang) each on whatever strangers write: configurations, weights, graphs
FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZ = -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unknown-pragmas
FUZZ_FLAGS = -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=1024 -artifact_prefix=$(BUILD)/
FUZZED = $(filter-out base/parallel.c base/comm.c base/comm_mpi.c,$(wildcard base/*.c)) $(wildcard formats/*.c)
FUZZ_FORMATS = safetensors pth npz npy
.PHONY: $(FUZZ_FORMATS:%=fuzz-%)
fuzz: fuzz-yaml fuzz-image fuzz-tar $(FUZZ_FORMATS:%=fuzz-%) fuzz-features fuzz-graph fuzz-config
FUZZ_COMPILE = $(FUZZ_CC) -std=c17 -O1 -g -D_GNU_SOURCE -I. $(FUZZ)
FUZZ_LINK = -lyaml -lcjson -lz -lm -lpthread
FUZZ_OBJECTS = $(FUZZED:%.c=$(BUILD)/fuzzed/%.o)
$(FUZZ_OBJECTS): $(BUILD)/fuzzed/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz_yaml: tests/fuzz/fuzz_yaml.c $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/yaml
	$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LINK)
$(FUZZ_FORMATS:%=$(BUILD)/fuzz_%): $(BUILD)/fuzz_%: tests/fuzz/weights_fuzz.c tests/fuzz/weights_fuzz.h $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/$*
	$(FUZZ_COMPILE) -fsanitize=fuzzer -DSR_FUZZ_ENTRY=fuzz_$* -o $@ $< $(FUZZ_OBJECTS) $(FUZZ_LINK)
fuzz-yaml: $(BUILD)/fuzz_yaml
	$< $(FUZZ_FLAGS) -max_len=4096 -dict=tests/fuzz/yaml.dict $(BUILD)/corpus/yaml configs
# libjpeg-turbo itself is not instrumented, stb_image is (TURBOJPEG=no).
FUZZ_IMAGE = $(patsubst %.c,$(BUILD)/fuzzed/%.o,$(filter data/%,$(SOURCES)))
$(FUZZ_IMAGE): $(BUILD)/fuzzed/%.o: %.c | $(DEFS)
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -I$(BUILD) -fwrapv -fno-sanitize=shift -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz_image: tests/fuzz/image_fuzz.c tests/fuzz/image_fuzz.h $(FUZZ_IMAGE) $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/image
	$(FUZZ_COMPILE) -fsanitize=fuzzer -DSR_FUZZ_ENTRY -o $@ $(filter-out %.h,$^) $(FUZZ_LINK) \
	    $(filter -lturbojpeg -lwebp,$(LDLIBS))
fuzz-image: $(BUILD)/fuzz_image $(BUILD)/seeds/image.unpacked
	$< $(FUZZ_FLAGS) -max_len=4096 -dict=tests/fuzz/image.dict $(BUILD)/corpus/image $(BUILD)/seeds/image
$(BUILD)/fuzz_tar: tests/fuzz/fuzz_tar.c $(FUZZ_IMAGE) $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/tar
	$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LINK) $(filter -lturbojpeg -lwebp,$(LDLIBS))
# Seeded with an archive of each format that GNU tar writes.
fuzz-tar: $(BUILD)/fuzz_tar
	for f in gnu pax ustar v7; do tar --format=$$f -C tests/data -cf $(BUILD)/corpus/tar/$$f files/$$(ls tests/data/files | head -1); done
	$< $(FUZZ_FLAGS) -max_len=8192 $(BUILD)/corpus/tar
# An hour each: make fuzz-pth FUZZ_SECONDS=3600.  A finding is kept by tests/fuzz/keep.sh pth FILE.
$(FUZZ_FORMATS:%=fuzz-%): fuzz-%: $(BUILD)/fuzz_% $(BUILD)/seeds/%.unpacked
	$< $(FUZZ_FLAGS) -max_len=8192 -dict=tests/fuzz/$(patsubst npz,npy,$*).dict $(BUILD)/corpus/$* $(BUILD)/seeds/$*
# Files of features, as the evaluations read them.
FUZZ_FEATURES = tests/fuzz/features_fuzz.c trainer/eval/feature_files.c trainer/eval/feature_pieces.c \
    trainer/eval/feature_names.c measure/matrix.c \
    base/parallel.c kernels/gemm.c data/sets/class_names.c
$(BUILD)/fuzz_features: $(FUZZ_FEATURES) tests/fuzz/features_fuzz.h $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/features
	$(FUZZ_COMPILE) -fsanitize=fuzzer -fno-openmp -DSR_FUZZ_ENTRY -o $@ $(FUZZ_FEATURES) $(FUZZ_OBJECTS) \
	    $(FUZZ_LINK) -lopenblas
fuzz-features: $(BUILD)/fuzz_features $(BUILD)/seeds/features.unpacked
	$< $(FUZZ_FLAGS) -max_len=8192 -dict=tests/fuzz/features.dict $(BUILD)/corpus/features $(BUILD)/seeds/features
# Graphs and configurations need the whole library.  The vector templates in it are not fuzzed, and clang needs many
# minutes to instrument them.
FUZZ_WHOLE = $(FUZZ_CC) -std=c17 -O1 -g -D_GNU_SOURCE -I. -Ibuild/fuzz $(FUZZ) -fsanitize=fuzzer
fuzz-library:
	@$(MAKE) --no-print-directory CC="$(FUZZ_CC)" BUILD=build/fuzz OPT=-O1 SIMD_EXTRA=-fno-sanitize=all build/fuzz/libsslrun.a \
	    EXTRA="$(FUZZ) -fsanitize=fuzzer-no-link -fno-openmp -Wno-unused-command-line-argument"
fuzz-graph: fuzz-library $(BUILD)/seeds/graph.unpacked
	@mkdir -p $(BUILD)/corpus/graph
	$(FUZZ_WHOLE) -DSR_FUZZ_ENTRY -o $(BUILD)/fuzz_graph tests/fuzz/graph_fuzz.c build/fuzz/libsslrun.a $(LDLIBS)
	$(BUILD)/fuzz_graph $(FUZZ_FLAGS) -max_len=4096 $(BUILD)/corpus/graph $(BUILD)/seeds/graph
# Bounds of the loader: 5 seconds of the processor, 256 MiB (tests/fuzz/fuzz_config.c).  The words are the keys and names of the tables.
fuzz-config: fuzz-library $(BUILD)/seeds/config.unpacked
	@mkdir -p $(BUILD)/corpus/config
	@{ grep -hoE '^ *\{"[A-Za-z_.0-9]+"' $(SOURCES) | tr -d ' {'; grep -hoE '^ *\.name = "[A-Za-z_.0-9]+"' $(SOURCES) | \
	    sed 's/.*= //'; cat tests/fuzz/yaml.dict; } | sort -u >$(BUILD)/config.dict
	$(FUZZ_WHOLE) -o $(BUILD)/fuzz_config tests/fuzz/fuzz_config.c tests/trainer/config_input.c build/fuzz/libsslrun.a $(LDLIBS)
	ASAN_OPTIONS=quarantine_size_mb=16 $(BUILD)/fuzz_config $(FUZZ_FLAGS) -timeout=120 -max_len=8192 \
	    -dict=$(BUILD)/config.dict $(BUILD)/corpus/config $(BUILD)/seeds/config configs/examples

## make bench-conv  GFLOP/s of every convolution, beside the processor's peak
$(BUILD)/conv-bench: $(BUILD)/bench/conv_bench.o $(BUILD)/libsslrun.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/op-bench: $(BUILD)/bench/op_bench.o $(BUILD)/libsslrun.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
bench-conv: $(BUILD)/conv-bench
	$(BUILD)/conv-bench

## make scoreboard  the README's benchmark table on this machine, as Markdown (python3-torch; some 15 minutes)
.PHONY: scoreboard
scoreboard: sslrun
	@bench/scoreboard.sh

## make layers     fail on includes against the order of rooms, circles, types defined twice, plugins named outside, rooms too large
layers:
	@tests/test_layers.sh
	@tests/layers.sh

## make prose      fail on comments and documents that break docs/design/prose.md, in the rooms of tests/prose.rooms
.PHONY: prose
prose:
	@tests/prose.sh

## make toy        one plugin of each kind, one file each, added to a copy of the tree, built, tested, trained
toy: sslrun $(BUILD)/run-tests
	@BUILD=$(BUILD) tests/toy.sh

## make deps       install missing Debian packages, or print the line to paste; elsewhere say what is needed
deps:
	@tests/deps.sh $(PACKAGES) -- $(RECOMMENDED)
# The last line of a build, where there is something to say.
.PHONY: lacks
lacks: sslrun
	@tests/deps.sh --lacks $(LACKS)

clean:
	rm -rf build package sslrun libsslrun.a libsslrun.so*

-include $(shell test -d $(BUILD) && find $(BUILD) -type f -name '*.d')
