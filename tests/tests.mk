# SPDX-License-Identifier: MIT
#
# What tests and benches are compiled and linked from: the Makefile includes this. tests/run
# knows which of it a test needs.

TARGET_SRC := $(call find,tests/target tests/broken tests/tile tests/profile) tests/test.c \
    $(patsubst %,tests/bench/%.c,embedding hart launch mm ops sequence soak tile)
# Of tile programs what is not of the machine.
TILE_SRC   := kernels/lib/near.c $(call find,$(patsubst %,kernels/tile/%,ir text ref))
# Of plans what reads them.
PLAN_SRC   := kernels/graph/plan.c kernels/graph/copy.c
HOST_SRC   := $(filter-out %/onnx.c %/model.c,$(call find,tests/model tests/host \
    tests/fuzz tests/tile)) tests/test.c \
    $(patsubst %,tests/check/%.c,host small memory_test exact_test init_test corpus_test \
    cure_test journal_test follow_test) \
    hal/err.c kernels/cli/npy_header.c tools/emu/qemu/device/pool.c $(PLAN_SRC) $(TILE_SRC) \
    $(MODEL_SRC) $(CHECK_SRC) $(FOLLOW_SRC)
STREAMS_SRC := $(patsubst %,tests/check/%.c,host streams) $(TABLES) \
    $(filter-out $(addprefix %/,$(addsuffix .c,stream memory sync init undefined local)), \
    $(CHECK_SRC))
FUZZ_SRC   := $(patsubst %,tests/fuzz/%.c,look program snapshot) tests/model/rig.c $(MODEL_SRC)

# CHECK_EDGES: tools/emu/check/race/edge.h
HOST_FLAGS := -std=gnu11 -Wall -Wextra -Werror $(EXACT) -O1 -g -DCHECK_EDGES
SAN_FLAGS := $(HOST_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=undefined
COV_FLAGS := -std=gnu11 $(EXACT) -DCHECK_EDGES -O1 -fprofile-instr-generate -fcoverage-mapping
# What these two would find the address sanitizer finds, too; its reports want lines alone.
# A third of what the same loops take to compile.
$(B)/san/tools/emu/model/arith/%: SIMD += -g1 -fno-sanitize=null,object-size

MK := tests/tests.mk
$(eval $(call compile,san,$(CC) $(SAN_FLAGS) $$(SIMD),$(MK),$(B)/packages-test))
$(eval $(call compile,tsan,$(CC) $(HOST_FLAGS) -fsanitize=thread $$(SIMD),$(MK),\
    $(B)/packages-test))
$(eval $(call compile,cov,clang $(COV_FLAGS) $$(SIMD),$(MK),$(B)/packages-test))
$(eval $(call compile,fuzzer,clang $(SAN_FLAGS) $$(SIMD) -fsanitize=fuzzer-no-link,$(MK),\
    $(B)/packages-test))

$(B)/san/host-tests: $(HOST_SRC:%=$(B)/san/%.o)
$(B)/check-streams: $(STREAMS_SRC:%=$(B)/san/%.o)
$(B)/san/report: $(REPORT_SRC:%=$(B)/san/%.o)
$(B)/san/host-tests $(B)/check-streams $(B)/san/report: LINK = $(CC) $(SAN_FLAGS)
# The tests that have threads.
$(B)/tsan/host-tests: $(patsubst %,$(B)/tsan/%.o,tests/test.c tests/host/main.c \
    tests/host/data.c tests/model/rig.c $(patsubst %,tests/model/machine/%.c,later_test \
    touch_make) hal/err.c tools/emu/qemu/device/pool.c $(MODEL_SRC))
$(B)/tsan/host-tests: LINK = $(CC) -fsanitize=thread
%/host-tests: LIBS = -lmpfr -lgmp -lm
$(B)/san/report: LIBS = -lz

$(B)/fuzz-program $(B)/fuzz-snapshot: $(FUZZ_SRC:%=$(B)/fuzzer/%.o)
$(B)/fuzz-tile: $(patsubst %,$(B)/fuzzer/%.o,tests/fuzz/tile.c $(TILE_SRC) $(TABLES))
$(B)/fuzz-plan: $(patsubst %,$(B)/fuzzer/%.o,tests/fuzz/plan.c $(PLAN_SRC) $(TILE_SRC) \
    kernels/cli/npy_header.c hal/err.c $(TABLES))
# That ends where the program would, and has its memory; what is of the machine is not there.
$(B)/fuzz-onnx: $(patsubst %,$(B)/fuzzer/%.o,tests/fuzz/onnx.c tests/fuzz/model.c \
    $(filter-out tools/graph/main.c tools/graph/model/sizes.c,$(GRAPH_SRC)))
$(B)/fuzz-onnx: MORE = -lprotobuf-c -no-pie -Wl,--unresolved-symbols=ignore-in-object-files \
    -Wl,--wrap=exit,--wrap=calloc,--wrap=open_memstream,--wrap=fclose
# What clang warns of there, and gcc does not, is meant.
$(B)/fuzzer/kernels/% $(B)/fuzzer/tools/graph/%: SIMD = -Wno-missing-field-initializers \
    -Wno-format-zero-length
# What only fills counts on from no address.
$(B)/fuzzer/kernels/move/%: SIMD = -fno-sanitize=pointer-overflow
$(B)/fuzz-%: LINK = clang $(SAN_FLAGS)
$(B)/fuzz-% $(B)/cov/fuzz-%: LIBS = $(MORE) -lm -fsanitize=fuzzer \
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

# --- benches ---

$(B)/host/tests/bench/blas.c.o: | $(B)/packages-bench
$(B)/bench/blas: $(B)/host/tests/bench/blas.c.o
$(B)/bench/blas: LIBS = -lopenblas
$(B)/bench/calibrate: $(patsubst %,$(B)/host/%.o,tests/test.c hal/err.c \
    $(call find,tests/model/calibrate))
BENCHES := $(patsubst %,$(B)/bench/%,calibrate cube move vector)
$(BENCHES): $(B)/bench/%: $(B)/host/tests/bench/%.c.o $(B)/host/tests/model/rig.c.o \
    $(MODEL_SRC:%=$(B)/model/%.o)

TEST_PROGRAMS := $(BENCHES) $(patsubst %,$(B)/%,san/host-tests san/report tsan/host-tests \
    check-streams fuzz-program fuzz-snapshot fuzz-tile fuzz-plan fuzz-onnx \
    cov/host-tests cov/check-streams cov/fuzz-program cov/fuzz-snapshot plumbing bench/blas)
