# SPDX-License-Identifier: MIT
#
# What the firmware is compiled and linked from, with what, and how large it may be: the
# Makefile includes this. OPERATORS and LIBC are what a user may set, as is IMAGE_KIB.

TILE_OPS := $(wildcard kernels/ops/*.tile)
NAMES    := $(TILE_OPS:kernels/ops/%.tile=%)
FW_OWN   := $(call find,boot hal sched kernels)
FW_SRC   := $(FW_OWN) $(B)/programs/salai.c
FW_FLAGS := -std=gnu11 $(WARN) -O2 -g $(RV64) -ffunction-sections -fdata-sections \
    -fno-common -fno-eliminate-unused-debug-types -malign-data=natural
FW_CC     = $(call here,$(CROSS)gcc) $(FW_FLAGS)
# The functions that boot/heap.c is between.
HEAP     := malloc calloc realloc aligned_alloc free _malloc_r _calloc_r _realloc_r _free_r

# The C libraries: what objects are compiled with and linked to.
CC_picolibc := --specs=picolibc.specs -DPICOLIBC_DOUBLE_PRINTF_SCANF
LD_picolibc := $(CC_picolibc) -lm
CC_newlib   := -isystem $(B)/newlib/include
LD_newlib   := -nostdlib -L$(B)/newlib/lib -Wl,--start-group -lc -lm -lgcc -Wl,--end-group

# What runs before and after the engines may be slow.
%/mla_prolog_ref.c.o %/matmul_ref.c.o %/heap.c.o %_op.c.o %/demo.c.o %/trap.c.o %/hal/host.c.o \
    %/hal/fault.c.o %/console.c.o %/report.c.o %/measure.c.o %/stack.c.o \
    %/graph_cmd.c.o %/graph/operator.c.o %/graph/program.c.o %/graph/file.c.o %/prof/command.c.o \
    %/conv/cut.c.o %_build.c.o %explain.c.o %/lib/f16.c.o %/lib/near.c.o \
    $(patsubst %,\%/tile/%.c.o,ir/build ir/functions ir/kernel softmax/rows softmax/spill) \
    %/tile/stages/stages.c.o \
    $(patsubst %,\%/tile/text/%.c.o,conv_text expr lex signature text) \
    $(patsubst %,\%/tile/%.c.o,op/bind op/describe op/tile_cmd tiles/script) \
    $(patsubst %,\%/tile/attention/loop_%.c.o,cube form input mask once parts plan sums) \
    $(patsubst %,\%/tile/attention/loop_%.c.o,tiles twice twice_cube twice_parts twice_room) \
    $(patsubst %,$(B)/fw-%/kernels/cli/%.o,picolibc newlib): \
    FW_FLAGS += -Os -msave-restore -fno-jump-tables
# What results are held against: accesses to the flags of exceptions, which nobody asks for,
# are what QEMU is slowest at, and then jumps whose target it has to look up.
%_ref.c.o $(patsubst %,\%/tile/ref/%.c.o,ref ref_input ref_ops): \
    FW_FLAGS += -fno-trapping-math -fno-jump-tables
# Here to be held against a card, not to be fast.
%/published.c.o: FW_FLAGS += -O1

MK := linker/image.mk
$(eval $(call compile,fw-picolibc,$$(FW_CC) $(CC_picolibc),$(MK),$(B)/packages-run))
$(eval $(call compile,fw-newlib,$$(FW_CC) $(CC_newlib),$(MK) $(B)/newlib/lib/libc.a,))
$(eval $(call compile,fw-cov,$$(FW_CC) $(CC_picolibc) -fprofile-arcs -ftest-coverage \
    -fprofile-info-section=gcov_info -w -DNDEBUG $$(PLAIN),$(MK),$(B)/packages-run))

# --- which operators ---

# $(call uses,FOLDERS): folders of kernels/, and those whose headers they include.
uses = $(sort $(1) $(shell find $(1:%=kernels/%) -name '*.[ch]' -exec cat {} + | \
    sed -n 's|^#include "kernels/\([^/]*\)/.*|\1|p'))
ifdef OPERATORS
UNKNOWN := $(filter-out $(notdir $(wildcard kernels/*)) $(NAMES),$(OPERATORS))
$(if $(UNKNOWN),$(error OPERATORS: no folder kernels/$(firstword $(UNKNOWN))))
KERNELS := $(call uses,$(call uses,$(filter-out $(NAMES),$(OPERATORS)) \
    $(if $(filter $(NAMES),$(OPERATORS)),ops)))
# Tile programs have convolutions, but not the operators that are there, too.
LENT    := $(filter-out $(OPERATORS),conv)
TEXTS   := $(if $(filter ops,$(OPERATORS)),$(NAMES),$(filter $(NAMES),$(OPERATORS)))
FW_LESS := $(filter-out kernels/%,$(FW_OWN)) \
    $(filter-out $(LENT:%=kernels/%/%_op.c),$(filter $(KERNELS:%=kernels/%/%),$(FW_OWN)))
endif
NAME := salai$(subst $() ,,$(OPERATORS:%=-%))
FW_LESS += $(if $(TEXTS),$(B)/programs/$(NAME).c)

# Operators that are tile programs: what is compiled has their texts in it. It is one source,
# since the start of a compiler takes longer than any of them.
$(B)/programs/%.c: $(TILE_OPS) kernels/ops kernels/ops/tags.awk linker/image.mk
	$(call say,TEXTS)
	$(Q)awk -f kernels/ops/tags.awk $(TILE_OPS) >&2
	$(Q)mkdir -p $(@D)
	$(Q){ echo '#include "kernels/ops/entry.inc"'; \
	    printf 'PROGRAM(%s);\n' $(if $(filter salai,$*),$(NAMES),$(TEXTS)); } > $@

# Reached whenever it is asked for: with another LIBC or OPERATORS the copy is another.
$(IMAGE): $(B)/fw-$(LIBC)/$(NAME).elf FORCE
	$(Q)if ! cmp -s $< $@; then cp $< $@.new && mv $@.new $@ && echo "  COPY $(<F) of $(<D)"; \
	else $(if $(filter $@,$(MAKECMDGOALS)),echo "  $@ is up to date",:); fi

# --- images ---

# What users run, and one that has the self-tests as well, with each C library.
FW := $(B)/fw-picolibc $(B)/fw-newlib
$(FW:=/$(NAME).elf): %/$(NAME).elf: $(addprefix %/,$(patsubst %,%.o,$(or $(FW_LESS),$(FW_SRC))))
$(FW:=/test.elf): %/test.elf: $(addprefix %/,$(FW_SRC:=.o) $(TARGET_SRC:=.o))
# That counts what of it runs, for make coverage: functions as they are written, without
# assertions, which nothing is to reach.
$(B)/fw-cov/%.o: PLAIN = -Og -fno-inline
$(B)/fw-cov/test.elf: $(addprefix $(B)/fw-cov/,$(FW_SRC:=.o) $(TARGET_SRC:=.o) tests/coverage.c.o)
LD_cov := $(LD_picolibc) -lgcov -Wl,--wrap=host_exit
IMAGES := $(FW:=/$(NAME).elf) $(FW:=/test.elf) $(B)/fw-cov/test.elf
$(IMAGES): $(wildcard linker/*.ld)
$(B)/fw-%.elf: LINK = $(CROSS)gcc $(RV64) -nostartfiles -static -T linker/npu.ld \
    -Wl,--gc-sections,--fatal-warnings,--build-id,-Map=$(@:.elf=.map) $(HEAP:%=-Wl,--wrap=%) \
    -Wl,--defsym=__image_limit=$(IMAGE_KIB)K
$(B)/fw-%.elf: LIBS = $(LD_$(@D:$(B)/fw-%=%))

# KiB of text + rodata, so that one notices what an image begins to carry: 90 for what every image
# has, the texts of the contract foremost, 12 for a folder of operators, 1 for a tile program,
# 32 for the Matmul object and 280 for tile programs: parser, planners, interpreter and libm's
# functions in double precision. newlib's printf and its like are 32 larger; the image of the
# tests has all of them.
OPERATOR_FOLDERS := $(filter-out %/cli/ %/lib/ %/mm/ %/tile/,$(wildcard kernels/*/))
limit = $(shell expr $(1) + 12 \* $(words $(OPERATOR_FOLDERS)) + $(words $(TILE_OPS)) + 32 + 280)
$(B)/fw-picolibc/%.elf: IMAGE_KIB = $(call limit,93)
$(B)/fw-newlib/%.elf: IMAGE_KIB = $(call limit,128)
$(B)/fw-picolibc/test.elf: IMAGE_KIB = 1280
$(B)/fw-newlib/test.elf: IMAGE_KIB = 1312
$(B)/fw-cov/test.elf: IMAGE_KIB = 4096

$(B)/newlib/lib/libc.a: tools/newlib | $(B)/packages-test
	$(call say,NEWLIB)
	$(Q)tools/newlib $(B)/newlib
