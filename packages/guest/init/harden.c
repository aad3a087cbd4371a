// SPDX-License-Identifier: Apache-2.0
#include "harden.h"
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Docker's default set without MKNOD and NET_RAW. All of them count only inside the sandbox's user namespace.
static const int kept[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,           CAP_FSETID,     CAP_KILL,        CAP_SETGID,
	CAP_SETUID, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_AUDIT_WRITE, CAP_SETFCAP,
};

static bool is_kept(int capability)
{
	for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
		if (kept[i] == capability)
			return true;
	return false;
}

static bool cut_bounding_set(void)
{
	for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		if (!is_kept(c) && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			return false;
	return true;
}

// Init itself keeps SYS_ADMIN besides, for sethostname after a restore; an exec'd program cannot get it, as it is
// no longer in the bounding set. It also makes init and its handlers untouchable by ptrace from below.
static bool cut_own_set(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};
	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	for (int word = 0; word < 2; word++) {
		unsigned wanted = 0;
		for (int bit = 0; bit < 32; bit++)
			if (is_kept(word * 32 + bit) || word * 32 + bit == CAP_SYS_ADMIN)
				wanted |= 1U << bit;
		data[word].permitted &= wanted;
		data[word].effective &= wanted;
		data[word].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) == 0;
}

bool harden(void)
{
	return cut_bounding_set() && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && cut_own_set() &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && seccomp_install();
}
