/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX semaphores (named, unlinked, in shared memory), process-shared mutexes, conditions and barriers, a robust mutex
 * whose owner dies after the fork: each with a waiter in another process.
 */
#include "truth.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WAITERS = 5 };

struct shared {
	sem_t semaphore;
	pthread_mutex_t mutex, robust;
	pthread_cond_t condition;
	pthread_barrier_t barrier;
	int predicate, waiting, passed[WAITERS], owned;
};

static struct shared *all;
static sem_t *named, *unlinked;

static void set_up(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t condition;
	pthread_barrierattr_t barrier;
	int fd = shm_open("/truth-ipc", O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0 && ftruncate(fd, sizeof *all) == 0);
	all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(all != MAP_FAILED && sem_init(&all->semaphore, 1, 0) == 0);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_mutex_init(&all->mutex, &mutex) == 0);
	pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&all->robust, &mutex) == 0);
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_cond_init(&all->condition, &condition) == 0);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_barrier_init(&all->barrier, &barrier, 2) == 0);
	named = sem_open("/truth-named", O_CREAT, 0600, 3);
	unlinked = sem_open("/truth-unlinked", O_CREAT, 0600, 0);
	CHECK(named != SEM_FAILED && unlinked != SEM_FAILED && sem_unlink("/truth-unlinked") == 0);
}

static void wait_in(int which)
{
	__atomic_add_fetch(&all->waiting, 1, __ATOMIC_SEQ_CST);
	if (which == 0)
		sem_wait(&all->semaphore);
	if (which == 1)
		sem_wait(unlinked);
	if (which == 2)
		pthread_mutex_lock(&all->mutex);
	if (which == 3) {
		pthread_mutex_lock(&all->mutex);
		while (!all->predicate)
			pthread_cond_wait(&all->condition, &all->mutex);
	}
	if (which == 4)
		pthread_barrier_wait(&all->barrier);
	all->passed[which] = 1;
	if (which == 2 || which == 3)
		pthread_mutex_unlock(&all->mutex);
	_exit(0);
}

static pid_t start(void (*run)(int), int which)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		run(which);
	return pid;
}

static void own_and_die(int which)
{
	(void)which;
	pthread_mutex_lock(&all->robust);
	all->owned = 1;
	for (;;)
		pause();
}

int main(void)
{
	pid_t waiter[WAITERS], owner;
	int value, i;
	sem_t *again;

	set_up();
	owner = start(own_and_die, 0);
	waiter[3] = start(wait_in, 3);
	while (!__atomic_load_n(&all->owned, __ATOMIC_SEQ_CST) || __atomic_load_n(&all->waiting, __ATOMIC_SEQ_CST) < 1)
		usleep(1000);
	usleep(20000); /* into the condition, before the mutex is taken for good */
	pthread_mutex_lock(&all->mutex);
	for (i = 0; i < WAITERS; i++)
		if (i != 3)
			waiter[i] = start(wait_in, i);
	while (__atomic_load_n(&all->waiting, __ATOMIC_SEQ_CST) < WAITERS)
		usleep(1000);
	usleep(20000);

	checkpoint();

	usleep(20000);
	for (i = 0; i < WAITERS; i++)
		CHECK(all->passed[i] == 0);
	CHECK(pthread_mutex_trylock(&all->robust) == EBUSY);
	CHECK(sem_getvalue(named, &value) == 0 && value == 3);
	again = sem_open("/truth-named", 0);
	CHECK(again != SEM_FAILED && sem_post(again) == 0);
	CHECK(sem_getvalue(named, &value) == 0 && value == 4);

	sem_post(&all->semaphore);
	sem_post(unlinked);
	all->predicate = 1;
	pthread_cond_signal(&all->condition);
	pthread_mutex_unlock(&all->mutex);
	pthread_barrier_wait(&all->barrier);
	for (i = 0; i < WAITERS; i++) {
		CHECK(waitpid(waiter[i], &value, 0) == waiter[i] && value == 0);
		CHECK(all->passed[i] == 1);
	}
	/* The kernel marks what a dying thread held: the list of robust locks is its own again after a restore. */
	CHECK(kill(owner, SIGKILL) == 0 && waitpid(owner, &value, 0) == owner);
	CHECK(pthread_mutex_lock(&all->robust) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&all->robust) == 0);
	done();
	return 0;
}
