# Rules of the fuzzers: libFuzzer targets for files and texts of strangers. The Makefile includes this file.
## make fuzz       run libFuzzer (clang) for FUZZ_SECONDS (60) on each kind of strangers' input: configurations, weights, graphs
FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZ = -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unknown-pragmas
FUZZ_FLAGS = -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=1024 -artifact_prefix=$(BUILD)/
# What follows from the ranks of a run is left out: it needs threads and MPI, and no reader of files calls it.
FUZZED = $(filter-out base/parallel.c base/stop.c,$(wildcard base/*.c base/plugin/*.c base/text/*.c)) \
    $(wildcard formats/*.c formats/*/*.c)
FUZZ_FORMATS = safetensors pth npz npy
.PHONY: fuzz fuzz-night fuzz-afl fuzz-library fuzz-image fuzz-readers fuzz-features fuzz-graph fuzz-config fuzz-yaml fuzz-tar $(FUZZ_FORMATS:%=fuzz-%)
fuzz: fuzz-yaml fuzz-image fuzz-readers fuzz-tar $(FUZZ_FORMATS:%=fuzz-%) fuzz-features fuzz-graph fuzz-config
FUZZ_COMPILE = $(FUZZ_CC) -std=c17 -O1 -g -D_GNU_SOURCE -I. $(FUZZ)
FUZZ_LINK = -lyaml -ljansson -lz -lm -lpthread
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
# libjpeg-turbo is not instrumented; a build with TURBOJPEG=no fuzzes stb_image, which is.
FUZZ_IMAGE = $(patsubst %.c,$(BUILD)/fuzzed/%.o,$(filter data/%,$(SOURCES)))
$(FUZZ_IMAGE): $(BUILD)/fuzzed/%.o: %.c | $(DEFS)
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -I$(BUILD) -fwrapv -fno-sanitize=shift -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz_image: tests/fuzz/image_fuzz.c tests/fuzz/image_fuzz.h $(FUZZ_IMAGE) $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/image
	$(FUZZ_COMPILE) -fsanitize=fuzzer -DSR_FUZZ_ENTRY -o $@ $(filter-out %.h,$^) $(FUZZ_LINK) \
	    $(filter -lturbojpeg -lwebp -ltiff -lheif -lseccomp,$(LDLIBS))
fuzz-image: $(BUILD)/fuzz_image $(BUILD)/seeds/image.unpacked
	LSAN_OPTIONS=suppressions=tests/fuzz/libraries.supp $< $(FUZZ_FLAGS) -max_len=4096 -dict=tests/fuzz/image.dict $(BUILD)/corpus/image $(BUILD)/seeds/image
# Readers alone, without transforms; the seeds are those of fuzz-image.
$(BUILD)/fuzz_readers: tests/fuzz/fuzz_readers.c $(FUZZ_IMAGE) $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/readers
	$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LINK) $(filter -lturbojpeg -lwebp -ltiff -lheif -lseccomp,$(LDLIBS))
fuzz-readers: $(BUILD)/fuzz_readers $(BUILD)/seeds/image.unpacked
	LSAN_OPTIONS=suppressions=tests/fuzz/libraries.supp $< $(FUZZ_FLAGS) -max_len=4096 -dict=tests/fuzz/image.dict $(BUILD)/corpus/readers $(BUILD)/seeds/image
$(BUILD)/fuzz_tar: tests/fuzz/fuzz_tar.c $(FUZZ_IMAGE) $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/tar
	$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LINK) $(filter -lturbojpeg -lwebp -ltiff -lheif -lseccomp,$(LDLIBS))
# The seeds are an archive of each format that GNU tar writes.
$(BUILD)/seeds/tar.unpacked:
	@mkdir -p $(BUILD)/seeds/tar
	for f in gnu pax ustar v7; do tar --format=$$f -C tests/data -cf $(BUILD)/seeds/tar/$$f files/$$(ls tests/data/files | head -1); done
	@touch $@
fuzz-tar: $(BUILD)/fuzz_tar $(BUILD)/seeds/tar.unpacked
	$< $(FUZZ_FLAGS) -max_len=8192 $(BUILD)/corpus/tar $(BUILD)/seeds/tar
# For an hour each: make fuzz-pth FUZZ_SECONDS=3600. tests/fuzz/keep.sh pth FILE keeps a finding.
$(FUZZ_FORMATS:%=fuzz-%): fuzz-%: $(BUILD)/fuzz_% $(BUILD)/seeds/%.unpacked
	$< $(FUZZ_FLAGS) -max_len=8192 -dict=tests/fuzz/$(patsubst npz,npy,$*).dict $(BUILD)/corpus/$* $(BUILD)/seeds/$*
# Fuzzer of feature files, as the evaluations read them.
FUZZ_FEATURES = tests/fuzz/features_fuzz.c trainer/eval/extract/feature_files.c trainer/eval/extract/feature_pieces.c \
    trainer/eval/extract/feature_names.c measure/matrix.c \
    base/parallel.c kernels/core/gemm.c data/sets/class_names.c
$(BUILD)/fuzz_features: $(FUZZ_FEATURES) tests/fuzz/features_fuzz.h $(FUZZ_OBJECTS)
	@mkdir -p $(BUILD)/corpus/features
	$(FUZZ_COMPILE) -fsanitize=fuzzer -fno-openmp -DSR_FUZZ_ENTRY -o $@ $(FUZZ_FEATURES) $(FUZZ_OBJECTS) \
	    $(FUZZ_LINK) -lopenblas
