# Salai: an NPU in QEMU and its firmware. What you can type:
#
#   make run [ARGS=...]    boot and run an operator: ARGS="matmul a.npy b.npy -o c.npy",
#                          ARGS=help lists them; without ARGS: a demonstration
#   make run-onnx MODEL=m.onnx IN=x.npy OUT=y.npy    a model of ONNX (OUT="a=y.npy b=z.npy",
#                          SIZES="batch=8" for sizes that it only names)
#   make run CHECK=all ARGS=...   names races, mistakes with memory and semaphores, and
#                          what nobody has written (race, memory, sync, init, hart: its loads
#                          and stores too)
#   make test [T=part]     every test, or those with it in their name or file: builds
#                          what they need, and one is run in half a second
#   make run TRACE=t.json ARGS=...   every command, what it waited for and for whom, for
#                          Perfetto; t.json.gz and t.pftrace are a tenth of that. TRACE_CYCLES=A..B,
#                          TRACE_COMMANDS=A..B, TRACE_CORES=0+2..5, TRACE_PIPES=M+MTE1: a part
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
#   make bench-host        speed of the emulator on this machine, OpenBLAS and NumPy beside it
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
#                          tile, device, requests, files (what each is: tests/fuzz/run)
#   make coverage          lines and branches of the model and of hal that tests reach
#   make debug ARGS=...    gdb at the kernel's first line, with the npu commands
#   make debug-server ARGS=...   QEMU waiting for an IDE's debugger
#   make record ARGS=...   a run that can be gone through forwards and backwards:
#   make replay            gdb on it
#   make run CORE=1 ARGS=...   a run that fails leaves build/core/TIME.core:
#   make debug-core [FILE=...]   gdb on it, or on the newest
#   make test-full         longer runs of the same
#   make test-chroots      all of this on a fresh Debian: SUITES=bookworm (root, debootstrap)
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

# Two in one tree would write the same files, so make begins anew with a lock. It is on the
# folder, so nothing is left of it however make ends. What only runs gives it back: UNLOCK.
ifneq ($(LOCK),$(CURDIR))
GOALS := $(or $(MAKECMDGOALS),all)
.PHONY: $(GOALS)
$(filter-out $(firstword $(GOALS)),$(GOALS)): $(firstword $(GOALS)) ;
$(firstword $(GOALS)):
	+@cd "$$(dirname "$(strip $(MAKEFILE_LIST))")"; exec 9< .; \
	    flock -n 9 || { echo "make: another one is building here" >&2; flock 9; }; \
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
DO_run-onnx     = tools/graph/run $(MODEL) $(SIZES:%=--size %) $(IN) $(OUT:%=-o %) $(ARGS)
DO_test         = tests/run $(T)
DO_test-full    = tests/run --full $(T)
DO_test-chroots = for s in $(or $(SUITES),bookworm); do tests/chroot $$s || exit; done
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
test test-full: $(if $(TESTING),$(shell tests/run --needs \
    $(filter --full,$(TESTING:test-%=--%)) $(T))) $(if $(T),,model-rv)
run run-onnx profile whatif debug debug-server record replay bench bench-matmul bench-ops \
    bench-tile bench-host bench-check calibrate perturb faults soak fuzz: all
debug debug-server debug-core replay: $(B)/packages-debug
record: $(OTHER)
bench bench-matmul bench-ops bench-tile serve-sim soak fuzz: $(B)/fw-picolibc/test.elf
run-onnx: $(B)/graph
bench-host: $(B)/bench/blas
bench-compare: $(B)/compare
profile: $(B)/report
bench-model: $(patsubst %,$(B)/bench/%,cube move vector)
calibrate: $(B)/bench/calibrate
fuzz: $(patsubst %,$(B)/fuzz-%,program snapshot tile)
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

# --- sources: a file that lies in the right folder is found ---

