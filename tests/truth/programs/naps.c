/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps and timed waits whose callers do not look twice: none may end early, none with an error. */
#include "truth.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>

#define NAP_NS 1500000000LL

enum { SLEEP, USLEEP, NANOSLEEP, CLOCK_NANOSLEEP, SEMAPHORE, CONDITION, SELECT, PPOLL, POLL, NAPS };
static double ended[NAPS];
static int result[NAPS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct timespec in(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += NAP_NS % 1000000000;
	t.tv_sec += NAP_NS / 1000000000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static int nap(int kind)
{
	struct timespec time = {NAP_NS / 1000000000, NAP_NS % 1000000000}, left, until;
	struct timeval other = {1, 500000};
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	sem_t semaphore;

	switch (kind) {
	case SLEEP:
		return (int)sleep(2);
	case USLEEP:
		return usleep(NAP_NS / 1000);
	case NANOSLEEP:
		return nanosleep(&time, &left);
	case CLOCK_NANOSLEEP:
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &left);
	case SEMAPHORE:
		sem_init(&semaphore, 0, 0);
		until = in(CLOCK_MONOTONIC);
		return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == -1 && errno == ETIMEDOUT ? 0 : errno;
	case CONDITION:
		until = in(CLOCK_MONOTONIC);
		pthread_mutex_lock(&mutex);
		return pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT ? 0 : -1;
	case SELECT:
		return select(0, NULL, NULL, NULL, &other);
	case PPOLL:
		return ppoll(NULL, 0, &time, NULL);
	default:
		/* The one that fails with EINTR, as poll(2) tells programs to expect. */
		return poll(NULL, 0, NAP_NS / 1000000) == 0 || errno == EINTR ? 0 : -1;
	}
}

static void *run(void *arg)
{
	int kind = (int)(long)arg;

	result[kind] = nap(kind);
	ended[kind] = now();
	return NULL;
}

int main(void)
{
	pthread_t threads[NAPS];
	double began = now();

	for (long kind = 0; kind < NAPS; kind++)
		CHECK(pthread_create(&threads[kind], NULL, run, (void *)kind) == 0);
	usleep(100000);

	checkpoint();

	for (int kind = 0; kind < NAPS; kind++) {
		CHECK(pthread_join(threads[kind], NULL) == 0);
		fprintf(stderr, "%d: result %d after %.3f s\n", kind, result[kind], ended[kind] - began);
	}
	for (int kind = 0; kind < NAPS; kind++) {
		CHECK(result[kind] == 0);
		CHECK(kind == POLL || ended[kind] - began >= 1.45);
		CHECK(ended[kind] - began < 10);
	}
	done();
	return 0;
}
