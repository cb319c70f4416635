# Checks beyond `make test`: golden numbers, other programs, sanitizers, long runs.  Included by the Makefile.
.PHONY: golden ranks-long web-long vissl-run parity asan tsan web-fuzz toy ci-night

## make golden     compare with the reference numbers in GOLDEN=DIR (tests/golden/cases)
GOLDEN ?= tests/golden/cases
golden: $(BUILD)/run-golden
	$(BUILD)/run-golden $(GOLDEN) $(ONLY)

## make ranks-long every method on 1, 2 and 4 ranks for 50 steps; 20 kills (minutes)
ranks-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 $(BUILD)/run-tests ranks

## make web-long   WEB_MINUTES (10) of 50 runs and 10 readers on the live page; 10,000 malformed requests
WEB_MINUTES ?= 10
web-long: sslrun $(BUILD)/run-tests
	SSLRUN_LONG=1 SSLRUN_WEB_MINUTES=$(WEB_MINUTES) $(BUILD)/run-tests web_verb web_requests web_events web_browser

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
tsan:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT="-O1" EXTRA="-fsanitize=thread" SIMD_EXTRA=-fno-sanitize=all build/tsan/run-tests
	OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1 exitcode=66" build/tsan/run-tests $(or $(ONLY),web_verb web_requests web_events loader)

## make web-fuzz   WEB_FUZZ_SECONDS (60) of requests by grammar against a sanitized `sslrun web`; WEB_FUZZ_SEED=n repeats a run
WEB_FUZZ_SECONDS ?= 60
web-fuzz: $(BUILD)/run-tests
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1" EXTRA="$(ASAN)" SIMD_EXTRA=-fno-sanitize=all build/asan/sslrun
	cp $(BUILD)/run-tests build/asan/run-web-fuzz
	SSLRUN_WEB_FUZZ_SECONDS=$(WEB_FUZZ_SECONDS) $(if $(WEB_FUZZ_SEED),SSLRUN_WEB_FUZZ_SEED=$(WEB_FUZZ_SEED)) build/asan/run-web-fuzz web_fuzz

## make toy        one plugin of each kind, one file each, added to a copy of the tree, built, tested, trained
toy: sslrun $(BUILD)/run-tests
	@BUILD=$(BUILD) tests/toy.sh

## make ci-night   every job of tests/ci.sh, with a table of their minutes: other compilers, sanitizers, fuzzers, ranks (hours)
ci-night:
	@tests/ci.sh
