/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The holder: a criu process that keeps the private memory of one snapshot and
 * forks itself for every restore, so that the kernel shares the pages
 * copy-on-write. All of it hooks into an unchanged criu through the linker's
 * --wrap (the list stands in wraps.txt).
 */
#ifndef COLLIMATE_HOLDER_H
#define COLLIMATE_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "types.h"
#include "images/mm.pb-c.h"
#include "images/vma.pb-c.h"

#define HUGE_SIZE 0x200000ul /* one transparent huge page on x86-64 */
#define KERNEL_PAGE 4096ul

/* MADV_COLLAPSE, Linux 6.1; older C libraries do not name it. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* ---- regions.c: which memory of which task is held, and where ---- */

/* A range [start, end) of task `pid` (as seen inside its pid namespace), kept at `addr` here. */
struct region {
	pid_t pid;
	unsigned long start, end;
	char *addr;
	int map_flags; /* MAP_NORESERVE where the task asked for it: it may be far more than the machine has */
};

struct region_table {
	struct region *v;
	size_t nr, cap;
};

static inline unsigned long region_len(const struct region *r)
{
	return r->end - r->start;
}

struct region *regions_add(struct region_table *t, pid_t pid, unsigned long start, unsigned long end);
void regions_sort(struct region_table *t);
void regions_free(struct region_table *t);
/* First region of `pid` that ends after `addr` (it may begin after it too), or NULL. The table must be sorted. */
struct region *regions_find(const struct region_table *t, pid_t pid, unsigned long addr);
/* The region after `r` if it belongs to the same task, or NULL. */
struct region *regions_next(const struct region_table *t, const struct region *r);
/* The region that is exactly [start, end) of `pid`, or NULL. */
struct region *regions_exact(const struct region_table *t, pid_t pid, unsigned long start, unsigned long end);

/* ---- area.c: one stretch of address space per task, in which its regions lie ---- */

struct area {
	pid_t pid;
	unsigned long lo, hi;
	bool gone; /* unmapped in this process */
};

struct area_list {
	struct area *v;
	size_t nr, cap;
};

/* Reserves an area for the `n` regions at `r`, sorted by where they go, and gives each its address in it. */
int area_place(struct area_list *l, pid_t pid, struct region *r, size_t n);
struct area *area_of(struct area_list *l, pid_t pid);
void areas_unmap(struct area_list *l);
/* Sets MADV_DONTFORK or MADV_DOFORK on every area that is still mapped. */
int areas_advise(struct area_list *l, int advice);

/* ---- held.c: the memory held now ---- */

struct held_memory {
	struct region_table regions; /* what is mapped */
	struct region_table runs;    /* the parts of it that the image chain has pages for */
	struct area_list areas;
	dev_t images_dev; /* which image directory it is */
	ino_t images_ino;
	unsigned generation; /* 0 after a cold load, one more with each derive */
};

extern struct held_memory held;
/* True in a process that is restoring a tree from held memory. */
extern bool restoring_from_held;
/* While true, criu does not see that an image directory has a parent. */
extern bool hide_parent_images;
/* Whether private file mappings are held too (CRIU_HOLDER_FILES=0 turns it off). */
extern bool hold_file_mappings;

bool vma_can_be_held(const VmaEntry *e);
uint64_t held_bytes(void);
uint64_t held_populated_bytes(void);
size_t held_tasks(void);

/* ---- load.c, derive.c ---- */

/* Reads a whole snapshot, parents included, into fresh memory. */
int load_snapshot(void);
/* Turns the memory held now into that of the snapshot whose image directory is open, a child of the present one. */
int derive_snapshot(void);
/* Sorts the tables, finds where each run lies and remembers the image directory. */
int held_complete(void);
/* Maps [r->start + offset, + len) of a region, empty. */
int region_map(const struct region *r, unsigned long offset, unsigned long len);

/* ---- task_pages.c: the pagemap of one task ---- */

struct page_read;
struct task_pages {
	pid_t pid;
	MmEntry *mm;
	struct page_read *pr;
};
/* 1 opened, 0 the task has no memory (a zombie), -1 error. `delta` leaves the parent images unread. */
int task_pages_open(struct task_pages *tp, pid_t pid, bool delta);
void task_pages_close(struct task_pages *tp);
/* Adds the regions and runs of this task to `to`, sorted, without addresses. */
int task_pages_collect(const struct task_pages *tp, struct held_memory *to);
/*
 * The start of the first huge-page block at or after `at`, inside [at, end),
 * that the image chain has pages of; `end` if there is none. Regions may be huge
 * and nearly empty, so nobody goes through them block by block.
 */
