/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for tests that does to its memory what allocators do.
 *
 * On SIGUSR1 it reads a line from /command, does it and writes the answer to
 * /answer (by rename, so that a reader sees all or nothing).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgetrandom.h"

#define PAGE 4096ul
#define MIB (1ul << 20)
#define BIG (32 * MIB)

static unsigned char *big;   /* BIG bytes, huge-page sized blocks, all written */
static unsigned char marks[BIG / PAGE]; /* for each page of it the byte at MARK_AT, if that was written later */
#define MARK_AT 7
static unsigned char *odd;   /* the same with an odd start and only every third page written */
static unsigned char *grown; /* from realloc */
static size_t grown_len;
static unsigned char *file_map; /* private mapping of /pattern, some pages written */
static unsigned char data_run[3 * 64 * PAGE] = { 1 }; /* .data, dirtied in several separate runs */
static unsigned char *below_stack; /* STACK_AREA bytes, and right above them as many that grow down */
#define STACK_AREA (16 * PAGE)
static unsigned char *stretchy; /* grows in place by STEP at a time; the room above it is left free */
static size_t stretchy_len;
#define STEP (4 * MIB)
static unsigned char *sparse; /* compareMemory() in memory.ts looks at its ends and its middle: SPARSE bytes of address space with three pages in it */
#define SPARSE (1ul << 40)
/* One MIB each, all written, then: */
static unsigned char *locked, *executable, *unreadable, *read_only, *wiped_on_fork, *not_forked;
static int pipe_fds[2];
static bool odd_dropped;

static unsigned char stamp(unsigned long i, unsigned seed)
{
	return (i * 2654435761u + seed) >> 13;
}

static void fill(unsigned char *p, size_t len, unsigned seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = stamp(i, seed);
}

static size_t wrong(const unsigned char *p, size_t len, unsigned seed, size_t from)
{
	size_t i, n = 0;

	for (i = from; i < len; i++)
		n += p[i] != stamp(i, seed);
	return n;
}

/* As wrong() for [from, to) of `big`, where "scatter" has left its marks. */
static size_t wrong_big(size_t from, size_t to)
{
	size_t i, n = 0;

	for (i = from; i < to; i++) {
		unsigned char mark = i % PAGE == MARK_AT ? marks[i / PAGE] : 0;

		n += big[i] != (mark ? mark : stamp(i, 1));
	}
	return n;
}

static size_t nonzero(const unsigned char *p, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		n += p[i] != 0;
	return n;
}

static unsigned char *map(size_t len)
{
	unsigned char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	return p;
}

static vgetrandom_fn vgetrandom;
static void *generators[2]; /* seeded at the start: for this thread, and for one that is started to draw */
static size_t generator_size;

static void seed_generators(void)
{
	char byte;
	int i;

	vgetrandom = vgetrandom_find();
	for (i = 0; vgetrandom && i < 2; i++) {
		generators[i] = vgetrandom_state(vgetrandom, &generator_size);
		if (!generators[i] || vgetrandom(&byte, 1, 0, generators[i], generator_size) != 1)
			_exit(9);
	}
}

struct draw {
	unsigned char key[16];
	void *generator;
};

static void *draw_key(void *arg)
{
	struct draw *d = arg;
	ssize_t n = vgetrandom ? vgetrandom(d->key, sizeof(d->key), 0, d->generator, generator_size) :
				 getrandom(d->key, sizeof(d->key), 0);

	if (n != sizeof(d->key))
		_exit(10);
	return NULL;
}

static void *sleeping_thread(void *arg)
{
	while (1)
		pause();
	return arg;
}

static bool listen_at(const char *address, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int sk = socket(AF_INET, SOCK_STREAM, 0);

	return inet_pton(AF_INET, address, &a.sin_addr) == 1 && !bind(sk, (struct sockaddr *)&a, sizeof(a)) &&
	       !listen(sk, 8);
}

static unsigned char *special(unsigned seed)
{
	unsigned char *p = map(MIB);

	fill(p, MIB, seed);
	return p;
}

