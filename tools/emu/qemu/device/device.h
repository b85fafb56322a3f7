/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device that carries the NPU model into QEMU, as its own files see it.
 *
 * QEMU interface of type "salai-npu":
 *  + MMIO: the register page of the chip, then that of each core, at the addresses
 *    of hal/contract/mem.def
 *  + RAM: one region for each mapped memory of each core, "npu.coreN.NAME"
 *  + one interrupt line for each core, to the lines of the PLIC that `virt` leaves free
 *  + one timer of the virtual clock; an engine cycle is `cores` nanoseconds
 *
 * Invariant: whenever QEMU runs guest code, the timer stands at npu_next().
 */
#ifndef TOOLS_EMU_QEMU_DEVICE_DEVICE_H
#define TOOLS_EMU_QEMU_DEVICE_DEVICE_H

#include "tools/emu/qemu/device/compat.h"
#include "tools/emu/model/npu.h"

#define TYPE_SALAI_NPU "salai-npu"
OBJECT_DECLARE_SIMPLE_TYPE(SalaiNPU, SALAI_NPU)

/* A register page: what the MMIO callbacks get. */
typedef struct NPUPage {
    MemoryRegion mr;
    SalaiNPU *npu;
    unsigned core; /* or NPU_CHIP */
} NPUPage;

struct SalaiNPU {
    SysBusDevice parent_obj;

    struct npu model;
    struct npu_config config;
    MemoryRegion window; /* all of what follows */
    NPUPage chip;
    NPUPage core[NPU_MAX_CORES];
    MemoryRegion mem[NPU_MAX_CORES][NPU_MEM_COUNT]; /* those that are mapped */
    MemoryRegion stage;                             /* the others, of all cores */
    uint8_t *stage_host;
    MemoryRegion l2;                                /* its tags */
    qemu_irq irq[NPU_MAX_CORES];
    MemoryRegion *gm; /* the machine's DRAM */
    uint8_t *gm_host;

    bool inside, told; /* the machine works; tells of an event: for phases.c */

    QEMUTimer *timer;
    int64_t armed; /* when the timer fires, INT64_MAX: never */

    /* What a snapshot carries besides the memories. */
    void *state; /* struct npu_state, state_bytes long */
    uint32_t state_bytes;
    uint32_t cores, profile, timing, seed; /* the configuration, as `info qtree` shows it */
    bool restoring;

    /* For a debugger, if the option debug=on asks for it; a snapshot then carries how
     * far the history had come and when (ns) what is queued was pushed. */
    bool debug;
    uint64_t history; /* commands that have ended */
    uint64_t pushed[NPU_MAX_CORES * NPU_PIPES * PIPE_DEPTH];
};

/* Registers the QOM type. */
void npu_register_type(void);
/* Makes the device and attaches it to the running `virt` machine. */
/* Of the configuration all but guest memory is the caller's. */
SalaiNPU *npu_create(const struct npu_config *asked, bool debug);

/* apart.c: with two threads or more, work on local memories goes to others when many
 * commands have come whose work could; until npu_together(). asked: by a number. */
#define NPU_OVER_MEMORIES 1 /* priority of regions: register pages are above all */
void npu_apart_init(SalaiNPU *npu, unsigned threads, unsigned asked);
unsigned npu_apart_idle(void); /* threads that would help, with this host's load */
void npu_apart(SalaiNPU *npu);
void npu_together(SalaiNPU *npu);
void *npu_apart_job(void *ctx, unsigned core);
uint64_t npu_apart_give(void *ctx, unsigned core);
void npu_apart_wait(void *ctx, unsigned core, uint64_t ticket);
/* So far: threads that work; jobs given; parts of them that others have helped with. */
unsigned npu_apart_threads(void);
uint64_t npu_apart_jobs(void);
uint64_t npu_apart_helped(void);

/* phases.c: what the host's time goes into, to be written at the end; NULL: nowhere. */
void npu_phases_open(SalaiNPU *npu, const char *path);
/* progress.c: on a terminal a run that takes long says that it goes on. */
void npu_progress_open(SalaiNPU *npu);

/* time.c: engine cycle of the virtual clock now. */
uint64_t npu_now(const SalaiNPU *npu);
/* Puts the timer where the model wants it; after everything that changes the model. */
void npu_arm(SalaiNPU *npu);
void npu_time_init(SalaiNPU *npu);
/* sleep.c: how the clock moves while the hart sleeps, and that it stands still while a
 * debugger has stopped the hart. */
void npu_sleep_init(SalaiNPU *npu);
/* Stops the machine for the debugger, behind the hart's present instruction. */
void npu_stop(void);
/* It is about to stop; then no timer may be armed, see npu_arm(). */
bool npu_stopping(void);

/* snapshot.c: refuses a snapshot of another NPU when a reset begins to load it, or a
 * damaged one; the configuration, as the name of a RAM block. */
void npu_snapshot_init(void);
void npu_snapshot_reset(SalaiNPU *npu);
char *npu_snapshot_config(const SalaiNPU *npu);
extern const VMStateDescription npu_vmstate;
/* seal.c: whether the snapshot that is about to be loaded, of at most so many bytes, is as
 * it was saved. */
bool npu_seal_holds(uint64_t most);
extern const VMStateDescription npu_seal_vmstate;

/* memory.c: what the model does to guest memory. */
extern const struct npu_host npu_host_ops;
void npu_memory_init(SalaiNPU *npu);

/* debug.c, requests.c: what a debugger asks of the device, through the property "debug" of
 * /machine/npu; stops the machine where it has asked for that. */
