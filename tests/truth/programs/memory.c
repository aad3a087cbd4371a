/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory after the checkpoint behaves as after a plain fork: what is given back reads as zeros, what grows keeps its
 * bytes, neighbours and relatives keep theirs. With an argument the same checks run on a private mapping of a file that
 * holds the same bytes, without any checkpoint: there they must fail. Without one it starts again when it is done.
 */
#include "truth.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MB (1ul << 20)
#define AREA (16 * MB)

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 2654435761u >> 13) | 1;
}

static void fill(unsigned char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = pattern(i);
}

static void expect_kept(const unsigned char *at, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		CHECK(at[i] == pattern(i));
}

static void expect_zero(const unsigned char *at, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		CHECK(at[i] == 0);
}

static unsigned char *area(int fd)
{
	unsigned char *at = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	CHECK(at != MAP_FAILED);
	return at;
}

/* Whole huge pages, an odd part, the part before and the part after. */
static void give_back(unsigned char *at, int advice)
{
	size_t from = 3 * MB + 4096 * 5, to = 9 * MB + 4096 * 3;
	CHECK(madvise(at + from, to - from, advice) == 0);
	if (advice == MADV_FREE) /* the kernel may take its time: what is written afterwards must stay */
		memset(at + from, 0, to - from);
	expect_kept(at, 0, from);
	expect_zero(at, from, to);
	expect_kept(at, to, AREA);
}

static int file_of_bytes(void)
{
	unsigned char *bytes = malloc(AREA);
	fill(bytes, AREA);
	int fd = open(HERE "image", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, AREA) == (ssize_t)AREA);
	free(bytes);
	return fd;
}

static void change_bits(unsigned char *split)
{
	CHECK(mprotect(split + 5 * MB, MB, PROT_READ) == 0);
	CHECK(madvise(split + 4 * MB, 3 * MB, MADV_DONTNEED) == 0);
	expect_zero(split, 4 * MB, 7 * MB);
	expect_kept(split, 7 * MB, AREA);
}

static void *reallocated(void *block, size_t old, size_t size)
{
	block = realloc(block, size);
	CHECK(block);
	expect_kept(block, 0, old);
	return block;
}

static void give_back_in_grandchild(unsigned char *inherited)
{
	int status;
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		give_back(inherited, MADV_DONTNEED);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	expect_kept(inherited, 0, AREA);
}

enum { DROPPED, FREED, GROWN, SPLIT, INHERITED, AREAS };

static void round_trip(int fd)
{
	unsigned char *at[AREAS], *block = malloc(4 * MB), *big = malloc(10 * MB);

	for (int i = 0; i < AREAS; i++) {
		at[i] = area(fd);
		if (fd < 0)
			fill(at[i], AREA);
	}
	fill(block, 4 * MB);
	fill(big, 10 * MB);
	if (fd < 0)
		checkpoint();

	expect_kept(at[INHERITED], 0, AREA);
	give_back(at[DROPPED], MADV_DONTNEED);
	give_back(at[FREED], MADV_FREE);
	at[GROWN] = mremap(at[GROWN], AREA, 4 * AREA, MREMAP_MAYMOVE);
	CHECK(at[GROWN] != MAP_FAILED);
	expect_kept(at[GROWN], 0, AREA);
	expect_zero(at[GROWN], AREA, 4 * AREA);
	change_bits(at[SPLIT]);
	block = reallocated(block, 4 * MB, 20 * MB);
	big = reallocated(big, 10 * MB, 200 * MB);
	give_back_in_grandchild(at[INHERITED]);

	free(block);
	free(big);
	for (int i = 0; i < AREAS; i++)
		CHECK(munmap(at[i], (i == GROWN ? 4 : 1) * AREA) == 0);
	if (fd < 0)
		done();
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		round_trip(file_of_bytes());
		return 0;
	}
	for (;;)
		round_trip(-1);
}
