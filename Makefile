# Salai: an NPU in QEMU and its firmware. What you can type:
#
#   make run [ARGS=...]    boot and run an operator: ARGS="matmul a.npy b.npy -o c.npy",
#                          ARGS=help lists them; without ARGS: a demonstration
#   make test [T=name]     every test (T: only on-target tests whose name contains it)
#   make bench             what the scheduler costs, what pipelines reach, 1 to 32 cores
#   make bench-host        speed of the emulated Cube against OpenBLAS on this machine
#   make bench-model       rates of the model's inner loops
#   make calibrate         published against modelled cycles
#   make perturb ARGS=...  the same bytes under SEEDS=100 other timings? (SEED=n: one of them)
#   make fuzz              60 s of random commands and registers against the model
#   make debug ARGS=...    gdb at the kernel's first line, with the npu commands
#   make debug-server ARGS=...   QEMU waiting for an IDE's debugger
#   make record ARGS=...   a run that can be gone through forwards and backwards:
#   make replay            gdb on it
#   make run CORE=1 ARGS=...   a run that fails leaves build/core/TIME.core:
#   make debug-core [FILE=...]   gdb on it, or on the newest
#   make test-full         longer runs of the same
#   make check             style, layering, pages up to date
#   make docs              brings the generated tables of the pages up to date
#   make all | clean | help
#
# CORES=1..32  PROFILE=a2|ascend910|ascend310  MEM=2G  LIBC=picolibc|newlib
# SEED=n delays engines by legal random amounts.  V=1 shows commands.
# TRACE=file.json writes every command for Perfetto.
# NO_INSTALL=1 never installs packages.