unsigned long task_pages_next_block(const struct task_pages *tp, unsigned long at, unsigned long end);
/* Bytes of [lo, hi) that the image chain has; with `own`, only those that this image directory itself has. */
unsigned long task_pages_present(const struct task_pages *tp, unsigned long lo, unsigned long hi, bool own);
/* Index of the first pagemap entry that ends after `addr`. */
int task_pages_first(const struct task_pages *tp, unsigned long addr);
/* Reads the pages into the regions `r` .. `r + n`; with `delta`, only those that this image directory itself has. */
int task_pages_read(struct task_pages *tp, const struct region *r, size_t n, bool delta);
/* Calls `fn` for each task of the open image directory. */
int for_each_task(int (*fn)(pid_t pid, void *arg), void *arg);

/* ---- held_table.c: the table beside the images, from which a delta dump learns what is held ---- */

int held_table_write(const char *path);
struct held_table {
	struct region_table runs;
	int pagemap_fd; /* of the holder */
};
int held_table_read(const char *path, struct held_table *out);

/* ---- server.c, ops.c, request.c, reply.c, restore_op.c, derive_op.c ---- */

#define REQUEST_MAX 16384
#define REQUEST_LIST_MAX 16

enum verb { VERB_NONE, VERB_RESTORE, VERB_DERIVE, VERB_STAT, VERB_QUIT };

struct request {
	enum verb verb;
	const char *root, *log, *work, *pidfile, *images, *socket, *table;
	const char *cgroup[REQUEST_LIST_MAX];
	size_t nr_cgroup;
	const char *addr[REQUEST_LIST_MAX];
	size_t nr_addr;
	bool has_uid, wait_ns;
	unsigned uid;
	int oom_score;
	unsigned deadline_ms;
};

/* Parses `text` (which is cut up and kept by the request). NULL, or what is wrong with it. */
const char *request_parse(char *text, struct request *out);

/* Replies are one line of JSON. The message text may hold anything. */
void reply_restored(int conn, pid_t pid, double ms, double fork_ms);
void reply_derived(int conn, double ms, double fork_ms);
void reply_stat(int conn, size_t in_flight);
/* Says that "keep" has arrived: from now on the new processes live. */
void reply_kept(int conn);
void reply_done(int conn);
void reply_error(int conn, const char *error, const char *log_path);
void reply_ready(FILE *out, double load_ms);
/* Copies the end of a criu log to stderr. */
void print_log_tail(const char *log_path);

/* What a forked request tells the holder; in memory that both map. */
struct op_state {
	volatile pid_t root;  /* the restored tree's first process, once it exists */
	volatile int settled; /* the answer is out and taken: leave the tree alone */
};

/* ops.c */
int ops_init(void);
size_t ops_in_flight(void);
/* Finds a free place for a request; NULL when there are too many. */
struct op_state *op_reserve(int *slot);
/* `conn`, or -1, is closed when the fork `pid` is reaped. */
void op_begin(int slot, pid_t pid, const struct request *rq, int conn);
/* In a fork: forgets the requests of the parent. */
void ops_leave(void);
/* Reaps all children that have ended; when a request's fork has ended badly, kills what it leaves. */
void ops_reap(void);
/* Kills forks that are over their time. Returns when the next one will be. */
double ops_enforce(double now);

/* Both run in a fork of the holder. restore_op never returns. */
void restore_op(int conn, const struct request *rq, struct op_state *state, double accepted) __attribute__((noreturn));
/* The new holder's listening socket, or -1 after an error reply. */
int derive_op(int conn, const struct request *rq, double accepted);

/* Whether the client takes the answer ("keep"), before `until` (now_ms()). */
bool client_keeps(int conn, double until);
int listen_on(const char *path);
/* Serves until told to quit. */
int serve(int listen_fd);
double now_ms(void);

/* ---- restore side hooks that requests configure ---- */

/* userns.c: the uid range of this restore, or none. */
void userns_use_base(unsigned base);
/* restore_op.c, called by tree_masks.c in the restoring process as soon as the root task exists. */
void restore_root_born(pid_t pid);
/* image_table.c: a table of ours beside the images; NULL with errno where it can't be opened. */
FILE *image_table_open(const char *name, int flags, const char *mode);
/* task_settings.c: what criu forgets of tasks and threads, beside the images. */
int task_settings_dump(void);
void task_settings_restore(pid_t pid);
void task_settings_restore_threads(void);
/* terminal_data.c: what was written to terminals and not read yet. */
int terminal_note_master(int lfd, pid_t real, int task_fd);
int terminal_note_slave(unsigned index);
int terminal_data_restore(void);
/* dump_stage.c: the last turn of whoever copies files beside a dump. */
int dump_stage_over(void);
/* new_net.c: what to do in the new network namespace before sockets are restored. */
void new_net_configure(int conn, const struct request *rq);

#endif