fuzz-features: $(BUILD)/fuzz_features $(BUILD)/seeds/features.unpacked
	$< $(FUZZ_FLAGS) -max_len=8192 -dict=tests/fuzz/features.dict $(BUILD)/corpus/features $(BUILD)/seeds/features
# Fuzzers of graphs and configurations need the whole library. Its vector templates are not instrumented, since clang
# would take many minutes for them.
FUZZ_WHOLE = $(FUZZ_CC) -std=c17 -O1 -g -D_GNU_SOURCE -I. -Ibuild/fuzz $(FUZZ) -fsanitize=fuzzer
fuzz-library:
	@$(MAKE) --no-print-directory CC="$(FUZZ_CC)" BUILD=build/fuzz OPT=-O1 SIMD_EXTRA=-fno-sanitize=all build/fuzz/libsslrun.a \
	    EXTRA="$(FUZZ) -fsanitize=fuzzer-no-link -fno-openmp -Wno-unused-command-line-argument"
fuzz-graph: fuzz-library $(BUILD)/seeds/graph.unpacked
	@mkdir -p $(BUILD)/corpus/graph
	$(FUZZ_WHOLE) -DSR_FUZZ_ENTRY -o $(BUILD)/fuzz_graph tests/fuzz/graph_fuzz.c build/fuzz/libsslrun.a $(LDLIBS)
	$(BUILD)/fuzz_graph $(FUZZ_FLAGS) -max_len=4096 $(BUILD)/corpus/graph $(BUILD)/seeds/graph
# The loader may take 5 seconds of processor time and 256 MiB (tests/fuzz/fuzz_config.c). The dictionary holds the keys
# and names of the tables.
fuzz-config: fuzz-library $(BUILD)/seeds/config.unpacked
	@mkdir -p $(BUILD)/corpus/config
	@{ grep -hoE '^ *\{"[A-Za-z_.0-9]+"' $(SOURCES) | tr -d ' {'; grep -hoE '^ *\.name = "[A-Za-z_.0-9]+"' $(SOURCES) | \
	    sed 's/.*= //'; cat tests/fuzz/yaml.dict; } | sort -u >$(BUILD)/config.dict
	$(FUZZ_WHOLE) -o $(BUILD)/fuzz_config tests/fuzz/fuzz_config.c tests/trainer/config_input.c build/fuzz/libsslrun.a $(LDLIBS)
	ASAN_OPTIONS=quarantine_size_mb=16 $(BUILD)/fuzz_config $(FUZZ_FLAGS) -timeout=120 -max_len=8192 \
	    -dict=$(BUILD)/config.dict $(BUILD)/corpus/config $(BUILD)/seeds/config configs/examples
## make fuzz-afl   the same with AFL++ on readers of files: weights, features' arrays, YAML, pictures, shards
# AFL++ takes libFuzzer's targets; its compiler brings the loop. Its inputs are the seeds of libFuzzer's. A crash or a hang
# fails, and stays in build/afl/out/TARGET/default.
AFLED = yaml $(FUZZ_FORMATS) readers tar
.PHONY: fuzz-afl-all $(AFLED:%=fuzz-afl-%)
fuzz-afl:
	tests/deps.sh afl++ clang
	@$(MAKE) --no-print-directory BUILD=build/afl FUZZ_CC=afl-clang-fast fuzz-afl-all
fuzz-afl-all: $(AFLED:%=fuzz-afl-%)
AFL_SETTINGS = AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1
AFL_SEEDS = $(if $(filter yaml,$*),configs,$(BUILD)/seeds/$(patsubst readers,image,$*))
AFL_DICT = $(wildcard tests/fuzz/$(patsubst readers,image,$(patsubst npz,npy,$*)).dict)
$(AFLED:%=fuzz-afl-%): fuzz-afl-%: $(BUILD)/fuzz_% seeds $(BUILD)/seeds/tar.unpacked
	@rm -rf $(BUILD)/out/$* && mkdir -p $(BUILD)/in/$* $(BUILD)/out
	@find $(AFL_SEEDS) -type f -size -65 -exec cp -t $(BUILD)/in/$* {} +
	$(AFL_SETTINGS) afl-fuzz -V $(FUZZ_SECONDS) -m none -t 20000 -i $(BUILD)/in/$* -o $(BUILD)/out/$* $(AFL_DICT:%=-x %) \
	    -- $< >$(BUILD)/fuzz_$*.log 2>&1 || { tail -5 $(BUILD)/fuzz_$*.log; false; }
	@grep -E 'execs_done|saved_(crashes|hangs)' $(BUILD)/out/$*/default/fuzzer_stats
	@! grep -qE 'saved_(crashes|hangs) *: *[1-9]' $(BUILD)/out/$*/default/fuzzer_stats
## make fuzz-night every fuzzer, libFuzzer's, AFL++ and that of requests, for NIGHT_SECONDS (14400, four hours) each (three days)
NIGHT_SECONDS ?= 14400
fuzz-night:
	@$(MAKE) --no-print-directory fuzz fuzz-afl FUZZ_SECONDS=$(NIGHT_SECONDS)
	@$(MAKE) --no-print-directory web-fuzz WEB_FUZZ_SECONDS=$(NIGHT_SECONDS)