find        = $(sort $(shell find $(1) -name '*.[cS]'))
TABLES     := hal/contract/tables.c
TILE_OPS   := $(wildcard kernels/ops/*.tile)
FW_SRC     := $(call find,boot hal sched kernels) $(TILE_OPS)
TARGET_SRC := $(call find,tests/target tests/broken tests/tile tests/profile) tests/test.c \
    $(patsubst %,tests/bench/%.c,hart launch mm ops sequence soak tile)
MODEL_SRC  := $(call find,tools/emu/model) $(TABLES)
CHECK_SRC  := $(call find,tools/emu/check)
FOLLOW_SRC := $(call find,tools/emu/trace)
# Of tile programs what is not of the machine.
TILE_SRC   := kernels/lib/near.c $(patsubst %,kernels/tile/%.c,ir build kernel over \
    lower fold lex expr signature text ref ref_ops)
HOST_SRC   := $(call find,tests/model tests/host tests/fuzz tests/tile) tests/test.c \
    $(patsubst %,tests/check/%.c,host small memory_test exact_test init_test corpus_test \
    cure_test journal_test follow_test) \
    hal/err.c kernels/cli/npy_header.c tools/emu/qemu/queue.c $(TILE_SRC) $(MODEL_SRC) \
    $(CHECK_SRC) $(FOLLOW_SRC)
STREAMS_SRC := $(patsubst %,tests/check/%.c,host streams) $(TABLES) \
    $(filter-out $(addprefix %/,$(addsuffix .c,stream memory sync init undefined local)), \
    $(CHECK_SRC))
FUZZ_SRC   := $(patsubst %,tests/fuzz/%.c,look program snapshot) tests/model/rig.c $(MODEL_SRC)

# --- flags ---

WARN     := -Wall -Wextra -Wconversion -Wshadow -Werror
RV64     := -march=rv64gc -mabi=lp64d -mcmodel=medany
FW_FLAGS := -std=gnu11 $(WARN) -O2 -g $(RV64) -ffunction-sections -fdata-sections \
    -fno-common -fno-eliminate-unused-debug-types -malign-data=natural
# Images and npu.so are the same, byte for byte, in whatever directory they are built: this
# one, which gcc and as take from PWD, goes by a name that all have, and is told as a dot.
FW_CC     = $(call here,$(CROSS)gcc) $(FW_FLAGS)
here      = PWD=/proc/self/cwd $(1) -fdebug-prefix-map=/proc/self/cwd=.
# The functions that boot/heap.c is between.
HEAP     := malloc calloc realloc aligned_alloc free _malloc_r _calloc_r _realloc_r _free_r
# The model's arithmetic is what its sources say, on every host.
EXACT    := -ffp-contract=off -fno-math-errno -fno-trapping-math
MODEL_FLAGS = -std=c11 $(WARN) $(EXACT) $(OPT) -g
# CHECK_EDGES: tools/emu/check/edge.h
SAN_FLAGS := -std=gnu11 -Wall -Wextra -Werror $(EXACT) -O1 -g -fsanitize=address,undefined \
    -fno-sanitize-recover=undefined -DCHECK_EDGES
COV_FLAGS := -std=gnu11 $(EXACT) -DCHECK_EDGES -O1 -fprofile-instr-generate -fcoverage-mapping
PLUGIN_FLAGS := -std=gnu11 -O2 -g -fPIC -Wall -Wextra -Wno-unused-parameter -Werror \
    -fno-strict-aliasing -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -isystem $(B)/qemu/config \
    -isystem $(B)/qemu/include -isystem $(B)/qemu/qapi -I$(B)/qemu -fvisibility=hidden \
    $$(pkg-config --cflags glib-2.0)

# The C libraries of the firmware: what its objects are compiled with and linked to.
CC_picolibc := --specs=picolibc.specs -DPICOLIBC_DOUBLE_PRINTF_SCANF
LD_picolibc := $(CC_picolibc) -lm
CC_newlib   := -isystem $(B)/newlib/include
LD_newlib   := -nostdlib -L$(B)/newlib/lib -Wl,--start-group -lc -lm -lgcc -Wl,--end-group

# What uses vector instructions of the host is compiled for them and chosen at run time;
# hosts other than x86-64 have the plain paths.
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
%_avx2.c.o: SIMD := -mavx2 -mfma -mf16c
%_avx512.c.o: SIMD := -mavx512f -mavx512bw -mavx512dq -mavx512vl
%/vec_avx512.c.o: SIMD += -mfma -mf16c -mprefer-vector-width=512
endif
# What loops over elements wants -O3: the rest takes a third longer and makes none faster. The
# same loops for every type and operation want less of it; a fifth of the time would go into -g.
OPT := -O3
%/vec_avx512.c.o %/vec_avx2.c.o %/vec_plain.c.o: SIMD += -g0
%/vec_avx512.c.o %/vec_avx2.c.o %/vec_plain.c.o: OPT := $(if $(findstring clang,$(CC)),-O3,-O2 \
    -ftree-loop-vectorize -fvect-cost-model=dynamic -funswitch-loops)
$(B)/model/tools/emu/model/machine/%: OPT := -O2
# What these two would find the address sanitizer finds, too; its reports want lines alone.
# A third of what the same loops take to compile.
$(B)/san/tools/emu/model/arith/%: SIMD += -g1 -fno-sanitize=null,object-size
# What runs before and after the engines may be slow.
%/heap.c.o %_op.c.o %/demo.c.o %/trap.c.o %/hal/host.c.o \
    %/hal/fault.c.o %/console.c.o %/report.c.o %/measure.c.o %/tque.c.o %/stack.c.o \
    %/lib/f16.c.o %/lib/near.c.o $(patsubst %,$(B)/fw-%/kernels/cli/%.o,picolibc newlib): \
    FW_FLAGS += -Os -msave-restore -fno-jump-tables
# What results are held against: accesses to the flags of exceptions, which nobody asks for,
# are what QEMU is slowest at.
%_ref.c.o %/tile/ref.c.o %/tile/ref_ops.c.o: FW_FLAGS += -fno-trapping-math
# An operator that is a tile program: what is compiled has its text in it.
%.tile.o: FROM = -DPROGRAM=$(basename $(<F)) -x c kernels/ops/entry.inc
# Here to be held against a card, not to be fast.
%/published.c.o: FW_FLAGS += -O1

# --- objects ---

# $(call compile,FOLDER,COMMAND,AFTER,BEFORE): build/FOLDER/x.c.o from x.c, when AFTER or
# Makefile is newer; BEFORE has to be there.
define compile
$(B)/$(1)/%.o: % Makefile $(3) | $(4)
	$$(call say,CC)
	$(Q)mkdir -p $$(@D)
	$(Q)$(2) -I. -MMD -MP -c $$(or $$(FROM),$$<) -o $$@
endef
$(eval $(call compile,fw-picolibc,$$(FW_CC) $(CC_picolibc),,$(B)/packages-run))
$(eval $(call compile,fw-newlib,$$(FW_CC) $(CC_newlib),$(B)/newlib/lib/libc.a,))
$(eval $(call compile,fw-cov,$$(FW_CC) $(CC_picolibc) -fprofile-arcs -ftest-coverage \
    -fprofile-info-section=gcov_info -w -DNDEBUG $$(PLAIN),,$(B)/packages-run))
$(eval $(call compile,model,$(call here,$(CC)) $$(MODEL_FLAGS) $$(SIMD) -fPIC \
    -fvisibility=hidden,,$(B)/packages-run))
$(eval $(call compile,model-rv,$(CROSS)gcc $$(MODEL_FLAGS) $(RV64) -ffreestanding,,\
    $(B)/packages-run))
$(eval $(call compile,plugin,$(call here,$(CC)) $$(PLUGIN_FLAGS),$(B)/qemu/stamp,))
$(eval $(call compile,host,$(CC) -std=gnu11 -Wall -Wextra -Werror -O2 -g -DCHECK_EDGES \
    -ffunction-sections,,$(B)/packages-run))
$(eval $(call compile,san,$(CC) $(SAN_FLAGS) $$(SIMD),,$(B)/packages-test))
$(eval $(call compile,cov,clang $(COV_FLAGS) $$(SIMD),,$(B)/packages-test))
$(eval $(call compile,fuzzer,clang $(SAN_FLAGS) $$(SIMD) -fsanitize=fuzzer-no-link,,\
    $(B)/packages-test))

# The model for a bare RISC-V machine, without a C library.
model-rv: $(MODEL_SRC:%=$(B)/model-rv/%.o)

# --- firmware ---

# $(call uses,FOLDERS): folders of kernels/, and those whose headers they include.
uses = $(sort $(1) $(shell cat $(1:%=kernels/%/*.[ch]) | \
    sed -n 's|^#include "kernels/\([^/]*\)/.*|\1|p'))
ifdef OPERATORS
NAMES   := $(TILE_OPS:kernels/ops/%.tile=%)
UNKNOWN := $(filter-out $(notdir $(wildcard kernels/*)) $(NAMES),$(OPERATORS))
$(if $(UNKNOWN),$(error OPERATORS: no folder kernels/$(firstword $(UNKNOWN))))
KERNELS := $(call uses,$(call uses,$(filter-out $(NAMES),$(OPERATORS)) \
    $(if $(filter $(NAMES),$(OPERATORS)),ops)))
UNUSED  := $(if $(filter ops,$(OPERATORS)),,\
    $(filter-out $(OPERATORS:%=kernels/ops/%.tile),$(TILE_OPS)))
FW_LESS := $(filter-out kernels/%,$(FW_SRC)) \
    $(filter-out $(UNUSED),$(filter $(KERNELS:%=kernels/%/%),$(FW_SRC)))
endif
NAME := salai$(subst $() ,,$(OPERATORS:%=-%))

# Reached whenever it is asked for: with another LIBC or OPERATORS the copy is another.
$(IMAGE): $(B)/fw-$(LIBC)/$(NAME).elf FORCE
	$(Q)if ! cmp -s $< $@; then cp $< $@.new && mv $@.new $@ && echo "  COPY $(<F) of $(<D)"; \
	else $(if $(filter $@,$(MAKECMDGOALS)),echo "  $@ is up to date",:); fi

# The image, and one that has the self-tests as well, with each C library.
FW := $(B)/fw-picolibc $(B)/fw-newlib
$(FW:=/$(NAME).elf): %/$(NAME).elf: $(addprefix %/,$(patsubst %,%.o,$(or $(FW_LESS),$(FW_SRC))))
$(FW:=/test.elf): %/test.elf: $(addprefix %/,$(FW_SRC:=.o) $(TARGET_SRC:=.o))
# That counts what of it runs, for make coverage: functions as they are written, without
# assertions, which nothing is to reach.
$(B)/fw-cov/%.o: PLAIN = -Og -fno-inline
$(B)/fw-cov/test.elf: $(addprefix $(B)/fw-cov/,$(FW_SRC:=.o) $(TARGET_SRC:=.o) tests/coverage.c.o)
$(B)/fw-cov/test.elf: IMAGE_KIB = 4096
LD_cov := $(LD_picolibc) -lgcov -Wl,--wrap=host_exit
$(FW:=/$(NAME).elf) $(FW:=/test.elf) $(B)/fw-cov/test.elf: $(wildcard linker/*.ld)
$(B)/fw-%.elf: LINK = $(CROSS)gcc $(RV64) -nostartfiles -static -T linker/npu.ld \
    -Wl,--gc-sections,--fatal-warnings,--build-id,-Map=$(@:.elf=.map) $(HEAP:%=-Wl,--wrap=%) \
    -Wl,--defsym=__image_limit=$(IMAGE_KIB)K
$(B)/fw-%.elf: LIBS = $(LD_$(@D:$(B)/fw-%=%))
# KiB of text + rodata, so that one notices what an image begins to carry: 90 for what every image
# has, the texts of the contract foremost, 10 for each operator, 1 for one that is a tile program,
# 32 for the Matmul object and 220 for tile programs: parser, planners, interpreter and libm's
# functions in double precision. newlib's printf and its like are 32 larger; the image of the
# tests has all of them.
OPERATOR_FOLDERS := $(filter-out %/cli/ %/lib/ %/mm/ %/tile/,$(wildcard kernels/*/))
limit = $(shell expr $(1) + 10 \* $(words $(OPERATOR_FOLDERS)) + $(words $(TILE_OPS)) + 32 + 220)
$(B)/fw-picolibc/%.elf: IMAGE_KIB = $(call limit,90)
$(B)/fw-newlib/%.elf: IMAGE_KIB = $(call limit,122)
$(FW:=/test.elf): IMAGE_KIB = 1024

