/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See names.h.
 */
#include "tools/emu/qemu/host/names.h"
#include "semihosting/semihost.h"
#include <dlfcn.h>

/* Where the texts of the demonstration are, and where the firmware's own tests may leave
 * what they write: a folder beside npu.so, nothing of which is ever run. */
#define TEXTS   "/usr/share/common-licenses"
#define LATE    "/usr/lib" /* what the C library loads late */
#define SCRATCH "scratch"

static const char *const devices[] = {"/dev/null", "/dev/full"};

struct output {
    char *name, *real; /* real: what realpath() says of it once it is there, or NULL */
    struct place place;
};

static struct {
    GPtrArray *inputs;  /* of char *, as the arguments have them */
    GArray *outputs;    /* of struct output */
    char *scratch;      /* resolved, or NULL */
    int scratch_folder; /* open, or -1 */
} names;

/* --- the arguments --- */

/* An argument as the firmware sees it, see host_split(). */
static char *decoded(const char *s)
{
    GString *text = g_string_new(NULL);

    for (; *s && strcmp(s, "%") != 0; s++) {
        int high = *s == '%' ? g_ascii_xdigit_value(s[1]) : -1;
        int low = high >= 0 ? g_ascii_xdigit_value(s[2]) : -1;

        if (low >= 0 && high + low > 0) {
            g_string_append_c(text, high * 16 + low);
            s += 2;
        } else {
            g_string_append_c(text, *s);
        }
    }
    return g_string_free(text, false);
}

/* Outputs in one folder share it: a run has fewer files than arguments. */
static void share_folder(struct place *place)
{
    struct stat ours, theirs;

    for (guint i = 0; i < names.outputs->len && !place->err; i++) {
        const struct place *other = &g_array_index(names.outputs, struct output, i).place;

        if (!other->err && fstat(place->dir, &ours) == 0 &&
            fstat(other->dir, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
            ours.st_ino == theirs.st_ino) {
            close(place->dir);
            place->dir = other->dir;
            return;
        }
    }
}

static void add_name(const char *name, bool is_output)
{
    struct output o = {.name = g_strdup(name)};

    if (!is_output) {
        g_ptr_array_add(names.inputs, o.name);
        return;
    }
    place_find(&o.place, name);
    share_folder(&o.place);
    o.real = place_path(&o.place);
    g_array_append_val(names.outputs, o);
}

/* Where npu.so is. */
static char *own_folder(void)
{
    Dl_info info;

    return dladdr(&names, &info) ? g_path_get_dirname(info.dli_fname) : g_strdup(".");
}

void names_read(void)
{
    g_autofree char *folder = own_folder();
    g_autofree char *scratch = g_build_filename(folder, SCRATCH, NULL);
    bool output = false;

    names.inputs = g_ptr_array_new();
    names.outputs = g_array_new(false, false, sizeof(struct output));
    names.scratch = realpath(scratch, NULL);
    names.scratch_folder =
        names.scratch ? open(names.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int i = 0; i < semihosting_get_argc(); i++) {
        g_autofree char *word = decoded(semihosting_get_arg(i));
        const char *value = strchr(word, '=');

        add_name(word, output);
        if (value && value[1]) { /* as in -o z=c.npy */
            add_name(value + 1, output);
        }
        output = strcmp(word, "-o") == 0;
    }
}

/* --- what a path leads to --- */

static const struct output *find_output(const char *path, const char *real)
{
    for (guint i = 0; i < names.outputs->len; i++) {
        const struct output *o = &g_array_index(names.outputs, struct output, i);

        if (strcmp(o->name, path) == 0 || (real && g_strcmp0(o->real, real) == 0)) {
            return o;
        }
    }
    return NULL;
}

static const char *find_input(const char *path, const char *real)
{
    for (guint i = 0; i < names.inputs->len; i++) {
        const char *name = g_ptr_array_index(names.inputs, i);
        g_autofree char *there = real ? realpath(name, NULL) : NULL;

        if (strcmp(name, path) == 0 || (there && strcmp(there, real) == 0)) {
            return name;
        }
    }
    return NULL;
}

/* Whether the first folder above `path` that is there is the scratch folder. */
static bool below_scratch(const char *path)
{
    g_autofree char *dir = g_path_get_dirname(path), *above = NULL;

    while (!(above = realpath(dir, NULL))) {
        char *up = g_path_get_dirname(dir);

        if (strcmp(up, dir) == 0) {
            g_free(up);
            return false;
        }
        g_free(dir);
        dir = up;
    }
    return strcmp(above, names.scratch) == 0;
}

/* A file in the scratch folder, not below; of what is not there, where it would be made. */
static bool find_scratch(const char *path, const char *real, struct target *to)
{
    g_autofree char *base = g_path_get_basename(real ? real : path);
    g_autofree char *dir = g_path_get_dirname(real ? real : path);
    g_autofree char *there = realpath(dir, NULL);
    struct stat st;
    bool itself = g_strcmp0(real, names.scratch) == 0;

    if (names.scratch_folder < 0 || (!real && lstat(path, &st) == 0) || /* a link */
        (!itself && !below_scratch(real ? real : path))) {
        return false;
    }
    to->scratch = true;
    to->place.dir = names.scratch_folder;
    to->place.err = itself ? -EISDIR : there ? 0 : -ENOENT;
    if (strlen(base) > NAME_MAX) {
        to->place.err = -ENAMETOOLONG;
    }
    g_strlcpy(to->place.base, base, sizeof(to->place.base));
    return true;
}

static bool find_written(const char *path, const char *real, struct target *to)
{
    const struct output *o = find_output(path, real);

    *to = (struct target){.path = NULL};
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        if (strcmp(devices[i], path) == 0) {
            to->path = g_strdup(path);
            return true;
        }
    }
    if (o) {
        to->place = o->place;
    }
    return o || find_scratch(path, real, to);
}

bool names_may_write(const char *path, struct target *to)
{
    g_autofree char *real = realpath(path, NULL);

    return find_written(path, real, to);
}

/* An output is read again by the operator after it. */
bool names_may_read(const char *path, struct target *to)
{
    g_autofree char *real = realpath(path, NULL);
    const char *input;

    if (find_written(path, real, to)) {
        return true;
    }
    input = find_input(path, real);
    if (input) {
        to->path = g_strdup(input);
    } else if (real && g_str_has_prefix(real, TEXTS "/")) {
        to->path = g_steal_pointer(&real);
    }
    return to->path != NULL;
}

void names_for_reader(void (*fn)(const char *path, bool folder, bool writes))
{
    for (guint i = 0; i < names.inputs->len; i++) {
        fn(g_ptr_array_index(names.inputs, i), false, false);
    }
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        fn(devices[i], false, true);
    }
    fn(TEXTS, true, false);
    fn(LATE, true, false);
}