static void start_special(void)
{
	sparse = mmap(NULL, SPARSE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sparse == MAP_FAILED)
		_exit(7);
	fill(sparse, PAGE, 5);
	fill(sparse + SPARSE / 2, PAGE, 6);
	fill(sparse + SPARSE - PAGE, PAGE, 7);
	locked = special(10);
	executable = special(11);
	unreadable = special(12);
	read_only = special(13);
	wiped_on_fork = special(14);
	not_forked = special(15);
	if (mlock(locked, MIB) || mprotect(executable, MIB, PROT_READ | PROT_WRITE | PROT_EXEC) ||
	    mprotect(unreadable, MIB, PROT_NONE) || mprotect(read_only, MIB, PROT_READ) ||
	    madvise(wiped_on_fork, MIB, MADV_WIPEONFORK) || madvise(not_forked, MIB, MADV_DONTFORK))
		_exit(8);
}

/* Whether special memory still has its contents and its ways. */
static int check_special(char *out, size_t room)
{
	size_t bad = wrong(sparse, PAGE, 5, 0) + wrong(sparse + SPARSE / 2, PAGE, 6, 0) +
		     wrong(sparse + SPARSE - PAGE, PAGE, 7, 0) + nonzero(sparse + SPARSE / 4, MIB);
	int status = -1, ways = 0;
	char vec[MIB / PAGE];

	bad += wrong(locked, MIB, 10, 0) + wrong(read_only, MIB, 13, 0) + wrong(wiped_on_fork, MIB, 14, 0) +
	       wrong(not_forked, MIB, 15, 0) + wrong(executable, MIB, 11, 0);
	/* The kernel tells EFAULT where we would get a signal. */
	ways += write(pipe_fds[1], unreadable, 1) < 0 && errno == EFAULT;
	ways += getrandom(read_only, 1, 0) < 0 && errno == EFAULT;
	mprotect(unreadable, MIB, PROT_READ);
	bad += wrong(unreadable, MIB, 12, 0);
	mprotect(unreadable, MIB, PROT_NONE);
	memcpy(executable, "\xb8\x07\x00\x00\x00\xc3", 6); /* mov $7, %eax; ret */
	ways += ((int (*)(void))executable)() == 7;
	fill(executable, MIB, 11);
	if (!fork())
		_exit((nonzero(wiped_on_fork, MIB) == 0) + 2 * (mincore(not_forked, MIB, (void *)vec) < 0));
	wait(&status);
	ways += WEXITSTATUS(status);
	return snprintf(out, room, "wrong %zu ways %d", bad, ways);
}

static void start(void)
{
	pthread_t t;
	size_t i;
	int fd;

	big = map(BIG);
	fill(big, BIG, 1);
	odd = map(BIG + 3 * PAGE) + 3 * PAGE;
	for (i = 0; i < BIG; i += 3 * PAGE)
		fill(odd + i, PAGE, i);
	grown_len = 10 * MIB;
	grown = malloc(grown_len);
	fill(grown, grown_len, 2);
	for (i = 0; i < sizeof(data_run); i += 64 * PAGE)
		fill(data_run + i, 2 * PAGE, i);
	fd = open("/pattern", O_RDONLY);
	file_map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file_map == MAP_FAILED)
		_exit(4);
	for (i = 0; i < MIB; i += 16 * PAGE)
		fill(file_map + i, PAGE, i);
	/* criu premaps such a neighbour by itself, so its area and the held one have to be joined. */
	below_stack = map(2 * STACK_AREA);
	if (mmap(below_stack + STACK_AREA, STACK_AREA, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) == MAP_FAILED)
		_exit(6);
	fill(below_stack, 2 * STACK_AREA, 4);
	if (pipe(pipe_fds) || write(pipe_fds[1], "in flight", 9) != 9)
		_exit(5);
	for (i = 0; i < 3; i++)
		pthread_create(&t, NULL, sleeping_thread, NULL);
	if (!listen_at("127.0.0.1", 7777))
		_exit(3);
	stretchy = map(16 * STEP);
	stretchy_len = STEP;
	fill(stretchy, STEP, 8);
	if (munmap(stretchy + STEP, 15 * STEP))
		_exit(11);
	start_special();
	seed_generators();
	/* A child that shares most pages with us by fork. */
	if (!fork()) {
		big[0] ^= 1;
		sleeping_thread(NULL);
	}
}

