/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Redundant waits in QEMU: keeps what the race check is told, and judges it at the end.
 * What each of them costs is for tools/findings, which runs the same once more without.
 */
#include "tools/emu/qemu/check/checks.h"
#include "tools/emu/check/race/journal.h"

static struct {
    bool wanted;
    struct journal journal;
} check;

void npu_waitcheck_init(unsigned checks, const struct check_host *host,
                        const struct race_config *config)
{
    check.wanted = checks & CHECK_REDUNDANT;
    journal_open(&check.journal, host, config);
}

void npu_waitcheck_event(const struct npu_event *e)
{
    if (check.wanted) {
        journal_event(&check.journal, e);
    }
}

void npu_waitcheck_hart(const struct race_hart_access *a)
{
    if (check.wanted) {
        journal_hart(&check.journal, a);
    }
}

void npu_waitcheck_write(FILE *to)
{
    const char *comma = "";

    if (!check.wanted) {
        return;
    }
    if (!journal_judge(&check.journal)) {
        fprintf(to, ",\"redundant\":null");
        return;
    }
    fprintf(to, ",\"redundant\":[");
    for (unsigned i = 0; i < check.journal.n_waits; i++) {
        const struct wait *w = &check.journal.wait[i];
        struct record by = {
            .lane = lane_of(w->core, w->pipe),
            .site = {.pc = w->pc, .caller = w->caller, .opcode = w->opcode}};
        if (w->redundant) {
            fprintf(to,
                    "%s\n{\"class\":\"redundant\",\"memory\":\"semaphore\",\"core\":%u"
                    ",\"address\":0,\"count\":%u,\"semaphore\":%u,\"alone\":%s",
                    comma, w->core, w->count, w->sem, w->alone ? "true" : "false");
            npu_checks_record(to, "first", &by, NULL);
            npu_checks_record(to, "second", &by, NULL);
            fprintf(to, "}");
            comma = ",";
        }
    }
    fprintf(to, "]");
}
