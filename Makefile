# Salai: an NPU in QEMU and its firmware. What you can type:
#
#   make run [ARGS=...]    boot and run an operator: ARGS="matmul a.npy b.npy -o c.npy",
#                          ARGS=help lists them; without ARGS: a demonstration
#   make run-onnx MODEL=m.onnx IN=x.npy OUT=y.npy    a model of ONNX (OUT="a=y.npy b=z.npy",
#                          SIZES="batch=8" for sizes that it only names)
#   make tune MODEL=m.onnx IN=x.npy    measures ways to compute its steps; run-onnx then takes the
#                          fastest: ARGS="--budget 32", tools/graph/README.md
#   make tune-matrix       from which sizes on fusing pays, on each chip: 216 points
#   make run CHECK=all ARGS=...   names races, mistakes with memory and semaphores, and
#                          what nobody has written (race, memory, sync, init, hart: its loads
#                          and stores too)
#   make test [T=part]     every test, or those with it in their name or file: builds
#                          what they need, and one is run in half a second
#   make run TRACE=t ARGS=...   every command, what it waited for and for whom, for Perfetto:
#                          compressed JSON; t.json is ten times that, t.pftrace less. A part:
#                          TRACE_{CYCLES,COMMANDS}=A..B, TRACE_CORES=0+2..5, TRACE_PIPES=M+MTE1
#   make profile ARGS=...  where the cycles went and what would help: report.html, trace, tables
#                          as msopprof's, critical path, in build/profile/ or OUT=folder
#   make whatif ARGS=...   what a free hart, no bank conflicts, twice a bandwidth would bring;
#                          SET="UB_GM_RATE=156,hart=0": these (prices of profile.def)
#   make bench             what the scheduler costs, what pipelines reach, 1 to 32 cores
#   make bench-tile        tile programs: cycles, and those predicted; build/bench-tile.csv
#   make bench-ops         operators: cycles, limits, what fusing is worth; build/ops.csv
#   make bench-matmul      products: cycles, limits, bars; build/bench-matmul.csv
#   make bench-launches [ARGS=...]   percentiles of launches with other data each: WARMUP=100
#                          LAUNCHES=500; BATCH="1 2 4": {N} in ARGS becomes N times that
#   make serve-sim [ARGS=...]   what a service would feel: p50, p90, p99, use of the cores before
#                          and after each measure; SERVE="--rate 20000 --burst 8": tools/serve
#   make bench-host        speed of the emulator on this machine, by 1, 2 and 4 threads, OpenBLAS
#                          and NumPy beside it; OLD=tree: and another built tree
#   make bench-check       what checked runs cost the host, beside runs without
#   make bench-model       rates of the model's inner loops
#   make bench-compare OLD=a.csv NEW=b.csv   what got slower between two of these files, two
#                          traces (where they part) or two folders of make profile
#   make calibrate         measured against modelled cycles, and how much of it proves
#                          something; build/calibrate.csv. OLD=file.csv: beside what an
#                          earlier run saved. CSV=op_summary.csv: rows of your own msprof
#   make perturb ARGS=...  the same bytes under SEEDS=100 other timings? (SEED=n: one of them)
#   make faults ARGS=...   what broken hardware does to it (FAULT=bitflip:l0c@12000: one of them)
#   make soak MINUTES=10   thousands of launches in a boot, days of emulated time: any drift?
#   make fuzz [FUZZ=...]   SECONDS=60 of each fuzzer, or of those named: program, snapshot,
#                          tile, plan, onnx, device, requests, files (tests/fuzz/run)
#   make coverage          lines and branches of the model and of hal that tests reach
#   make debug ARGS=...    gdb at the kernel's first line, with the npu commands
#   make debug-server ARGS=...   QEMU waiting for an IDE's debugger
#   make record ARGS=...   a run that can be gone through forwards and backwards:
#   make replay            gdb on it
#   make run CORE=1 ARGS=...   a run that fails leaves build/core/TIME.core:
#   make debug-core [FILE=...]   gdb on it, or on the newest
#   make test-full         longer runs of the same
#   make test-chroots      all of this on a fresh Debian 12, then 13 (root, debootstrap): SUITES=
#   make check             style, layering, pages up to date
#   make format            clang-format over what differs from HEAD; look at what it did
#   make docs              brings the generated tables of the pages up to date
#   make all | clean | help
#
# CORES=1..32  PROFILE=a2|ascend910|ascend310  MEM=2G  LIBC=picolibc|newlib
# OPERATORS="vadd matmul softmax" links only these, and what they use.
# IMAGE_KIB=n is how large text + rodata of the image may be.
# SEED=n delays engines by legal random amounts.  V=1 shows commands.
# TIMING=v1 has the prices of before L2 and HBM (hal/contract/profile.md), v2 all.
# TRACE=file.json writes every command for Perfetto.  UNCONFINED=1, SIMD=, THREADS=: tools/salai.
# NO_INSTALL=1 never installs packages.