$(B)/newlib/lib/libc.a: tools/newlib | $(B)/packages-test
	$(call say,NEWLIB)
	$(Q)tools/newlib $(B)/newlib

# --- plugin, host programs ---

# Looks each time whether QEMU is still the one that the headers are of.
$(B)/qemu/stamp: FORCE | $(B)/packages-run
	$(Q)tools/emu/qemu/headers $(B)/qemu

FORCE:

$(B)/qemu/version.h: $(B)/qemu/stamp ;

# The headers first: they come over the network while the model is compiled.
$(B)/npu.so: $(B)/qemu/stamp $(patsubst %,$(B)/model/%.o,$(MODEL_SRC) $(CHECK_SRC) \
    $(FOLLOW_SRC)) \
    $(patsubst %,$(B)/plugin/%.o,tools/emu/part.c $(call find,tools/emu/qemu))
$(B)/npu.so: LINK = $(CC) -shared
$(B)/npu.so: LIBS = -lz

$(B)/san/host-tests: $(HOST_SRC:%=$(B)/san/%.o)
$(B)/check-streams: $(STREAMS_SRC:%=$(B)/san/%.o)
$(B)/san/host-tests $(B)/check-streams: LINK = $(CC) $(SAN_FLAGS)
%/host-tests: LIBS = -lmpfr -lgmp -lm

