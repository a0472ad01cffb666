/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command line of the simulator.
 *
 *     sim 12              one seed, with its story
 *     sim 1..2000         many, quietly, in JOBS processes
 *     sim -w crash,pause 12   without these knobs
 *     sim -r FILE 1..200  the seeds of the file first
 *     sim -l 12           with the controllers' own log between the lines
 *     sim -n 1..200       failures are not made smaller
 *
 * Every seed is run twice: both runs must be the same to the last byte. A seed that fails is made
 * smaller by leaving out one knob after the other while it still fails. Workers are processes, so
 * that an abort or a sanitizer's finding is one failed seed and not the end of all.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "test/sim/sim.h"

#define JOBS_MAX 64
#define KEPT_MAX 512

typedef struct Case {
    uint64_t seed;
    uint64_t without;
} Case;

/* Shared with the workers. */
typedef struct Board {
    uint64_t next;
    uint64_t running[JOBS_MAX]; /* index + 1 of the case in work, 0 = none */
    uint64_t passed;
    uint64_t failed;
    uint64_t requests;
    uint64_t steps;
    uint64_t simulated_ms;
} Board;

typedef struct Runs {
    uint64_t first;
    uint64_t last;
    uint64_t without;
    Case kept[KEPT_MAX];
    size_t n_kept;
    unsigned jobs;
    bool shrink;
    bool log;
} Runs;

static size_t n_cases(const Runs *runs)
{
    return runs->n_kept + (size_t)(runs->last - runs->first + 1);
}

static Case case_at(const Runs *runs, size_t i)
{
    if (i < runs->n_kept) {
        return runs->kept[i];
    }
    return (Case){runs->first + i - runs->n_kept, runs->without};
}

/* ---- one seed ---- */

static void run_twice(const SimOptions *options, SimResult *ret_result)
{
    SimOptions quiet = {.seed = options->seed, .without = options->without};
    SimResult second;

    sim_run(options, ret_result);
    if (ret_result->failed) {
        return;
    }
    sim_run(&quiet, &second);
    if (second.hash != ret_result->hash) {
        ret_result->failed = true;
        (void)snprintf(ret_result->failure, sizeof(ret_result->failure),
                       "two runs of the seed differ");
    }
}

/* In a process of its own, because the failure may be an abort. Returns whether it fails. */
static bool fails(uint64_t seed, uint64_t without)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        const SimOptions options = {.seed = seed, .without = without};
        SimResult result;

        if (!freopen("/dev/null", "w", stderr)) {
            _exit(3);
        }
        run_twice(&options, &result);
        _exit(result.failed ? 1 : 0);
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ||
           WEXITSTATUS(status) != 0;
}

/* Leaves out one knob after the other while the seed still fails. */
static uint64_t shrink(uint64_t seed, uint64_t without, uint64_t on)
{
    for (int i = 0; i < SIM_KNOBS_; i++) {
        uint64_t bit = 1ull << i;

        if ((on & bit) && fails(seed, without | bit)) {
            without |= bit;
        }
    }
    return without;
}

static void print_set(const char *label, uint64_t set, char separator)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);

    sim_knobs_text(set, &text);
    for (size_t i = 0; i < text.len; i++) {
        text.ptr[i] = (char)(text.ptr[i] == ' ' ? separator : text.ptr[i]);
    }
    printf("%s%s\n", label, text.len > 0 ? text.ptr : "none");
}

static void report(const Runs *runs, Case which, const SimResult *result)
{
    uint64_t all = result->on;
    uint64_t without = which.without;

    printf("seed %llu fails at %.3f s: %s\n", (unsigned long long)which.seed, result->at_s,
           result->failure);
    print_set("  on: ", all, ' ');
    if (runs->shrink && all != 0) {
        without = shrink(which.seed, without, all);
        print_set("  is enough: ", all & ~without, ' ');
    }
    printf("  replay: make sim SEED=%llu", (unsigned long long)which.seed);
    print_set(" WITHOUT=", without, ',');
    (void)fflush(stdout);
}

/* ---- many seeds ---- */

static void work(const Runs *runs, Board *board, unsigned job)
{
    for (;;) {
        uint64_t i = __atomic_fetch_add(&board->next, 1, __ATOMIC_SEQ_CST);
        SimOptions options = {0};
        SimResult result;

        if (i >= n_cases(runs)) {
            return;
        }
        board->running[job] = i + 1;
        options.seed = case_at(runs, i).seed;
        options.without = case_at(runs, i).without;
        run_twice(&options, &result);
        __atomic_fetch_add(&board->requests, result.requests, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&board->steps, result.steps, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&board->simulated_ms, (uint64_t)(result.simulated_s * 1000),
                           __ATOMIC_SEQ_CST);
        if (result.failed) {
            report(runs, case_at(runs, i), &result);
        }
        __atomic_fetch_add(result.failed ? &board->failed : &board->passed, 1, __ATOMIC_SEQ_CST);
        board->running[job] = 0;
    }
}

static pid_t start_worker(const Runs *runs, Board *board, unsigned job)
{
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid == 0) {
        work(runs, board, job);
        exit(0); /* not _exit: the leak checker has its say */
    }
    return pid;
}

/* A worker that died took a seed with it. The knobs that were on are not known: all may have been.
 */