void npu_debug_init(SalaiNPU *npu);
void npu_debug_event(SalaiNPU *npu, const struct npu_event *e);
/* The checks have found something, now; of all runs through here. */
void npu_debug_found(uint64_t cycle, unsigned number);
/* Instructions that the hart has retired, in a replay; else 0. */
uint64_t npu_replay_icount(void);

/* history.c: every command that has ended, with what it wrote, and that has begun, with what
 * it read. */
void npu_history_event(SalaiNPU *npu, const struct npu_event *e);
void npu_history_restored(SalaiNPU *npu);
/* The last command that ended by `ns`, and the one after it, as "ns=N icount=N next=N
 * next_icount=N when=N"; next 0: none is known. */
char *npu_history_before(const SalaiNPU *npu, uint64_t ns);
/* The last `most` commands that read byte `addr` of a memory, a line each. */
char *npu_history_readers(unsigned core, unsigned mem, uint64_t addr, unsigned most);
/* The last command that wrote byte `addr` of a memory, as text; never NULL. */
char *npu_history_who(const SalaiNPU *npu, unsigned core, unsigned mem, uint64_t addr);
void npu_history_dump(const SalaiNPU *npu, GByteArray *to);
extern const VMStateDescription npu_history_vmstate;

/* semlog.c: every post and take of a semaphore; the last `most` of one, a line each. */
void npu_semlog_event(const struct npu_event *e);
void npu_semlog_restored(void);
char *npu_semlog(unsigned core, unsigned sem, unsigned most);

/* core.c: leaves the file when the run fails; at: addresses of functions. */
void npu_core_init(SalaiNPU *npu, const char *path, const char *at);
void npu_core_event(const struct npu_event *e);
void npu_core_translated(struct qemu_plugin_tb *tb);

/* racecheck.c: finds what the checks, a bit each, look for, and leaves it in a file when
 * QEMU ends; CHECK_HART: in the hart's loads and stores as well. */
enum {
    CHECK_RACE = 1,
    CHECK_HART = 2,
    CHECK_MEMORY = 4,
    CHECK_SYNC = 8,
    CHECK_INIT = 16,
    CHECK_ALL = 31,
    CHECK_REDUNDANT = 32, /* waits */
    CHECKS_OF_HART = CHECK_HART | CHECK_INIT, /* these want its accesses */
};
void npu_racecheck_init(SalaiNPU *npu, unsigned checks, const char *path);
void npu_racecheck_event(const struct npu_event *e);
void npu_racecheck_translated(struct qemu_plugin_tb *tb);
/* initcheck.c: what the image writes to files is looked at, if that is wanted. Behind all
 * that answers its calls. */
void npu_initcheck_hook(void);
/* Before a reset, which may be the beginning of a debugger's step back; after that: what
 * is heard until the present is known already. */
void npu_racecheck_reset(void);
void npu_racecheck_restored(void);

/* files.c: answers the calls of hal/contract/host.h. Before record.c, which records them. */
void npu_files_init(void);

/* confine.c: lets the image reach what its arguments name. calls: its calls are looked at as
 * well as confined by the kernel; strict: or it does not run, if the kernel cannot do that.
 * After files.c, before what records its calls. */
void npu_confine(bool calls, bool strict);

/* defect.c: adds what the list names to a configuration whose cores, profile and size of
 * guest memory are set. */
void npu_parse_faults(const char *list, struct npu_config *to);

/* changes.c: has a run take other numbers than its profile's, whose configuration has it. */
void npu_parse_changes(const char *list, struct npu_config *to);
/* And has every line that it prints say so. Before the image is confined. */
void npu_mark_output(const char *list);

/* inject.c: call number n to the host fails. After confine.c, before record.c. */
void npu_fail_call(uint64_t n);

/* check.c: refuses what would fail later or never end: before the machine is made, when it
 * is there, and, watch, an image that has not called npu_started() in time. */
void npu_check_early(void);
void npu_check_machine(bool watch);
void npu_started(void);

/* record.c: calls to the host, written to a directory or answered from there. */
void npu_record(SalaiNPU *npu, const char *dir);
/* After each access of the hart's. */
void npu_record_access(SalaiNPU *npu);
void npu_replay(const char *dir);
/* rr.c: the sum of QEMU's own record, in DIR/manifest when QEMU ends, if there is one; ends a
 * replay that stands still. */
void npu_rr_record(const char *dir);
void npu_rr_replay(void);
/* A signal ended the recording here: whether the replay stops here instead of ending, for
 * a debugger; -no-shutdown asks for that. */
bool npu_replay_stops(void);
/* The replay stands where npu_replay_stops() had it stop, and has nothing left to do. */
bool npu_replay_at_end(void);

/* perturb.c: leaves the results of commands and the delays of the seed in a file, and the
 * bytes of command CORE:PIPE:NUMBER, `of`, or NULL; the delays that a file lists. */
void npu_results_open(const char *path, const char *of);
void npu_results_event(SalaiNPU *npu, const struct npu_event *e);
const struct npu_only *npu_read_delays(const char *path);

/* trace.c: writes every command and what the hart does to a file, from npu_trace_open()
 * on, which fails with the errno, to npu_trace_close() or the end of QEMU. */
int npu_trace_open(SalaiNPU *npu, const char *path);
void npu_trace_close(SalaiNPU *npu);
void npu_trace_event(SalaiNPU *npu, const struct npu_event *e);
/* window.c: what of a run is traced, `what` is cycles, commands, cores or pipes. False: the
 * text says nothing of the kind. */
bool npu_window_set(const char *what, const char *text);

/* tables.c: leaves the tables of a profile in a folder that is there. */
void npu_tables_open(SalaiNPU *npu, const char *folder);
void npu_tables_event(SalaiNPU *npu, const struct npu_event *e);

#endif
