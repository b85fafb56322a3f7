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

# --- sources: a file that lies in the right folder is found ---

find       = $(sort $(shell find $(1) -name '*.[cS]'))
TABLES    := hal/contract/tables.c
FW_SRC    := $(call find,boot hal sched kernels)
TARGET_SRC := $(call find,tests/target tests/broken) tests/bench/hart.c
MODEL_SRC := $(call find,tools/emu/model) $(TABLES)
QEMU_SRC  := $(call find,tools/emu/qemu)
HOST_TESTS := $(patsubst tests/%.c,%,$(filter %_test.c,$(call find,tests/model tests/host)))
QEMU_TESTS := $(patsubst tests/qemu/%_test.sh,%,$(sort $(shell find tests/qemu -name '*_test.sh')))
BENCHES   := cube move vector

# --- flags ---

WARN     := -Wall -Wextra -Wconversion -Wshadow -Werror
RV64     := -march=rv64gc -mabi=lp64d -mcmodel=medany
FW_FLAGS := -std=gnu11 $(WARN) -O2 -g $(RV64) -ffunction-sections -fdata-sections \
            -fno-common -fno-eliminate-unused-debug-types
FW_LINK  := $(RV64) -nostartfiles -static -T linker/npu.ld -Wl,--gc-sections \
            -Wl,--fatal-warnings
# The model's arithmetic is what its sources say, on every host.
EXACT    := -ffp-contract=off -fno-math-errno -fno-trapping-math
MODEL_FLAGS := -std=c11 $(WARN) $(EXACT) -O3 -g
SAN_FLAGS := -std=gnu11 -Wall -Wextra -Werror $(EXACT) -O1 -g -fsanitize=address,undefined \
             -fno-sanitize-recover=undefined
PLUGIN_FLAGS = -std=gnu11 -O2 -g -fPIC -Wall -Wextra -Wno-unused-parameter -Werror \
    -fno-strict-aliasing -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -isystem $(B)/qemu/config \
    -isystem $(B)/qemu/include -isystem $(B)/qemu/qapi -I$(B)/qemu -fvisibility=hidden \
    $$(pkg-config --cflags glib-2.0)

# The C libraries of the firmware: what its objects are compiled with and linked to.
CC_picolibc := --specs=picolibc.specs -DPICOLIBC_DOUBLE_PRINTF_SCANF
LD_picolibc := $(CC_picolibc) -lm
CC_newlib   := -isystem $(B)/newlib/include
LD_newlib   := -nostdlib -L$(B)/newlib/lib -Wl,--start-group -lc -lm -lgcc -Wl,--end-group

# What uses vector instructions of the host is compiled for them and chosen at run time.
%_avx2.c.o: SIMD := -mavx2 -mfma -mf16c
%_avx512.c.o: SIMD := -mavx512f -mavx512bw -mavx512dq -mavx512vl
%/vec_avx512.c.o: SIMD += -mfma -mf16c -mprefer-vector-width=512
# The same loops for every type and operation: a fifth of the time would go into -g.
%/vec_avx512.c.o %/vec_avx2.c.o %/vec_plain.c.o: SIMD += -g0
# What runs before and after the engines may be slow.
%_cmd.c.o %/table.c.o %/npy.c.o %/npy_header.c.o %/report.c.o: FW_FLAGS += -Os

.PHONY: all run test test-full bench bench-host bench-model perturb fuzz debug debug-server \
        record replay debug-core calibrate check docs clean help image FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

# --- what you can type ---

IMAGE_ASKED := $(IMAGE)# make record IMAGE=..., another than the next
override IMAGE := $(B)/salai.elf
TEST_ELF  := $(B)/fw-picolibc/test.elf
ASKED      = $(if $(IMAGE_ASKED),--image $(IMAGE_ASKED))

all: $(B)/npu.so image

run: all
	@tools/salai -- $(ARGS)

# The plain on-target tests, then the same with the other C library; programs on the host;
# scripts around QEMU.
test: all $(TEST_ELF) $(B)/fw-newlib/test.elf $(B)/fw-newlib/salai.elf \
      $(MODEL_SRC:%=$(B)/model-rv/%.o) $(HOST_TESTS:%=$(B)/san/%) $(B)/san/fuzz $(B)/plumbing
	@tests/run $(if $(T),target="tools/salai --image $(TEST_ELF) test $(T)",$(ALL_TESTS))

