/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory after the checkpoint behaves as after a plain fork: what is given back reads as zeros, what grows keeps its
 * bytes, neighbours and relatives keep theirs. With an argument the same checks run on a private mapping of a file that
 * holds the same bytes, without any checkpoint: there they must fail.
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

int main(int argc, char **argv)
{
	int fd = -1;

	(void)argv;
	if (argc > 1) {
		unsigned char *bytes = malloc(AREA);
		fill(bytes, AREA);
		fd = open(HERE "image", O_RDWR | O_CREAT, 0600);
		CHECK(fd >= 0 && write(fd, bytes, AREA) == (ssize_t)AREA);
	}
	unsigned char *dropped = area(fd), *freed = area(fd), *grown = area(fd), *split = area(fd), *inherited = area(fd);
	unsigned char *block = malloc(4 * MB), *big = malloc(10 * MB);
	if (fd < 0) {
		fill(dropped, AREA);
		fill(freed, AREA);
		fill(grown, AREA);
		fill(split, AREA);
		fill(inherited, AREA);
	}
	fill(block, 4 * MB);
	fill(big, 10 * MB);
	if (fd < 0)
		checkpoint();

	expect_kept(inherited, 0, AREA);
	give_back(dropped, MADV_DONTNEED);
	give_back(freed, MADV_FREE);
	grown = mremap(grown, AREA, 4 * AREA, MREMAP_MAYMOVE);
	CHECK(grown != MAP_FAILED);
	expect_kept(grown, 0, AREA);
	expect_zero(grown, AREA, 4 * AREA);
	CHECK(mprotect(split + 5 * MB, MB, PROT_READ) == 0);
	CHECK(madvise(split + 4 * MB, 3 * MB, MADV_DONTNEED) == 0);
	expect_zero(split, 4 * MB, 7 * MB);
	expect_kept(split, 7 * MB, AREA);
	block = realloc(block, 20 * MB);
	expect_kept(block, 0, 4 * MB);
	big = realloc(big, 200 * MB);
	expect_kept(big, 0, 10 * MB);

	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		give_back(inherited, MADV_DONTNEED);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	expect_kept(inherited, 0, AREA);
	done();
	return 0;
}
