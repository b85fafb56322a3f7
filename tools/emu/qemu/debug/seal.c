/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The seal of a snapshot: CRC-32 of all that stands before it, which is the guest's memory,
 * the hart, QEMU's devices and the NPU.
 *
 * What of the NPU can be is looked at field by field (model/machine/restore.c). Of the hart
 * and QEMU's own devices nobody looks: a byte that is wrong there ended QEMU itself, or left
 * a hart that spins or sleeps for ever. So the bytes are compared with those that were
 * saved, before anything is replaced. It is of damage that this tells, not of malice.
 *
 * It is the last subsection of the NPU, the last device that is saved: QEMU checks what
 * follows. When it is due, all that is before it is in the file, and is read back.
 */
#include "tools/emu/qemu/device/device.h"

#define MAGIC 0x6e70752e7365616cull /* its first word; where it stands; the sum */
#define WORDS 3
#define CHUNK (1 << 20)

/* The sum goes through a snapshot chunk by chunk. */
struct reader {
    BlockDriverState *bs;
    uint64_t at; /* of the chunk */
    uint32_t sum;
    uint8_t data[CHUNK + WORDS * 8];
};

static bool read_chunk(struct reader *r)
{
    return bdrv_load_vmstate(r->bs, r->data, r->at, sizeof(r->data)) >= 0;
}

static void add(struct reader *r, size_t bytes)
{
    r->sum = crc32(r->sum, r->data, bytes);
    r->at += bytes;
}

static BlockDriverState *disk(void)
{
    return bdrv_all_find_vmstate_bs(NULL, false, NULL, NULL);
}

static int put(QEMUFile *f, void *pv, size_t size, const VMStateField *field,
               JSONWriter *words)
{
    g_autofree struct reader *r = g_new0(struct reader, 1);
    uint64_t end = npu_file_bytes(f);

    r->bs = bdrv_drain_all_count ? disk() : NULL; /* else it is no snapshot */
    while (r->bs && r->at < end) {
        if (!read_chunk(r)) {
            return -EIO;
        }
        add(r, MIN(CHUNK, end - r->at));
    }
    qemu_put_be64(f, MAGIC);
    qemu_put_be64(f, end);
    qemu_put_be64(f, r->sum);
    return 0;
}

static int get(QEMUFile *f, void *pv, size_t size, const VMStateField *field)
{
    for (int i = 0; i < WORDS; i++) {
        qemu_get_be64(f);
    }
    return 0;
}

/* Where in the chunk the seal begins, which says so itself; -1: not in this one. */
static ssize_t seal_in(const struct reader *r)
{
    uint64_t magic = cpu_to_be64(MAGIC);
    const uint8_t *from = r->data, *end = r->data + CHUNK + 8, *found;

    while ((found = memmem(from, end - from, &magic, 8)) != NULL) {
        if (ldq_be_p(found + 8) == r->at + (found - r->data)) {
            return found - r->data;
        }
        from = found + 1;
    }
    return -1;
}

bool npu_seal_holds(uint64_t most)
{
    g_autofree struct reader *r = g_new0(struct reader, 1);

    for (r->bs = disk(); r->bs && r->at < most && read_chunk(r); add(r, CHUNK)) {
        ssize_t at = seal_in(r);

        if (at >= 0) {
            return crc32(r->sum, r->data, at) == ldq_be_p(r->data + at + 16);
        }
    }
    return false;
}

static const VMStateInfo info = {.name = "npu seal", .get = get, .put = put};

const VMStateDescription npu_seal_vmstate = {
    .name = TYPE_SALAI_NPU "/seal",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (VMStateField[]){
            {.name = "seal", .info = &info, .size = WORDS * 8, .flags = VMS_SINGLE},
            VMSTATE_END_OF_LIST(),
        },
};