ALL_TESTS = $(foreach t,$(HOST_TESTS),$(subst /,-,$(t:%_test=%))="$(B)/san/$(t)") \
            fuzz="$(B)/san/fuzz" plumbing="$(B)/plumbing $(B)/npu.so" \
            picolibc="tools/salai --image $(TEST_ELF) test" \
            newlib="tools/salai --image $(B)/fw-newlib/test.elf test" \
            cores-32="tools/salai --cores 32 --profile ascend310 --image $(TEST_ELF) test" \
            $(foreach t,$(QEMU_TESTS),qemu-$(subst /,-,$(t))="tests/qemu/$(t)_test.sh")

# Longer runs of the same programs.
test-full: test
	@tests/run fuzz-long="$(B)/san/fuzz 200000" \
	    perturb-long="SEEDS=200 tests/qemu/device/perturb_test.sh" \
	    vecnum-long="$(B)/san/model/oracle/vector_test 500000" \
	    check="tools/check && echo ok 1 - check && echo 1..1"

debug: all
	@tools/gdb/debug -- $(ARGS)

record: all $(IMAGE_ASKED)
	@tools/gdb/record $(ASKED) -- $(ARGS)

replay: all
	@tools/gdb/debug --replay

debug-core:
	@tools/gdb/debug $(ASKED) --core $(FILE)

# For an IDE: QEMU waits on a socket, see tools/gdb/README.md.
debug-server: all
	@tools/gdb/debug --server -- $(ARGS)

# What the scheduler costs and what pipelines over it reach.
bench: all $(TEST_ELF)
	@tools/bench

bench-host: all $(B)/bench/blas
	@tools/bench-host $(B)/bench/blas

# Rates of the model's inner loops on this host.
bench-model: all $(BENCHES:%=$(B)/bench/%)
	@for b in $(BENCHES:%=$(B)/bench/%); do $$b; done

# Does the timing show in the result? tools/perturb says how it is compared.
perturb: all
	@tools/perturb --seeds $(or $(SEEDS),100) -- $(ARGS)

fuzz: $(B)/fuzz
	@mkdir -p $(B)/corpus
	$(B)/fuzz -max_total_time=$(or $(SECONDS),60) -max_len=2048 -artifact_prefix=$(B)/ $(B)/corpus

# Published against modelled cycles.
calibrate: $(B)/san/model/calibrate/calibrate_test
	@$< --table

