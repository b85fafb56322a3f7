/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Snapshots: what they carry of the NPU, and the refusal of one that does not fit.
 *
 * QEMU replaces the machine piece by piece, so there is no way back from a snapshot that
 * turns out to be damaged: the run ends, with one line and status 2. What is of another
 * NPU is found before anything is replaced. QEMU resets the machine first; then the
 * name of a RAM block, near the begin of the snapshot, is compared with our own, and the
 * snapshot with its seal. QEMU itself would find the name too, and say so in three lines
 * with status 1. From there on until the machine runs, or the main loop goes on, its messages
 * are kept back, for they would be more than one.
 *
 * Source: QEMU 7.2 migration/savevm.c, load_snapshot() and qemu_loadvm_state().
 */
#include "tools/emu/qemu/device/device.h"

#define HEAD_BYTES                                                                       \
    65536             /* in which QEMU tells all RAM blocks: 50 bytes each, 200 at most */
#define NAME_MOST 255 /* of a RAM block */
#define SPARE_BYTES                                                                      \
    (1ull << 30) /* that a snapshot has at most, beside DRAM and the NPU's state */
#define CONFIG    "npu.stage(" /* what the name begins with that has the configuration */

static struct {
    FILE *errors; /* QEMU's stderr while a snapshot is loaded, or NULL */
    char *text;   /* what went there */
    size_t bytes;
    bool good;      /* the NPU has taken its part */
    QEMUTimer *end; /* the main loop goes on: it is loaded, or has failed */
} load;

char *npu_snapshot_config(const SalaiNPU *npu)
{
    return g_strdup_printf(CONFIG "contract=%d,state=%u,cores=%u,profile=%s,timing=%s,"
                                  "seed=%u,faults=%u,mem=%" PRIu64 ")",
                           CONTRACT_VERSION, npu->state_bytes, npu->config.cores,
                           npu_profile_name(npu->config.profile),
                           npu_timing_name(npu->config.timing), npu->config.seed,
                           npu->config.n_defects, npu->config.gm_size >> 20);
}

/* --- messages of QEMU's --- */

static void keep_back(void)
{
    if (!load.errors) {
        load.errors = stderr;
        stderr = open_memstream(&load.text, &load.bytes);
        load.good = false;
    }
}

/* All that was kept back, for the caller to free; "" if there was nothing. */
static char *give_back(void)
{
    char *text;

    if (!load.errors) {
        return g_strdup("");
    }
    fclose(stderr);
    stderr = load.errors;
    load.errors = NULL;
    text = g_strdup(load.text);
    free(load.text);
    return text;
}

static void G_GNUC_PRINTF(1, 2) say(const char *format, ...)
{
    g_autofree char *kept = give_back(), *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    fprintf(stderr, "%s: npu.so: %s\n", g_get_prgname(), why); /* not to the monitor */
}

#define refuse(...)                                                                      \
    do {                                                                                 \
        say(__VA_ARGS__);                                                                \
        exit(2);                                                                         \
    } while (0)

/* QEMU has given up, with messages that are still kept back. */
static void at_exit(int status, void *opaque)
{
    g_auto(GStrv) lines = NULL;

    if (load.errors) {
        g_autofree char *kept = give_back();

        lines = g_strsplit(kept, "\n", 2);
        say("the snapshot cannot be loaded: %s", lines[0] ?: "");
        npu_exit_worse(status);
    } else if (runstate_check(RUN_STATE_PRELAUNCH)) { /* -loadvm of one that is not there */
        npu_exit_worse(status);
    }
}

static void load_ends(void *opaque)
{
    g_autofree char *kept = NULL;

    if (load.errors && !load.good) {
        refuse("the snapshot cannot be loaded, the machine is replaced in part");
    }
    kept = give_back();
    fputs(kept, stderr);
}

static void state_changed(void *opaque, bool running, RunState state)
{
    if (running) {
        load_ends(NULL);
    }
}

/* --- before --- */

/* The configuration that a snapshot's first bytes tell, or NULL. */
static char *config_in(const char *head, size_t bytes)
{
    const char *at = memmem(head, bytes, CONFIG, strlen(CONFIG));
    size_t left = at ? head + bytes - at : 0;
    const char *end = at ? memchr(at, ')', MIN(left, NAME_MOST)) : NULL;

    return end ? g_strndup(at, end + 1 - at) : NULL;
}

void npu_snapshot_reset(SalaiNPU *npu)
{
    g_autofree char *head = NULL, *theirs = NULL, *ours = npu_snapshot_config(npu);
    BlockDriverState *bs;

    if (bdrv_drain_all_count == 0) { /* a reset as any */
        return;
    }
    bs = bdrv_all_find_vmstate_bs(NULL, false, NULL, NULL);
    head = g_malloc0(HEAD_BYTES);
    if (!bs || bdrv_load_vmstate(bs, (uint8_t *)head, 0, HEAD_BYTES) < 0) {
        refuse("the snapshot cannot be read");
    }
    theirs = config_in(head, HEAD_BYTES);
    if (!theirs) {
        refuse("the snapshot is damaged, or of a machine without this NPU");
    }
    if (strcmp(theirs, ours) != 0) {
        refuse("the snapshot is of another NPU: it has %s, this is %s",
               theirs + strlen("npu.stage"), ours + strlen("npu.stage"));
    }
    if (!npu_seal_holds(2 * (npu->config.gm_size + npu->state_bytes) + SPARE_BYTES)) {
        refuse("the snapshot is damaged");
    }
    keep_back();
    timer_mod(load.end, 0);
}

/* --- what it carries --- */

static int npu_post_load(void *opaque, int version)
{
    SalaiNPU *npu = opaque;
    bool good;

    npu->restoring = true;
    good = npu_restored(&npu->model, &npu->config, npu_now(npu));
    npu->restoring = false;
    if (!good) {
        refuse("the snapshot is damaged: no machine can be in its state");
    }
    load.good = true;
    npu_history_restored(npu);
    npu_semlog_restored();
    npu_racecheck_restored();
    npu_arm(npu);
    npu_started();
    return 0;
}

const VMStateDescription npu_vmstate = {
    .name = TYPE_SALAI_NPU,
    .version_id = 4, /* 3 had no seal */
    .minimum_version_id = 4,
    .post_load = npu_post_load,
    .fields =
        (VMStateField[]){
            VMSTATE_VBUFFER_UINT32(state, SalaiNPU, 1, NULL, state_bytes),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *[]){&npu_history_vmstate,
                                                   &npu_seal_vmstate, NULL},
};

void npu_snapshot_init(void)
{
    load.end = timer_new_ns(QEMU_CLOCK_REALTIME, load_ends, NULL);
    qemu_add_vm_change_state_handler(state_changed, NULL);
    on_exit(at_exit, NULL);
}
