/* SPDX-License-Identifier: Apache-2.0 */
/* See cpus.h. Inside a container the cgroup is mounted as the root of /sys/fs/cgroup. */
#include "router/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static int read_line(const char *path, char *buf, int size)
{
    FILE *file = fopen(path, "re");
    char *line;

    if (!file) {
        return -1;
    }
    line = fgets(buf, size, file);
    fclose(file);
    return line ? 0 : -1;
}

int cpus_from_quota(const char *text)
{
    Str rest;
    Str first = str_cut(str_trim(str_from(text)), ' ', &rest);
    uint64_t quota, period;

    if (str_eq(first, STR("max")) || str_starts(first, STR("-"))) {
        return 0;
    }
    if (str_to_u64(first, &quota) < 0 || str_to_u64(rest, &period) < 0 || quota == 0 ||
        period == 0) {
        return -1;
    }
    uint64_t cpus = quota / period + (quota % period != 0);

    return cpus > CPUS_MAX ? CPUS_MAX : (int)cpus;
}

/* 0 = no limit known. */
static int cgroup_limit(void)
{
    char quota[64], period[32], both[128];

    if (read_line("/sys/fs/cgroup/cpu.max", both, sizeof(both)) < 0) {
        if (read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota, sizeof(quota)) < 0 ||
            read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof(period)) < 0) {
            return 0;
        }
        quota[strcspn(quota, "\n")] = '\0';
        snprintf(both, sizeof(both), "%s %s", quota, period);
    }
    int cpus = cpus_from_quota(both);

    return cpus > 0 ? cpus : 0;
}

int cpus_available(void)
{
    cpu_set_t set;
    int cpus = 1;
    int limit = cgroup_limit();

    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        cpus = CPU_COUNT(&set);
    }
    cpus = cpus > CPUS_MAX ? CPUS_MAX : cpus;
    return limit > 0 && limit < cpus ? limit : cpus < 1 ? 1 : cpus;
}
