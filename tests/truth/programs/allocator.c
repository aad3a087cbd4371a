/* SPDX-License-Identifier: Apache-2.0 */
/* Fills 64 MB by malloc, is copied, frees most of it, and takes 2,000 cleared blocks: all zero, and what was kept is whole. */
#include "truth.h"
#include <malloc.h>
#include <pthread.h>

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

int main(void)
{
	pthread_t thread[4];

	for (int i = 0; i < BLOCKS; i++) {
		block[i] = malloc(SIZE);
		CHECK(block[i]);
		memset(block[i], i % 255 + 1, SIZE);
	}
	checkpoint();
	for (int i = 0; i < BLOCKS; i++)
		if (i % 50) {
			free(block[i]);
			block[i] = NULL;
		}
	malloc_trim(0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&thread[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	for (int i = 0; i < BLOCKS; i += 50)
		for (int j = 0; j < SIZE; j++)
			CHECK(block[i][j] == i % 255 + 1);
	done();
	return 0;
}
