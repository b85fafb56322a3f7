/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device: register pages, memory windows, interrupt lines, reset.
 *
 * Modelled: nothing; every access goes to tools/emu/model. Invariant: the model is
 * entered under QEMU's big lock, at the virtual clock's cycle, and the timer is put
 * right afterwards. Addresses and interrupt lines: hal/contract/mem.def; the lines are
 * those that `virt` leaves free (hw/riscv/virt.h: VIRTIO 1-8, UART0 10, RTC 11, PCIE
 * 32-35).
 * Left out: options and everything about the command line (plugin.c).
 */
#include "tools/emu/qemu/device/device.h"

#define VIRT_DRAM_BASE 0x80000000u
#define TYPE_PLIC      "riscv.sifive.plic"

/* A read that no hart makes is a debugger's, the monitor's or a qtest's: it must not
 * disturb. */
static bool from_hart(void)
{
    return current_cpu != NULL;
}

static uint64_t page_read(void *opaque, hwaddr addr, unsigned size)
{
    NPUPage *page = opaque;
    SalaiNPU *npu = page->npu;
    uint64_t value;

    if (!from_hart()) {
        return npu_peek(&npu->model, npu_now(npu), page->core, addr, size);
    }
    npu->inside = true;
    npu_started();
    npu_slow_hart(&npu->model);
    value = npu_read(&npu->model, npu_now(npu), page->core, addr, size);
    npu_arm(npu);
    npu_record_access(npu);
    npu->inside = false;
    return value;
}

/* A debugger looks and does not touch: QEMU 7.2 drops its writes to devices by itself. */
static MemTxResult page_write(void *opaque, hwaddr addr, uint64_t value, unsigned size,
                              MemTxAttrs attrs)
{
    NPUPage *page = opaque;
    SalaiNPU *npu = page->npu;

    if (!npu_from_debugger(attrs)) {
        npu->inside = true;
        npu_slow_hart(&npu->model);
        npu_write(&npu->model, npu_now(npu), page->core, addr, value, size);
        npu_arm(npu);
        npu_record_access(npu);
        npu_apart(npu);
        npu->inside = false;
    }
    return MEMTX_OK;
}