$(B)/fuzz-program $(B)/fuzz-snapshot: $(FUZZ_SRC:%=$(B)/fuzzer/%.o)
$(B)/fuzz-tile: $(patsubst %,$(B)/fuzzer/%.o,tests/fuzz/tile.c $(TILE_SRC) $(TABLES))
$(B)/fuzz-%: LINK = clang $(SAN_FLAGS)
$(B)/fuzz-% $(B)/cov/fuzz-%: LIBS = -lm -fsanitize=fuzzer \
    -Xlinker --defsym=LLVMFuzzerTestOneInput=$(patsubst fuzz-%,fuzz_%_input,$(@F))

# The same with counters in the model and the race check; the tests need gcc, for _Float16.
counted = $(patsubst %,$(B)/cov/%.o,$(filter tools/emu/%,$(1))) \
    $(patsubst %,$(B)/host/%.o,$(filter-out tools/emu/%,$(1)))
$(B)/cov/host-tests: $(call counted,$(HOST_SRC))
$(B)/cov/check-streams: $(call counted,$(STREAMS_SRC))
$(B)/cov/fuzz-program $(B)/cov/fuzz-snapshot: $(call counted,$(FUZZ_SRC))
$(B)/cov/%: LINK = clang $(COV_FLAGS)

$(B)/plumbing: $(patsubst %,$(B)/host/%.o,tests/qemu/device/plumbing.c tests/test.c \
    tests/host/main.c hal/err.c $(TABLES))
