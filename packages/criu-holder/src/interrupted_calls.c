/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a dump finds a task waiting in is begun again afterwards, in the parent and in its copies. Where the kernel would
 * go on with what is left of a timeout, from a note that no one outside can read (restart_block), criu lets the call
 * fail with EINTR: then a plain sleep ends early. Some of these calls can be begun again as well:
 *   nanosleep, clock_nanosleep   the kernel has written what is left to where the caller wanted it, and it becomes
 *                                the time to sleep; a caller who did not want it sleeps the whole time once more
 *   futex, FUTEX_WAIT_BITSET     its timeout is a point in time
 * The others (poll, FUTEX_WAIT) return EINTR as before: begun again they would wait for too long.
 */
#include "types.h"
#include "log.h"
#include "compel/infect.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

int __real_compel_get_task_regs(pid_t pid, user_regs_struct_t *regs, user_fpregs_struct_t *xs, save_regs_t save,
				void *arg, unsigned long flags);
int __wrap_compel_get_task_regs(pid_t pid, user_regs_struct_t *regs, user_fpregs_struct_t *xs, save_regs_t save,
				void *arg, unsigned long flags);

#ifdef __x86_64__
#include <linux/futex.h>
#include <sys/syscall.h>

/* include/linux/errno.h of the kernel; never seen by programs. */
#define ERESTARTNOINTR	      513
#define ERESTART_RESTARTBLOCK 516

static bool can_begin_again(user_regs_struct64 *r)
{
	switch (r->orig_ax) {
	case SYS_nanosleep:
		if (r->si)
			r->di = r->si;
		return true;
	case SYS_clock_nanosleep:
		if (r->r10)
			r->dx = r->r10;
		return true;
	case SYS_futex:
		return (r->si & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	default:
		return false;
	}
}

static void begin_again(user_regs_struct_t *regs)
{
	user_regs_struct64 *r = &regs->native;

	if (user_regs_native(regs) && (long)r->ax == -ERESTART_RESTARTBLOCK && can_begin_again(r))
		r->ax = -ERESTARTNOINTR; /* which criu knows how to begin again */
}
#else
static void begin_again(user_regs_struct_t *regs)
{
}
#endif

int __wrap_compel_get_task_regs(pid_t pid, user_regs_struct_t *regs, user_fpregs_struct_t *xs, save_regs_t save,
				void *arg, unsigned long flags)
{
	begin_again(regs);
	return __real_compel_get_task_regs(pid, regs, xs, save, arg, flags);
}