/* Every size and alignment reaches the model, which raises the fault of a bad one. */
static const MemoryRegionOps page_ops = {
    .read = page_read,
    .write_with_attrs = page_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static void map_page(SalaiNPU *npu, NPUPage *page, unsigned core, hwaddr base,
                     uint64_t bytes, const char *name)
{
    page->npu = npu;
    page->core = core;
    memory_region_init_io(&page->mr, OBJECT(npu), &page_ops, page, name, bytes);
    memory_region_add_subregion_overlap(&npu->window, base - NPU_CHIP_BASE, &page->mr,
                                        NPU_OVER_MEMORIES + 1);
}

static void map_core(SalaiNPU *npu, unsigned core)
{
    hwaddr base = NPU_CORE_BASE + (hwaddr)core * NPU_CORE_STRIDE;
    g_autofree char *name = g_strdup_printf("npu.core%u.regs", core);

    map_page(npu, &npu->core[core], core, base, NPU_CORE_REG_BYTES, name);
    for (int m = 0; m < NPU_MEM_COUNT; m++) {
        if (npu_mem_offset(m) && npu->model.mem[core][m]) { /* this chip has it */
            memory_region_add_subregion(&npu->window,
                                        base - NPU_CHIP_BASE + npu_mem_offset(m),
                                        &npu->mem[core][m]);
        }
    }
}

static void npu_realize(DeviceState *dev, Error **errp)
{
    SalaiNPU *npu = SALAI_NPU(dev);
    SysBusDevice *bus = SYS_BUS_DEVICE(dev);

    npu->state_bytes = npu_state_size();
    memory_region_transaction_begin(); /* one rebuild of QEMU's map, not 400 */
    npu_memory_init(npu);
    /* One window: a SysBusDevice has no room for the regions of 32 cores. */
    memory_region_init(&npu->window, OBJECT(npu), "npu",
                       NPU_CORE_BASE - NPU_CHIP_BASE +
                           (uint64_t)npu->config.cores * NPU_CORE_STRIDE);
    map_page(npu, &npu->chip, NPU_CHIP, NPU_CHIP_BASE, NPU_CHIP_BYTES, "npu.chip");
    for (unsigned c = 0; c < npu->config.cores; c++) {
        map_core(npu, c);
        sysbus_init_irq(bus, &npu->irq[c]);
    }
    sysbus_init_mmio(bus, &npu->window);
    sysbus_mmio_map(bus, 0, NPU_CHIP_BASE);
    memory_region_transaction_commit();

    npu->state = g_malloc0(npu->state_bytes);
    npu->model.s = npu->state;
    npu->model.host = &npu_host_ops;
    npu->model.ctx = npu;
    if (npu->config.changes && npu->config.changes->endless) {
        npu->model.spill = g_malloc0(npu_spill_bytes(npu->config.cores));
    }
    npu_time_init(npu);
    npu_init(&npu->model, &npu->config);
}

static void npu_device_reset(DeviceState *dev)
{
    SalaiNPU *npu = SALAI_NPU(dev);

    npu_together(npu);
    npu_snapshot_reset(npu);
    npu_racecheck_reset();
    npu_reset(&npu->model, npu_now(npu));
    npu_arm(npu);
}

/* Shown by `info qtree`; set by npu_create() alone. */
static NPU_PROPERTY npu_properties[] = {
    DEFINE_PROP_UINT32("cores", SalaiNPU, cores, 1),
    DEFINE_PROP_UINT32("profile", SalaiNPU, profile, 0),
    DEFINE_PROP_UINT32("timing", SalaiNPU, timing, 0),
    DEFINE_PROP_UINT32("seed", SalaiNPU, seed, 0) NPU_PROPERTIES_END,
};

static void npu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    dc->desc = "Salai NPU";
    dc->realize = npu_realize;
    device_class_set_props(dc, npu_properties);
    dc->vmsd = &npu_vmstate;
    dc->user_creatable = false; /* plugin.c makes the one that there is */
    npu_set_reset(dc, npu_device_reset);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

void npu_register_type(void)
{
    static const TypeInfo info = {
        .name = TYPE_SALAI_NPU,
        .parent = TYPE_SYS_BUS_DEVICE,
        .instance_size = sizeof(SalaiNPU),
        .class_init = npu_class_init,
    };

    type_register_static(&info);
}

SalaiNPU *npu_create(const struct npu_config *asked, bool debug)
{
    DeviceState *dev = qdev_new(TYPE_SALAI_NPU);
    SalaiNPU *npu = SALAI_NPU(dev);
    Object *plic = object_resolve_path_type("", TYPE_PLIC, NULL);

    if (!plic) {
        npu_die("npu.so: the machine has no PLIC: -M virt without aia= is needed");
    }
    npu->gm = current_machine->ram;
    if (!npu->gm || !memory_region_is_ram(npu->gm)) {
        npu_die("npu.so: guest memory must be one piece: -m alone, without -numa");
    }
    npu->gm_host = memory_region_get_ram_ptr(npu->gm);
    npu->config = *asked;
    npu->config.gm_base = VIRT_DRAM_BASE;
    npu->config.gm_size = current_machine->ram_size;
    npu->cores = asked->cores;
    npu->profile = asked->profile;
    npu->timing = asked->timing;
    npu->seed = asked->seed;
    npu->debug = debug;
    object_property_add_child(OBJECT(current_machine), "npu", OBJECT(npu));
    npu_debug_init(npu);
    npu_snapshot_init();
    sysbus_realize_and_unref(SYS_BUS_DEVICE(dev), &error_fatal);
    for (unsigned c = 0; c < npu->cores; c++) {
        sysbus_connect_irq(SYS_BUS_DEVICE(dev), c,
                           qdev_get_gpio_in(DEVICE(plic), npu_irq_line(c)));
    }
    return npu;
}