$(B)/regdoc: $(patsubst %,$(B)/host/%.o,tools/regdoc.c $(TABLES))
REPORT_SRC := $(call find,tools/profile) tools/emu/part.c $(TABLES)
$(B)/report: $(REPORT_SRC:%=$(B)/host/%.o)
$(B)/san/report: $(REPORT_SRC:%=$(B)/san/%.o)
$(B)/compare: $(patsubst %,$(B)/host/%.o,$(call find,tools/compare) $(TABLES) \
    $(patsubst %,tools/profile/%.c,json read arrange words texts lane))
$(B)/san/report: LINK = $(CC) $(SAN_FLAGS)
$(B)/report $(B)/san/report $(B)/compare: LIBS = -lz
# The reader of models is made of ONNX's own description of them.
ONNX := $(B)/onnx/onnx.pb-c
$(ONNX).c: | $(B)/packages-graph
	$(call say,PROTOC)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --proto_path=/usr/include/onnx --c_out=$(@D) onnx.proto
$(ONNX).h: $(ONNX).c ;
$(B)/host/tools/graph/read.c.o: $(ONNX).h
# The planner of the firmware is asked on the host, too; what it shares a file with and is of
# the machine is left out by the linker.
$(B)/graph: $(patsubst %,$(B)/host/%.o,$(call find,tools/graph kernels/tile kernels/mm \
    kernels/lib) $(ONNX).c kernels/graph/plan.c kernels/cli/npy_header.c hal/err.c $(TABLES))
$(B)/graph: LINK = $(CC) -Wl,--gc-sections
$(B)/graph: LIBS = -lprotobuf-c -lm
$(B)/host/tests/bench/blas.c.o: | $(B)/packages-bench
$(B)/bench/blas: $(B)/host/tests/bench/blas.c.o
$(B)/bench/blas: LIBS = -lopenblas
$(B)/bench/calibrate: $(patsubst %,$(B)/host/%.o,tests/test.c hal/err.c \
    $(call find,tests/model/calibrate))
BENCHES := $(patsubst %,$(B)/bench/%,calibrate cube move vector)
$(BENCHES): $(B)/bench/%: $(B)/host/tests/bench/%.c.o $(B)/host/tests/model/rig.c.o \
    $(MODEL_SRC:%=$(B)/model/%.o)

LINK = $(CC)
LIBS =
PROGRAMS := npu.so san/host-tests check-streams fuzz-program fuzz-snapshot fuzz-tile \
    cov/host-tests cov/check-streams cov/fuzz-program cov/fuzz-snapshot plumbing regdoc report \
    san/report compare bench/blas graph
$(PROGRAMS:%=$(B)/%) $(BENCHES) $(FW:=/$(NAME).elf) $(FW:=/test.elf) $(B)/fw-cov/test.elf:
	$(call say,LINK)
	$(Q)mkdir -p $(@D) $(B)/scratch
	$(Q)$(LINK) $(filter %.o,$^) $(LIBS) -o $@

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