check: $(B)/regdoc
	tools/check
	$(B)/regdoc --check $(wildcard hal/contract/*.md)

docs: $(B)/regdoc
	$(B)/regdoc $(wildcard hal/contract/*.md)

help:
	@sed -n 's/^#//p' Makefile | sed '/^ ---/,$$d'

clean:
	rm -rf $(B)

# --- objects ---

# $(call compile,FOLDER,COMMAND,AFTER,BEFORE): build/FOLDER/x.c.o from x.c, when AFTER or
# Makefile is newer; BEFORE has to be there.
define compile
$(B)/$(1)/%.o: % Makefile $(3) | $(4)
	$$(call say,CC)
	$(Q)mkdir -p $$(@D)
	$(Q)$(2) -I. -MMD -MP -c $$< -o $$@
endef
PACKAGES := $(B)/packages
PACKAGES_TEST := $(B)/packages-test

$(eval $(call compile,fw-picolibc,$$(CROSS)gcc $(CC_picolibc) $$(FW_FLAGS),,$(PACKAGES)))
$(eval $(call compile,fw-newlib,$$(CROSS)gcc $(CC_newlib) $$(FW_FLAGS),$(B)/newlib/lib/libc.a,))
$(eval $(call compile,model,$$(CC) $(MODEL_FLAGS) $$(SIMD) -fPIC -fvisibility=hidden,,$(PACKAGES)))
# The model must also compile for a bare RISC-V machine, without a C library.
$(eval $(call compile,model-rv,$$(CROSS)gcc $(MODEL_FLAGS) $(RV64) -ffreestanding,,$(PACKAGES)))
$(eval $(call compile,plugin,$$(CC) $(subst $$,$$$$,$(PLUGIN_FLAGS)),$(B)/qemu/stamp,))
$(eval $(call compile,san,$$(CC) $(SAN_FLAGS) $$(SIMD),,$(PACKAGES_TEST)))
$(eval $(call compile,fuzzer,clang $(SAN_FLAGS) $$(SIMD) -DLIBFUZZER \
    -fsanitize=fuzzer-no-link,,$(PACKAGES_TEST)))

# --- firmware ---

image: $(B)/fw-$(LIBC)/salai.elf
	$(Q)cmp -s $< $(IMAGE) || { cp $< $(IMAGE).new && mv $(IMAGE).new $(IMAGE); }

LINKER := $(wildcard linker/*.ld)
# $(call firmware,LIBC): the image, and one that has the self-tests as well.
define firmware
$(B)/fw-$(1)/test.elf: $(TARGET_SRC:%=$(B)/fw-$(1)/%.o)
$(B)/fw-$(1)/salai.elf $(B)/fw-$(1)/test.elf: $(FW_SRC:%=$(B)/fw-$(1)/%.o) $(LINKER)
	$$(call say,LINK)
	$(Q)$$(CROSS)gcc $(FW_LINK) $$(LIMIT) -Wl,-Map=$$(@:.elf=.map) $$(filter %.o,$$^) $(LD_$(1)) -o $$@
endef
$(eval $(call firmware,picolibc))
$(eval $(call firmware,newlib))
# linker/npu.ld has the limit of the plain image; newlib's is 24 KiB larger.
%/test.elf: LIMIT := -Wl,--defsym=__image_limit=0x80000
%/fw-newlib/salai.elf: LIMIT := -Wl,--defsym=__image_limit=0x28000

$(B)/newlib/lib/libc.a: tools/newlib | $(PACKAGES_TEST)
	$(call say,NEWLIB)
	$(Q)tools/newlib $(B)/newlib

# --- plugin, host programs ---

# Looks each time whether QEMU is still the one that the headers are of.
$(B)/qemu/stamp: FORCE | $(PACKAGES)
	$(Q)tools/emu/qemu/headers $(B)/qemu

FORCE:

$(B)/npu.so: $(QEMU_SRC:%=$(B)/plugin/%.o) $(MODEL_SRC:%=$(B)/model/%.o)
	$(call say,LINK)
	$(Q)$(CC) -shared -o $@ $^

# Host tests: the model and, beside each test, what else lies in its folder.
RIG := $(MODEL_SRC:%=$(B)/san/%.o) $(B)/san/tests/model/rig.c.o
$(B)/san/model/oracle/%_test $(B)/san/model/cube/mmad_test: LIBS := -lmpfr -lgmp
$(patsubst %,$(B)/san/model/oracle/%_test,vector scalar): $(B)/san/tests/model/oracle/oracle.c.o
$(B)/san/model/calibrate/calibrate_test: \
    $(patsubst %,$(B)/san/tests/model/calibrate/%.c.o,vector matmul)
$(B)/san/host/npy_test: $(B)/san/kernels/cli/npy_header.c.o
$(B)/san/%_test: $(B)/san/tests/%_test.c.o $(RIG)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SAN_FLAGS) $(filter %.o,$^) $(LIBS) -lm -o $@

$(B)/san/fuzz: $(B)/san/tests/model/fuzz.c.o $(RIG)
	$(call say,LINK)
	$(Q)$(CC) $(SAN_FLAGS) $^ -o $@

$(B)/fuzz: $(patsubst %,$(B)/fuzzer/%.o,$(MODEL_SRC) tests/model/rig.c tests/model/fuzz.c)
	$(call say,LINK)
	$(Q)clang $(SAN_FLAGS) -fsanitize=fuzzer $^ -o $@

$(B)/plumbing: tests/qemu/device/plumbing.c $(TABLES) tests/model/tap.h Makefile | $(PACKAGES)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 $(WARN) -g -I. $(filter %.c,$^) -o $@

$(B)/bench/blas: tests/bench/blas.c | $(B)/packages-bench
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 $< -lopenblas -o $@

$(BENCHES:%=$(B)/bench/%): $(B)/bench/%: tests/bench/%.c tests/model/rig.c \
    $(MODEL_SRC:%=$(B)/model/%.o)
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -I. $^ -o $@

$(B)/regdoc: tools/regdoc.c $(TABLES) $(wildcard hal/contract/*.def hal/contract/*.h) | $(PACKAGES)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Werror -O1 -I. tools/regdoc.c $(TABLES) -o $@

# --- packages: to build and run; tests and benchmarks want more ---

$(PACKAGES): WANT := run
$(PACKAGES_TEST): WANT := test
$(B)/packages-bench: WANT := bench
$(PACKAGES) $(PACKAGES_TEST) $(B)/packages-bench: tools/setup
	@tools/setup $(WANT)
	@mkdir -p $(B) && touch $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)
