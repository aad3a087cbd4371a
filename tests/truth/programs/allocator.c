/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills 64 MB by malloc, is copied, frees most of it, and takes 2,000 cleared blocks: all zero, and what was kept is whole.
 * Then from the beginning, so that later copies are of memory that was given back and taken again.
 */
#include "truth.h"
#include <pthread.h>
#ifdef __GLIBC__
#include <malloc.h>
#else
#define malloc_trim(kept) 0 /* musl gives back at once */
#endif

#define BLOCKS 4096
#define SIZE 16384

static unsigned char *block[BLOCKS];

static void *churn(void *arg)
{
	(void)arg;
	for (int round = 0; round < 500; round++) {
		unsigned char *cleared = calloc(1, SIZE * (1 + round % 7));
		CHECK(cleared);
		for (size_t i = 0; i < SIZE * (1 + round % 7ul); i++)
			CHECK(cleared[i] == 0);
		memset(cleared, 0xee, SIZE);
		free(cleared);
	}
	return NULL;
}

static void fill(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		if (block[i])
			continue;
		block[i] = malloc(SIZE);
		CHECK(block[i]);
		memset(block[i], i % 255 + 1, SIZE);
	}
}

static void expect_whole(int i)
{
	for (int j = 0; j < SIZE; j++)
		CHECK(block[i][j] == i % 255 + 1);
}

static void free_most(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (i % 50) {
			expect_whole(i);
			free(block[i]);
			block[i] = NULL;
		}
	malloc_trim(0);
}

int main(void)
{
	pthread_t thread[4];

	for (;;) {
		fill();
		checkpoint();
		free_most();
		for (int i = 0; i < 4; i++)
			CHECK(pthread_create(&thread[i], NULL, churn, NULL) == 0);
		for (int i = 0; i < 4; i++)
			CHECK(pthread_join(thread[i], NULL) == 0);
		for (int i = 0; i < BLOCKS; i += 50)
			expect_whole(i);
		done();
	}
}