/* All that a restore must have kept. */
static int check_all(char *out, size_t room)
{
	size_t bad = wrong_big(0, BIG) + wrong(below_stack, 2 * STACK_AREA, 4, 0), i;

	for (i = odd_dropped ? 21 * MIB : 0; i < BIG; i += 3 * PAGE)
		bad += wrong(odd + i, PAGE, i, 0) + nonzero(odd + i + PAGE, PAGE);
	bad += wrong(grown, 10 * MIB, 2, 0) + wrong(stretchy, STEP, 8, 0);
	for (i = 0; i < sizeof(data_run); i += 64 * PAGE)
		bad += wrong(data_run + i, 2 * PAGE, i, 0);
	for (i = 0; i < MIB; i += 16 * PAGE)
		bad += wrong(file_map + i, PAGE, i, 0);
	return snprintf(out, room, "wrong %zu", bad);
}

/* Bytes that are not zero after memory was given back, of neighbours that changed, and calls that failed. */
static int give_back(char *out, size_t room)
{
	size_t old = 0, harmed = 0, failed = 0;
	int status = -1;

	failed += madvise(big + 2 * MIB, 2 * MIB, MADV_DONTNEED) != 0;
	old += nonzero(big + 2 * MIB, 2 * MIB);
	failed += madvise(big + 8 * MIB + 5 * PAGE, 7 * PAGE, MADV_DONTNEED) != 0;
	old += nonzero(big + 8 * MIB + 5 * PAGE, 7 * PAGE);
	harmed += wrong_big(4 * MIB, 8 * MIB + 5 * PAGE);
	harmed += wrong_big(8 * MIB + 12 * PAGE, 12 * MIB);
	failed += madvise(big + 12 * MIB, MIB, MADV_FREE) != 0;
	failed += madvise(big + 12 * MIB, MIB, MADV_DONTNEED) != 0;
	old += nonzero(big + 12 * MIB, MIB);
	failed += mprotect(big + 14 * MIB, MIB, PROT_READ) != 0;
	failed += madvise(big + 14 * MIB, MIB, MADV_DONTNEED) != 0;
	old += nonzero(big + 14 * MIB, MIB);
	failed += mprotect(big + 14 * MIB, MIB, PROT_READ | PROT_WRITE) != 0;
	if (!fork()) {
		madvise(big + 16 * MIB, MIB, MADV_DONTNEED);
		_exit(nonzero(big + 16 * MIB, MIB) != 0);
	}
	wait(&status);
	failed += status != 0;
	harmed += wrong_big(16 * MIB, 17 * MIB);
	return snprintf(out, room, "old %zu harmed %zu failed %zu", old, harmed, failed);
}

/* The same two questions to a private mapping of a file: here old bytes MUST come back. */
static int give_back_file(char *out, size_t room)
{
	unsigned char *p = file_map + 4 * PAGE; /* not written: what is there is the file's */

	madvise(p, PAGE, MADV_DONTNEED);
	return snprintf(out, room, "old %zu", nonzero(p, PAGE));
}

static int grow(char *out, size_t room)
{
	size_t next = grown_len * 4;
	unsigned char *p = realloc(grown, next);

	if (!p)
		return snprintf(out, room, "realloc: %s", strerror(errno));
	grown = p;
	size_t harmed = wrong(grown, 10 * MIB, 2, 0), old = nonzero(grown + grown_len, next - grown_len);
	fill(grown + grown_len, next - grown_len, 3);
	harmed += wrong(grown + grown_len, next - grown_len, 3, 0);
	grown_len = next;
	return snprintf(out, room, "old %zu harmed %zu", old, harmed);
}

