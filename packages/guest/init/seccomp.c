// SPDX-License-Identifier: Apache-2.0
#include "harden.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "collimate-init knows x86-64 and arm64"
#endif

#define X32_BIT 0x40000000 // syscall numbers of the x32 ABI, which would pass by a list of plain ones
#define STOP(code) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))
#define DENY(call, code) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), STOP(code)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n])) // low word: LE

static struct sock_filter program[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
	STOP(ENOSYS), // 32-bit programs: their calls have other numbers
	LOAD(nr),
#if defined(__x86_64__)
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
	STOP(ENOSYS),
#endif

	// "Not there", so that callers fall back. CRIU cannot take io_uring, secret memory and POSIX message queues, and
	// forgets Landlock rules; clone3's flags lie behind a pointer that a filter cannot follow.
	DENY(clone3, ENOSYS),
	DENY(io_uring_setup, ENOSYS),
	DENY(io_uring_enter, ENOSYS),
	DENY(io_uring_register, ENOSYS),
	DENY(memfd_secret, ENOSYS),
	DENY(mq_open, ENOSYS),
	DENY(landlock_create_ruleset, ENOSYS),
	DENY(landlock_add_rule, ENOSYS),
	DENY(landlock_restrict_self, ENOSYS),

	// Parts of the kernel that no workload needs and that broke before.
	DENY(keyctl, EPERM),
	DENY(add_key, EPERM),
	DENY(request_key, EPERM),
	DENY(bpf, EPERM),
	DENY(perf_event_open, EPERM),
	DENY(userfaultfd, EPERM),
	DENY(open_by_handle_at, EPERM),
	DENY(fanotify_init, EPERM),
	DENY(quotactl, EPERM),
	DENY(quotactl_fd, EPERM),
	DENY(lookup_dcookie, EPERM),
	DENY(syslog, EPERM),
	DENY(acct, EPERM),

	// The mount table of a sandbox is fixed.
	DENY(mount, EPERM),
	DENY(umount2, EPERM),
	DENY(pivot_root, EPERM),
	DENY(setns, EPERM),
	DENY(open_tree, EPERM),
	DENY(move_mount, EPERM),
	DENY(fsopen, EPERM),
	DENY(fsconfig, EPERM),
	DENY(fsmount, EPERM),
	DENY(fspick, EPERM),
	DENY(mount_setattr, EPERM),

	// The machine belongs to the host.
	DENY(kexec_load, EPERM),
	DENY(kexec_file_load, EPERM),
	DENY(init_module, EPERM),
	DENY(finit_module, EPERM),
	DENY(delete_module, EPERM),
	DENY(reboot, EPERM),
	DENY(swapon, EPERM),
	DENY(swapoff, EPERM),
	DENY(settimeofday, EPERM),
	DENY(clock_settime, EPERM),
	DENY(clock_adjtime, EPERM),
	DENY(adjtimex, EPERM),
#if defined(__x86_64__)
	DENY(iopl, EPERM),
	DENY(ioperm, EPERM),
#endif

	// clone and unshare: all but new user namespaces, the door to most of what is denied above.
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_unshare, 0, 4),
	LOAD_ARGUMENT(0),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
	STOP(EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),

	// socket: vsock is not bound to a network namespace; AF_ALG opens the kernel's crypto to all. CRIU cannot take
	// multipath TCP, which Go's listeners try first; they go on with plain TCP.
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 8),
	LOAD_ARGUMENT(0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_VSOCK, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_ALG, 0, 1),
	STOP(EAFNOSUPPORT),
	LOAD_ARGUMENT(2),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_MPTCP, 0, 1),
	STOP(EPROTONOSUPPORT),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),

	// personality: what programs ask for (nothing, no address randomisation, 32-bit uname, a question).
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_personality, 0, 6),
	LOAD_ARGUMENT(0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0040000, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0008, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
	STOP(EPERM),

	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

bool seccomp_install(void)
{
	struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}
