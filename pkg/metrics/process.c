/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"

#define PROC_TEXT_MAX 4096
#define CPU_LINES_MAX ((size_t)1 << 20) /* /proc/stat has a long line per CPU before btime */

/* Field numbers of proc(5), /proc/PID/stat. */
enum {
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_STARTTIME = 22,
    STAT_VSIZE = 23,
    STAT_RSS = 24,
    STAT_AFTER_NAME = 3, /* first field after the parenthesised name */
};

/* The field as a number, or -1. The name before it may contain anything, so counting starts behind.
 */
static double stat_field(int field)
{
    char text[PROC_TEXT_MAX];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return -1;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) {
        return -1;
    }
    text[n] = '\0';
    const char *p = strrchr(text, ')');
    for (int i = STAT_AFTER_NAME - 1; p && i < field; i++) {
        p = strchr(p + 1, ' ');
    }
    return p ? strtod(p, NULL) : -1;
}

static void emit_known(MetricSink *sink, double value)
{
    if (value >= 0) {
        metric_emit(sink, NULL, value);
    }
}

static void collect_cpu(MetricSink *sink, void *ctx)
{
    double user = stat_field(STAT_UTIME), sys = stat_field(STAT_STIME);

    UNUSED(ctx);
    if (user >= 0 && sys >= 0) {
        metric_emit(sink, NULL, (user + sys) / (double)sysconf(_SC_CLK_TCK));
    }
}

static void collect_resident(MetricSink *sink, void *ctx)
{
    UNUSED(ctx);
    emit_known(sink, stat_field(STAT_RSS) * (double)sysconf(_SC_PAGESIZE));
}

static void collect_virtual(MetricSink *sink, void *ctx)
{
    UNUSED(ctx);
    emit_known(sink, stat_field(STAT_VSIZE));
}

static void collect_open_fds(MetricSink *sink, void *ctx)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int n = 0;

    UNUSED(ctx);
    if (!dir) {
        return;
    }
    while ((entry = readdir(dir))) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    metric_emit(sink, NULL, n - 1); /* without the one that lists */
}

static void collect_max_fds(MetricSink *sink, void *ctx)
{
    struct rlimit limit;

    UNUSED(ctx);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        metric_emit(sink, NULL, (double)limit.rlim_cur);
    }
}

/* Boot time in seconds since 1970, or -1. */
static double boot_time(void)
{
    char *line = NULL;
    size_t cap = 0, total = 0;
    double found = -1;
    ssize_t n;
    FILE *file = fopen("/proc/stat", "re");

    while (file && found < 0 && total < CPU_LINES_MAX && (n = getline(&line, &cap, file)) > 0) {
        total += (size_t)n;
        if (strncmp(line, "btime ", 6) == 0) {
            found = strtod(line + 6, NULL);
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return found;
}

static void collect_start(MetricSink *sink, void *ctx)
{
    double boot = boot_time(), ticks = stat_field(STAT_STARTTIME);

    UNUSED(ctx);
    if (boot >= 0 && ticks >= 0) {
        metric_emit(sink, NULL, boot + ticks / (double)sysconf(_SC_CLK_TCK));
    }
}

void metrics_process_register(Metrics *metrics)
{
    static const struct {
        MetricType type;
        MetricSpec spec;
        MetricCollect collect;
    } FAMILIES[] = {
        {METRIC_COUNTER,
         {.name = "process_cpu_seconds_total",
          .help = "Total user and system CPU time spent in seconds."},
         collect_cpu},
        {METRIC_GAUGE,
         {.name = "process_max_fds", .help = "Maximum number of open file descriptors."},
         collect_max_fds},
        {METRIC_GAUGE,
         {.name = "process_open_fds", .help = "Number of open file descriptors."},
         collect_open_fds},
        {METRIC_GAUGE,
         {.name = "process_resident_memory_bytes", .help = "Resident memory size in bytes."},
         collect_resident},
        {METRIC_GAUGE,
         {.name = "process_start_time_seconds",
          .help = "Start time of the process since unix epoch in seconds."},
         collect_start},
        {METRIC_GAUGE,
         {.name = "process_virtual_memory_bytes", .help = "Virtual memory size in bytes."},
         collect_virtual},
    };

    for (size_t i = 0; i < ARRAY_LEN(FAMILIES); i++) {
        metrics_collect(metrics, FAMILIES[i].type, &FAMILIES[i].spec, FAMILIES[i].collect, NULL);
    }
}