/* Resizes the block at `big` in place as jemalloc and glibc do: one VMA is needed. */
static int resize_big(char *out, size_t room)
{
	unsigned char *p = mremap(big, BIG, BIG * 2, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return snprintf(out, room, "mremap: %s", strerror(errno));
	size_t old = nonzero(p + BIG, BIG);
	fill(p + BIG, BIG, 1);
	big = mremap(p, BIG * 2, BIG, MREMAP_MAYMOVE);
	return big == MAP_FAILED ? snprintf(out, room, "shrink: %s", strerror(errno)) : snprintf(out, room, "old %zu", old);
}

/* mremap() in place works on one VMA only: a copy that got two for it would see EFAULT. */
static int stretch(char *out, size_t room)
{
	size_t len = stretchy_len + STEP, old, harmed;

	if (mremap(stretchy, stretchy_len, len, 0) != stretchy)
		return snprintf(out, room, "mremap: %s", strerror(errno));
	old = nonzero(stretchy + stretchy_len, STEP);
	/* Half of the new part stays untouched, so that VMA and pages do not end at the same place. */
	fill(stretchy + stretchy_len, STEP / 2, 8);
	harmed = wrong(stretchy, STEP, 8, 0);
	stretchy_len = len;
	return snprintf(out, room, "old %zu harmed %zu", old, harmed);
}

/* A key by this thread, one by another, and how they were drawn. */
static int keys(char *out, size_t room)
{
	struct draw d[2] = { { .generator = generators[0] }, { .generator = generators[1] } };
	pthread_t t;
	int n, i;

	draw_key(&d[0]);
	pthread_create(&t, NULL, draw_key, &d[1]);
	pthread_join(t, NULL);
	n = snprintf(out, room, "%s ", vgetrandom ? "vdso" : "kernel");
	for (i = 0; i < 32; i++)
		n += snprintf(out + n, room - n, "%02x", d[i / 16].key[i % 16]);
	return n;
}

static unsigned long touched;

/* Writes to `n` pages spread over the upper half of `big` (the lower is what "give back" gives back). */
static int scatter(char *out, size_t room, unsigned n, unsigned round)
{
	const size_t half = BIG / 2 / PAGE;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t page = half + 1024 + (i * 37 + round * 11) % (half - 1024);

		marks[page] = round;
		big[page * PAGE + MARK_AT] = round;
		touched++;
	}
	return snprintf(out, room, "touched %lu", touched);
}

static int do_command(char *out, size_t room)
{
	char line[128] = "", *end;
	int fd = open("/command", O_RDONLY);
	ssize_t n = read(fd, line, sizeof(line) - 1);
	unsigned a = 0, b = 0;

	close(fd);
	if (n <= 0)
		return snprintf(out, room, "no command");
	line[n] = 0;
	end = strchr(line, '\n');
	if (end)
		*end = 0;
	if (!strcmp(line, "check"))
		return check_all(out, room);
	if (!strcmp(line, "check special"))
		return check_special(out, room);
	if (!strcmp(line, "give back"))
		return give_back(out, room);
	if (!strcmp(line, "give back file"))
		return give_back_file(out, room);
	if (!strcmp(line, "grow"))
		return grow(out, room);
	if (!strcmp(line, "resize"))
		return resize_big(out, room);
	if (!strcmp(line, "stretch"))
		return stretch(out, room);
	if (!strcmp(line, "keys"))
		return keys(out, room);
	if (!strcmp(line, "pipe")) {
		n = read(pipe_fds[0], out, room);
		return n;
	}
	if (sscanf(line, "scatter %u %u", &a, &b) == 2)
		return scatter(out, room, a, b);
	if (!strncmp(line, "listen ", 7))
		return snprintf(out, room, "%s", listen_at(line + 7, 7778) ? "listening" : strerror(errno));
	if (!strcmp(line, "drop odd")) {
		odd_dropped = true;
		return snprintf(out, room, "%d", madvise(odd, 21 * MIB, MADV_DONTNEED));
	}
	if (!strcmp(line, "odd is dropped"))
		return snprintf(out, room, "old %zu", nonzero(odd, 21 * MIB));
	if (!strcmp(line, "spoil")) {
		big[5 * MIB] ^= 1;
		return snprintf(out, room, "spoilt");
	}
	return snprintf(out, room, "unknown command: %s", line);
}

static void answer(const char *text, size_t len)
{
	int fd = open("/answer.new", O_CREAT | O_WRONLY | O_TRUNC, 0644);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len || close(fd) || rename("/answer.new", "/answer"))
		_exit(1);
}

int main(void)
{
	char out[256];
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	start();
	answer("ready", 5);
	while (1)
		if (!sigwait(&set, &sig))
			answer(out, do_command(out, sizeof(out)));
}