# --- one at a time ---

DRY := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))# make -n

# Two in one tree would write the same files, so make begins anew with a lock. It is on the
# folder, so nothing is left of it however make ends. What only runs gives it back: UNLOCK.
ifneq ($(LOCK),$(CURDIR))
GOALS := $(or $(MAKECMDGOALS),all)
# A compiler and Python are asked when the other half is read: they come first of all.
READY := build/packages-run
SETUP := [ $(READY) -nt tools/setup ] || \
    { tools/setup run && mkdir -p build && touch $(READY); } || exit 1;
SETUP := $(if $(DRY),,$(if $(filter-out clean help format,$(GOALS)),$(SETUP)))
.PHONY: $(GOALS)
$(filter-out $(firstword $(GOALS)),$(GOALS)): $(firstword $(GOALS)) ;
$(firstword $(GOALS)):
	+@cd "$$(dirname "$(strip $(MAKEFILE_LIST))")"; exec 9< .; \
	    flock -n 9 || { echo "make: another one is building here" >&2; flock 9; }; \
	    $(SETUP) \
	    LOCK="$$(pwd -P)" exec $(MAKE) --no-print-directory $(GOALS)
else
UNLOCK := flock -u 9 2> /dev/null; exec 9<&-;

# As many jobs as there are processors, unless you say otherwise.
ifeq ($(filter -j% --jobs%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

LIBC  ?= picolibc
CROSS ?= riscv64-unknown-elf-
CC    := $(if $(filter default,$(origin CC)),gcc,$(CC))
B     := build
Q     := $(if $(V),,@)
say    = $(if $(V),,@echo "  $(1)" $(patsubst $(B)/%,%,$@))
OTHER := $(IMAGE)# make record IMAGE=..., another than the next
override IMAGE := $(B)/salai.elf
export CORES PROFILE MEM SEED TIMING TRACE CORE CROSS

# --- what you can type: DO_x is what `make x` runs ---

DO_run          = tools/salai -- $(ARGS)
THE_MODEL       = $(if $(MODEL),'$(subst ','\'',$(MODEL))') # a path may have blanks
DO_run-onnx     = tools/graph/run $(THE_MODEL) $(SIZES:%=--size %) $(IN) $(OUT:%=-o %) $(ARGS)
DO_tune-matrix  = tests/graph/decisions_test.py --table
DO_tune         = tools/graph/tune $(THE_MODEL) $(SIZES:%=--size %) $(IN) $(ARGS)
DO_test         = tests/run $(T)
DO_test-full    = tests/run --full $(T)
DO_test-chroots = for s in $(or $(SUITES),bookworm trixie); do tests/chroot $$s || exit; done
DO_debug        = tools/gdb/debug -- $(ARGS)
DO_debug-server = tools/gdb/debug --server -- $(ARGS)
DO_debug-core   = tools/gdb/debug $(OTHER:%=--image %) --core $(FILE)
DO_record       = tools/gdb/record $(OTHER:%=--image %) -- $(ARGS)
DO_replay       = tools/gdb/debug --replay
DO_profile      = tools/profile/profile $(OUT:%=--out %) -- $(ARGS)
DO_whatif       = tools/whatif $(if $(SET),--set '$(SET)') -- $(ARGS)
DO_bench        = tools/bench
DO_bench-tile   = tools/bench-tile
DO_bench-ops    = tools/bench-ops
DO_bench-matmul = tools/bench-matmul
DO_bench-launches = tools/bench-launches $(ARGS)
DO_serve-sim    = tools/serve/serve-sim $(SERVE) $(if $(ARGS),-- $(ARGS))
DO_bench-host   = tools/bench-host $(B)/bench/blas
DO_bench-check  = tools/bench-check
DO_bench-model  = for b in $^; do $$b; done
DO_bench-compare = $(B)/compare "$(OLD)" "$(NEW)"
DO_calibrate    = tools/calibrate $(OLD:%=--old %) $(CSV:%=--csv %) \
    --save $(B)/$(if $(CSV),op_summary,calibrate).csv
DO_perturb      = tools/perturb --seeds $(or $(SEEDS),100) -- $(ARGS)
DO_faults       = tools/faults -- $(ARGS)
DO_soak         = tools/soak $(MINUTES)
DO_fuzz         = tests/fuzz/run $(or $(SECONDS),60) $(FUZZ)
DO_coverage     = tests/coverage $(ARGS)
RUNS := $(patsubst DO_%,%,$(filter DO_%,$(.VARIABLES)))

.PHONY: all check docs format clean help model-rv FORCE $(RUNS)
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

all: $(B)/npu.so $(IMAGE)
# tests/run knows every test, and what it needs.
TESTING := $(filter test test-full,$(MAKECMDGOALS))
test test-full: $(if $(TESTING),$(shell $(if $(DRY),NO_INSTALL=1) tests/run --needs \
    $(filter --full,$(TESTING:test-%=--%)) $(T))) $(if $(T),,model-rv)
run run-onnx tune tune-matrix profile whatif debug debug-server record replay bench \
    bench-matmul bench-ops bench-tile bench-launches bench-host bench-check serve-sim calibrate \
    perturb faults soak fuzz: all
debug debug-server debug-core replay: $(B)/packages-debug
record: $(OTHER)
bench bench-matmul bench-ops bench-tile serve-sim soak fuzz: $(B)/fw-picolibc/test.elf
run-onnx tune tune-matrix: $(B)/graph
bench-host: $(B)/bench/blas
bench-compare: $(B)/compare
profile: $(B)/report
bench-model: $(patsubst %,$(B)/bench/%,cube move vector)
calibrate: $(B)/bench/calibrate
fuzz: $(patsubst %,$(B)/fuzz-%,program snapshot tile plan \
    $(if $(wildcard /usr/include/onnx/onnx.proto),onnx))
coverage: all $(B)/fw-cov/test.elf \
    $(patsubst %,$(B)/cov/%,host-tests check-streams fuzz-program fuzz-snapshot)

$(RUNS):
	@$(UNLOCK) $(DO_$@)

check: $(B)/regdoc
	tools/check
	$(B)/regdoc --check $(wildcard hal/contract/*.md)

docs: $(B)/regdoc
	$(B)/regdoc $(wildcard hal/contract/*.md)

format:
	@{ git diff --name-only --diff-filter=d HEAD; git ls-files -o --exclude-standard; } | \
	    grep '\.[ch]$$' | xargs -r clang-format -i

clean:
	rm -rf $(B)

help:
	@sed -n 's/^#//p' Makefile | sed '/^ ---/,$$d'

# --- how ---

# A source that lies in the right folder is found.
find = $(sort $(shell find $(1) -name '*.[cS]'))
WARN := -Wall -Wextra -Wconversion -Wshadow -Werror
RV64 := -march=rv64gc -mabi=lp64d -mcmodel=medany
# Images and npu.so are the same, byte for byte, in whatever directory they are built: this
# one, which gcc and as take from PWD, goes by a name that all have, and is told as a dot.
here = PWD=/proc/self/cwd $(1) -fdebug-prefix-map=/proc/self/cwd=.

# $(call compile,FOLDER,COMMAND,AFTER,BEFORE): build/FOLDER/x.c.o from x.c, when AFTER or
# Makefile is newer; BEFORE has to be there.
define compile
$(B)/$(1)/%.o: % Makefile $(3) | $(4)
	$$(call say,CC)
	$(Q)mkdir -p $$(@D)
	$(Q)$(2) -I. -MMD -MP -c $$(or $$(FROM),$$<) -o $$@
endef

# What there is to compile and to link, and with which flags.
PARTS := tools/tools.mk tests/tests.mk linker/image.mk
include $(PARTS)

LINK = $(CC)
LIBS =
$(HOST_PROGRAMS) $(TEST_PROGRAMS) $(IMAGES): $(PARTS)
	$(call say,LINK)
	$(Q)mkdir -p $(@D) $(B)/scratch
	$(Q)$(LINK) $(filter %.o,$^) $(LIBS) -o $@

FORCE:

# --- packages, and what else make has to know ---

# One after the other: apt locks out a second.
$(addprefix $(B)/packages-,debug test bench graph): $(B)/packages-run
$(B)/packages-%: tools/setup
	@tools/setup $*
	@mkdir -p $(B) && touch $@

DEPENDS := $(shell find $(B) -name '*.d' 2>/dev/null)
$(DEPENDS): ;
-include $(DEPENDS)

# A file that only lies there, from another day, is not made and not up to date. Two steps:
# make tries chains last, so that each rule above comes before this one.
$(B)/%: no-rule/% ;
no-rule/%: FORCE
	$(error no rule makes $(B)/$*)

endif # LOCK