static void bury_worker(const Runs *runs, Board *board, unsigned job, int status)
{
    SimResult result = {.failed = true, .on = (1ull << SIM_KNOBS_) - 1};

    (void)snprintf(result.failure, sizeof(result.failure), "the process %s %d",
                   WIFSIGNALED(status) ? "was killed by signal" : "ended with code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    board->failed++;
    report(runs, case_at(runs, board->running[job] - 1), &result);
    board->running[job] = 0;
}

static int run_many(const Runs *runs)
{
    Board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[JOBS_MAX];
    unsigned alive = runs->jobs;
    struct timespec began;
    struct timespec ended;
    double took;

    CHECK(board != MAP_FAILED);
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    for (unsigned job = 0; job < runs->jobs; job++) {
        pids[job] = start_worker(runs, board, job);
        CHECK(pids[job] > 0);
    }
    while (alive > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);

        for (unsigned job = 0; job < runs->jobs && pid > 0; job++) {
            if (pids[job] != pid) {
                continue;
            }
            if (board->running[job] != 0) {
                bury_worker(runs, board, job, status);
                pids[job] = start_worker(runs, board, job);
            } else {
                alive--;
                if (status != 0) { /* leaks are found at the end */
                    board->failed++;
                    printf("a worker ended with status %d\n", status);
                }
            }
        }
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    took = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
    printf("%d seeds, each twice, in %.1f s (%.1f seeds a second); %llu requests, %.1f hours of "
           "simulated time\n",
           (int)(board->passed + board->failed), took,
           (double)(board->passed + board->failed) / took, (unsigned long long)board->requests,
           (double)board->simulated_ms / 3.6e6);
    printf("%d passed, %d failed\n", (int)board->passed, (int)board->failed);
    return board->failed == 0 && board->passed > 0 ? 0 : 1;
}

static int run_one(const Runs *runs)
{
    const SimOptions options = {.seed = runs->first,
                                .without = runs->without,
                                .story = stdout,
                                .log_fd = runs->log ? STDOUT_FILENO : 0};
    SimResult result;

    run_twice(&options, &result);
    print_set("knobs: ", result.on, ' ');
    printf("%.1f s simulated, %llu requests, %llu writes, trace %016llx\n", result.simulated_s,
           (unsigned long long)result.requests, (unsigned long long)result.writes,
           (unsigned long long)result.hash);
    if (result.failed) {
        printf("seed %llu fails at %.3f s: %s\n", (unsigned long long)options.seed, result.at_s,
               result.failure);
    }
    printf("%d passed, %d failed\n", !result.failed, result.failed);
    return result.failed ? 1 : 0;
}

/* ---- command line ---- */

static bool parse_without(Str list, uint64_t *ret_set)
{
    uint64_t set = 0;

    while (list.ptr && list.len > 0) {
        Str name = str_cut(list, ',', &list);
        SimKnob knob;

        if (name.len == 0 || str_eq(name, STR("none"))) {
            continue;
        }
        if (sim_knob_find(name, &knob) < 0) {
            (void)fprintf(stderr, "sim: no knob is called " STR_FMT "\n", STR_ARG(name));
            return false;
        }
        set |= 1ull << knob;
    }
    *ret_set = set;
    return true;
}

static bool parse_range(Str text, Runs *runs)
{
    Str rest;
    Str first = str_cut(text, '.', &rest);

    if (str_to_u64(first, &runs->first) < 0) {
        return false;
    }
    runs->last = runs->first;
    return !rest.ptr ||
           (str_starts(rest, STR(".")) && str_to_u64(str_drop(rest, 1), &runs->last) == 0 &&
            runs->last >= runs->first);
}

/* "SEED [without,these]  # what it found" a line. */
static bool read_kept(const char *path, Runs *runs)
{
    FILE *file = fopen(path, "re");
    char line[1024];
    bool good = true;

    if (!file) {
        (void)fprintf(stderr, "sim: cannot read %s\n", path);
        return false;
    }
    while (good && fgets(line, sizeof(line), file)) {
        Str rest;
        Str text = str_trim(str_cut(str_from(line), '#', &rest));
        Str seed = str_cut(text, ' ', &rest);
        Case kept = {0};

        if (text.len == 0) {
            continue;
        }
        good = str_to_u64(seed, &kept.seed) == 0 && parse_without(str_trim(rest), &kept.without) &&
               runs->n_kept < KEPT_MAX;
        if (good) {
            runs->kept[runs->n_kept++] = kept;
        }
    }
    (void)fclose(file);
    return good;
}

int main(int argc, char **argv)
{
    static Runs runs = {.jobs = 2, .shrink = true};
    int option;
    bool good = true;

    json_object_seed(1);
    while (good && (option = getopt(argc, argv, "w:r:j:nl")) != -1) {
        uint64_t jobs = 0;

        switch (option) {
        case 'w':
            good = parse_without(str_from(optarg), &runs.without);
            break;
        case 'r':
            good = read_kept(optarg, &runs);
            break;
        case 'j':
            good = str_to_u64(str_from(optarg), &jobs) == 0 && jobs > 0 && jobs <= JOBS_MAX;
            runs.jobs = (unsigned)jobs;
            break;
        case 'l':
            runs.log = true;
            (void)setvbuf(stdout, NULL, _IOLBF, 0);
            break;
        case 'n':
            runs.shrink = false;
            break;
        default:
            good = false;
            break;
        }
    }
    if (!good || optind != argc - 1 || !parse_range(str_from(argv[optind]), &runs)) {
        (void)fprintf(stderr, "usage: sim [-w KNOB,...] [-r FILE] [-j JOBS] [-n] [-l] SEED|A..B\n");
        return 2;
    }
    return runs.first == runs.last && runs.n_kept == 0 ? run_one(&runs) : run_many(&runs);
}