# As many jobs as there are processors, unless you say otherwise.
ifeq ($(filter -j% --jobs%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

LIBC    ?= picolibc
CROSS   ?= riscv64-unknown-elf-
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
B       := build
Q       := $(if $(V),,@)
say      = $(if $(V),,@echo "  $(1)" $(patsubst $(B)/%,%,$@))
export CORES PROFILE MEM SEED TRACE CORE CROSS

# --- sources ---

FW_SRC    := $(wildcard boot/*.c boot/*.S hal/*.c sched/*.c sched/*.S kernels/*.c \
                        kernels/*/*.c) hal/contract/tables.c
TEST_SRC  := $(wildcard tests/*.c)
MODEL_SRC := $(wildcard tools/emu/model/*.c) hal/contract/tables.c
QEMU_SRC  := $(wildcard tools/emu/qemu/*.c)
HOST_TESTS := barrier perturb mte mte_s4 atomic load2d load3d load3d_rule model rule \
              snapshot vector cube move fixpipe fixpipe_rule npy calibrate num mmad \
              vector_move vector_gather vector_move_rule vecnum unit vecscalar saturate \
              vector_more event sparse sparse_load \
              sparse_rule limits extent edge cost
QEMU_TESTS := $(patsubst tests/qemu/%_test.sh,%,$(wildcard tests/qemu/*_test.sh))

# --- flags ---

WARN     := -Wall -Wextra -Wconversion -Wshadow -Werror
FW_FLAGS := -std=gnu11 $(WARN) -O2 -g -march=rv64gc -mabi=lp64d -mcmodel=medany \
            -ffunction-sections -fdata-sections -fno-common -fno-eliminate-unused-debug-types \
            -I. -MMD -MP
FW_LINK  := -march=rv64gc -mabi=lp64d -mcmodel=medany -nostartfiles -static -T linker/npu.ld \
            -Wl,--gc-sections -Wl,--fatal-warnings
SPECS     = --specs=picolibc.specs -DPICOLIBC_DOUBLE_PRINTF_SCANF
NEWLIB    = -isystem $(B)/newlib/include
NEWLIB_LD = -nostdlib -L$(B)/newlib/lib -Wl,--start-group -lc -lm -lgcc -Wl,--end-group
# The model's arithmetic is what its sources say, on every host.
EXACT     := -ffp-contract=off -fno-math-errno -fno-trapping-math
MODEL_FLAGS := -std=c11 $(WARN) $(EXACT) -O3 -g -fPIC -I. -MMD -MP
SAN_FLAGS := -std=gnu11 -Wall -Wextra -Werror $(EXACT) -O1 -g -fsanitize=address,undefined \
             -fno-sanitize-recover=undefined -I. -MMD -MP


IMAGE_ASKED := $(IMAGE)# make record IMAGE=..., another than the next
override IMAGE := $(B)/salai.elf
LINKER    := linker/npu.ld linker/memory.ld
FW_OBJ     = $(FW_SRC:%=$(B)/fw-$(1)/%.o)
MODEL_OBJ := $(MODEL_SRC:%=$(B)/model/%.o)
RV_OBJ    := $(MODEL_SRC:%=$(B)/model-rv/%.o)
SAN_OBJ   := $(MODEL_SRC:%=$(B)/san/%.o) $(B)/san/tests/host/rig.c.o
QEMU_OBJ  := $(QEMU_SRC:%=$(B)/plugin/%.o)
TABLES    := hal/contract/tables.c
BENCHES   := $(addprefix $(B)/bench/,cube move vector)
PAGES     := $(wildcard hal/contract/*.md)

.PHONY: all run test test-full bench bench-host bench-model perturb fuzz debug debug-server \
        record replay debug-core calibrate check docs clean help model-rv image host-tests FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

all: $(B)/npu.so image

run: all
	@tools/salai -- $(ARGS)

# The plain on-target tests, then the same with the other C library; programs on the host;
# scripts around QEMU.
test: all $(B)/fw-picolibc/test.elf $(B)/fw-newlib/test.elf $(B)/fw-newlib/salai.elf \
      model-rv host-tests $(B)/plumbing
	@tests/run $(if $(T),target="tools/salai --image $(B)/fw-picolibc/test.elf test $(T)",$(ALL_TESTS))

ALL_TESTS = $(foreach t,$(HOST_TESTS),$(t)="$(B)/san/$(t)_test") fuzz="$(B)/san/fuzz" \
            plumbing="$(B)/plumbing $(B)/npu.so" \
            picolibc="tools/salai --image $(B)/fw-picolibc/test.elf test" \
            newlib="tools/salai --image $(B)/fw-newlib/test.elf test" \
            cores-32="tools/salai --cores 32 --profile ascend310 \
                --image $(B)/fw-picolibc/test.elf test" \
            $(foreach t,$(QEMU_TESTS),qemu-$(t)="tests/qemu/$(t)_test.sh")

# Longer runs of the same programs.
test-full: test
	@tests/run fuzz-long="$(B)/san/fuzz 200000" \
	    perturb-long="SEEDS=200 tests/qemu/perturb_test.sh" \
	    vecnum-long="$(B)/san/vecnum_test 500000" check="tools/check && echo ok 1 - check && echo 1..1"

debug: all
	@tools/gdb/debug -- $(ARGS)

record: all $(IMAGE_ASKED)
	@tools/gdb/record $(if $(IMAGE_ASKED),--image $(IMAGE_ASKED)) -- $(ARGS)

replay: all
	@tools/gdb/debug --replay

debug-core:
	@tools/gdb/debug $(if $(IMAGE_ASKED),--image $(IMAGE_ASKED)) --core $(FILE)

# For an IDE: QEMU waits on a socket, see tools/gdb/README.md.
debug-server: all
	@tools/gdb/debug --server -- $(ARGS)

# What the scheduler costs and what pipelines over it reach.
bench: all $(B)/fw-picolibc/test.elf
	@tools/bench

bench-host: all $(B)/blas_bench
	@tools/bench-host $(B)/blas_bench

# Rates of the model's inner loops on this host.
bench-model: all $(BENCHES)
	@for b in $(BENCHES); do $$b; done

# Does the timing show in the result? tools/perturb says how it is compared.
perturb: all
	@tools/perturb --seeds $(or $(SEEDS),100) -- $(ARGS)

fuzz: $(B)/fuzz
	@mkdir -p $(B)/corpus
	$(B)/fuzz -max_total_time=$(or $(SECONDS),60) -max_len=2048 -artifact_prefix=$(B)/ $(B)/corpus

# Published against modelled cycles.
calibrate: $(B)/san/calibrate_test
	@$< --table

check: $(B)/regdoc
	tools/check
	$(B)/regdoc --check $(PAGES)

docs: $(B)/regdoc
	$(B)/regdoc $(PAGES)

help:
	@sed -n 's/^#//p' Makefile | sed '/^ ---/,$$d'

clean:
	rm -rf $(B)

# --- firmware ---

image: $(B)/fw-$(LIBC)/salai.elf
	$(Q)cmp -s $< $(IMAGE) || { cp $< $(IMAGE).new && mv $(IMAGE).new $(IMAGE); }

# What runs before and after the engines may be slow, but the image has a limit.
%_cmd.c.o %/table.c.o %/npy.c.o %/npy_header.c.o %/report.c.o: FW_FLAGS += -Os

$(B)/fw-picolibc/%.o: % Makefile | $(B)/packages
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CROSS)gcc $(SPECS) $(FW_FLAGS) -c $< -o $@

$(B)/fw-picolibc/salai.elf $(B)/fw-picolibc/test.elf: $(call FW_OBJ,picolibc) $(LINKER)
	$(say,LINK)
	$(Q)$(CROSS)gcc $(FW_LINK) -Wl,-Map=$(@:.elf=.map) $(filter %.o,$^) $(SPECS) -lm -o $@

$(B)/fw-newlib/%.o: % Makefile $(B)/newlib/lib/libc.a
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CROSS)gcc $(NEWLIB) $(FW_FLAGS) -c $< -o $@

$(B)/fw-newlib/salai.elf $(B)/fw-newlib/test.elf: $(call FW_OBJ,newlib) $(LINKER)
	$(say,LINK)
	$(Q)$(CROSS)gcc $(FW_LINK) -Wl,-Map=$(@:.elf=.map) $(filter %.o,$^) $(NEWLIB_LD) -o $@

# The limit of linker/npu.ld is for the default library; this one is 24 KiB larger.
$(B)/fw-newlib/salai.elf: FW_LINK += -Wl,--defsym=__image_limit=0x28000

# The self-tests are an image of their own: everything else and tests/*.c.
$(B)/fw-%/test.elf: FW_LINK += -Wl,--defsym=__image_limit=0x80000
$(B)/fw-picolibc/test.elf: $(TEST_SRC:%=$(B)/fw-picolibc/%.o)
$(B)/fw-newlib/test.elf: $(TEST_SRC:%=$(B)/fw-newlib/%.o)

$(B)/newlib/lib/libc.a: tools/newlib | $(B)/packages-test
	$(say,NEWLIB)
	$(Q)tools/newlib $(B)/newlib

# --- model and plugin ---

# What uses vector instructions of the host is compiled for them and chosen at run time.
%/cube_avx2.c.o %/move_avx2.c.o %/vec_avx2.c.o: SIMD := -mavx2 -mfma -mf16c
%_avx512.c.o: SIMD := -mavx512f -mavx512bw -mavx512dq -mavx512vl
%/vec_avx512.c.o: SIMD := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c \
                          -mprefer-vector-width=512
# The same loops for every type and operation: a fifth of the time would go into -g.
%/vec_avx512.c.o %/vec_avx2.c.o %/vec_plain.c.o: SIMD += -g0

$(B)/model/%.o: % Makefile | $(B)/packages
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(MODEL_FLAGS) $(SIMD) -fPIC -fvisibility=hidden -c $< -o $@

# The model must also compile for a bare RISC-V machine, without a C library.
model-rv: $(RV_OBJ)

$(B)/model-rv/%.o: % Makefile | $(B)/packages
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CROSS)gcc $(MODEL_FLAGS) -march=rv64gc -mabi=lp64d -mcmodel=medany -ffreestanding -c $< -o $@

# Looks each time whether QEMU is still the one that the headers are of.
$(B)/qemu/stamp: FORCE | $(B)/packages
	$(Q)tools/emu/qemu/headers $(B)/qemu

FORCE:

$(B)/plugin/%.o: % Makefile $(B)/qemu/stamp
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -fPIC -Wall -Wextra -Wno-unused-parameter -Werror \
	    -fno-strict-aliasing -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -isystem $(B)/qemu/config \
	    -isystem $(B)/qemu/include -isystem $(B)/qemu/qapi -I$(B)/qemu -fvisibility=hidden \
	    $$(pkg-config --cflags glib-2.0) -MMD -MP -c $< -o $@

$(B)/npu.so: $(QEMU_OBJ) $(MODEL_OBJ)
	$(say,LINK)
	$(Q)$(CC) -shared -o $@ $^

# --- packages ---

# What is needed to build and run; tests and benchmarks want more.
$(B)/packages: tools/setup
	@tools/setup run
	@mkdir -p $(B) && touch $@

$(B)/packages-test: tools/setup
	@tools/setup test
	@mkdir -p $(B) && touch $@

$(B)/packages-bench: tools/setup
	@tools/setup bench
	@mkdir -p $(B) && touch $@

# --- host programs ---

host-tests: $(HOST_TESTS:%=$(B)/san/%_test) $(B)/san/fuzz

$(B)/san/%.o: % Makefile | $(B)/packages-test
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SAN_FLAGS) $(SIMD) -c $< -o $@

$(B)/san/npy_test: $(B)/san/tests/host/npy_test.c.o $(B)/san/kernels/npy_header.c.o
$(B)/san/mmad_test $(B)/san/vecnum_test $(B)/san/vecscalar_test: ORACLE := -lmpfr -lgmp
$(B)/san/vecnum_test $(B)/san/vecscalar_test: $(B)/san/tests/host/oracle.c.o
$(B)/san/calibrate_test: $(addprefix $(B)/san/tests/host/calibrate_,vector.c.o matmul.c.o)
$(B)/san/%_test: $(B)/san/tests/host/%_test.c.o $(SAN_OBJ)
	$(say,LINK)
	$(Q)$(CC) $(SAN_FLAGS) $(filter %.o,$^) $(ORACLE) -lm -o $@
$(B)/san/npy_test:
	$(say,LINK)
	$(Q)$(CC) $(SAN_FLAGS) $(filter %.o,$^) -lm -o $@

$(B)/san/fuzz: $(B)/san/tests/host/fuzz.c.o $(SAN_OBJ)
	$(say,LINK)
	$(Q)$(CC) $(SAN_FLAGS) $^ -o $@

FUZZ_FLAGS := $(filter-out -MMD -MP,$(SAN_FLAGS)) -DLIBFUZZER
FUZZ_OBJ   := $(patsubst %,$(B)/fuzzer/%.o,$(MODEL_SRC) tests/host/rig.c tests/host/fuzz.c)

$(B)/fuzzer/%.o: % Makefile | $(B)/packages-test
	$(say,CLANG)
	$(Q)mkdir -p $(@D)
	$(Q)clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(SIMD) -c $< -o $@

$(B)/fuzz: $(FUZZ_OBJ)
	$(say,LINK)
	$(Q)clang $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@

$(B)/plumbing: tests/qemu/plumbing.c $(TABLES) tests/host/tap.h Makefile | $(B)/packages
	$(say,CC)
	$(Q)$(CC) -std=gnu11 $(WARN) -g -I. $(filter %.c,$^) -o $@

$(B)/blas_bench: tests/host/blas_bench.c | $(B)/packages-bench
	$(say,CC)
	$(Q)$(CC) -O2 $< -lopenblas -o $@

$(B)/bench/%: tests/host/%_bench.c tests/host/rig.c $(MODEL_OBJ)
	$(say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -I. $^ -o $@

$(B)/regdoc: tools/regdoc.c $(TABLES) $(wildcard hal/contract/*.def hal/contract/*.h) \
             | $(B)/packages
	$(say,CC)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Werror -O1 -I. tools/regdoc.c $(TABLES) -o $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)
