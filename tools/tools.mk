# SPDX-License-Identifier: MIT
#
# The plugin and the programs of the host that users run: the Makefile includes this.

TABLES     := hal/contract/tables.c
MODEL_SRC  := $(call find,tools/emu/model) $(TABLES)
CHECK_SRC  := $(call find,tools/emu/check)
FOLLOW_SRC := $(call find,tools/emu/trace)

# The model's arithmetic is what its sources say, on every host.
EXACT       := -ffp-contract=off -fno-math-errno -fno-trapping-math
MODEL_FLAGS  = -std=c11 $(WARN) $(EXACT) $(OPT) -g
PLUGIN_FLAGS := -std=gnu11 -O2 -g -fPIC -Wall -Wextra -Wno-unused-parameter -Werror \
    -fno-strict-aliasing -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -isystem $(B)/qemu/config \
    -isystem $(B)/qemu/include -isystem $(B)/qemu/qapi -I$(B)/qemu -fvisibility=hidden \
    $$(pkg-config --cflags glib-2.0)

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

MK := tools/tools.mk
$(eval $(call compile,model,$(call here,$(CC)) $$(MODEL_FLAGS) $$(SIMD) -fPIC \
    -fvisibility=hidden,$(MK),$(B)/packages-run))
$(eval $(call compile,model-rv,$(CROSS)gcc $$(MODEL_FLAGS) $(RV64) -ffreestanding,$(MK),\
    $(B)/packages-run))
$(eval $(call compile,plugin,$(call here,$(CC)) $$(PLUGIN_FLAGS),$(MK) $(B)/qemu/stamp,))
$(eval $(call compile,host,$(CC) -std=gnu11 -Wall -Wextra -Werror -O2 -g -DCHECK_EDGES \
    -ffunction-sections -fdata-sections,$(MK),$(B)/packages-run))

# --- the emulator ---

# The headers first: they come over the network while the model is compiled.
$(B)/npu.so: $(B)/qemu/stamp $(patsubst %,$(B)/model/%.o,$(MODEL_SRC) $(CHECK_SRC) \
    $(FOLLOW_SRC)) \
    $(patsubst %,$(B)/plugin/%.o,tools/emu/part.c $(call find,tools/emu/qemu))
$(B)/npu.so: LINK = $(CC) -shared
$(B)/npu.so: LIBS = -lz

# Looks each time whether QEMU is still the one that the headers are of.
$(B)/qemu/stamp: FORCE | $(B)/packages-run
	$(Q)tools/emu/qemu/headers $(B)/qemu

$(B)/qemu/version.h: $(B)/qemu/stamp ;

# The model for a bare RISC-V machine, without a C library.
model-rv: $(MODEL_SRC:%=$(B)/model-rv/%.o)

# --- pages, reports, models of ONNX ---

$(B)/regdoc: $(patsubst %,$(B)/host/%.o,tools/regdoc.c $(TABLES))

# What a program writes appears when it is whole.
OUTPUT_SRC := tools/output.c tools/emu/part.c

REPORT_SRC := $(call find,tools/profile) $(OUTPUT_SRC) $(TABLES)
$(B)/report: $(REPORT_SRC:%=$(B)/host/%.o)
$(B)/compare: $(patsubst %,$(B)/host/%.o,$(call find,tools/compare) $(TABLES) \
    $(patsubst %,tools/profile/%.c,json read arrange words texts lane))
$(B)/report $(B)/compare: LIBS = -lz

# The reader of models is made of ONNX's own description of them.
ONNX := $(B)/onnx/onnx.pb-c
$(ONNX).c: | $(B)/packages-graph
	$(call say,PROTOC)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --proto_path=/usr/include/onnx --c_out=$(@D) onnx.proto
$(ONNX).h: $(ONNX).c ;
$(patsubst %,$(B)/host/%.o,$(call find,tools/graph)) $(B)/fuzzer/tests/fuzz/model.c.o \
    $(patsubst %,$(B)/fuzzer/%.o,$(call find,tools/graph)): $(ONNX).h
# The planner of the firmware is asked on the host, too; what it shares a file with and is of
# the machine is left out by the linker.
GRAPH_SRC := $(call find,tools/graph kernels/tile kernels/mm kernels/lib) $(ONNX).c \
    kernels/graph/plan.c kernels/cli/npy_header.c hal/err.c $(TABLES) $(OUTPUT_SRC) \
    kernels/move/plan.c kernels/move/transpose.c kernels/pool/plan.c \
    $(patsubst %,kernels/conv/%.c,plan unit cut patch pack depthwise_plan)
$(B)/graph: $(GRAPH_SRC:%=$(B)/host/%.o)
$(B)/graph: LINK = $(CC) -Wl,--gc-sections
$(B)/graph: LIBS = -lprotobuf-c -lm

HOST_PROGRAMS := $(patsubst %,$(B)/%,npu.so regdoc report compare graph)
