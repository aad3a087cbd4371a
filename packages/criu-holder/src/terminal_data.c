/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was written to a pseudo terminal and not read yet. criu reads it and
 * writes it back, to the parent and in a restore, through the terminal's own
 * settings: what had been typed is echoed once more, lines of output get another
 * CR, a line not yet ended is lost. So nothing is there when criu looks: it is
 * taken out before, with the settings out of the way, put back in the parent
 * when criu is done, and kept beside the images in a file of records
 * "PID FD TYPED SHOWN\n" (a task inside that has the master, the lengths), each
 * with its bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "types.h"
#include "cr_options.h"
#include "log.h"
#include "pstree.h"
#include "servicefd.h"
#include "xmalloc.h"
#include "holder.h"

#undef LOG_PREFIX
#define LOG_PREFIX "holder: "

#define FILE_NAME "terminals.data"
/* N_TTY_BUF_SIZE less one, and more than a pty keeps behind that (drivers/tty/tty_buffer.c, pty.c). */
#define READER_BYTES 4095
#define MOST_BYTES   (READER_BYTES + 65536)
/* The kernel counts its buffers, not bytes: in pieces of this size the most bytes fit (measured on Linux 6.18). */
#define PIECE_BYTES  1020
#define ROOM_MS	     1000

int __real_tty_post_actions(void);
int __wrap_tty_post_actions(void);

struct bytes {
	char *v;
	size_t nr;
};

struct master {
	int fd, slave;
	unsigned index;
	pid_t real;
	int task_fd;
	bool packets;
	struct termios settings;
	struct bytes typed, shown; /* for the slave, for the master */
};

static struct master *masters;
static size_t nr_masters;
static unsigned *slaves;
static size_t nr_slaves;

int terminal_note_slave(unsigned index)
{
	unsigned *more = xrealloc(slaves, (nr_slaves + 1) * sizeof(*slaves));

	if (!more)
		return -1;
	slaves = more;
	slaves[nr_slaves++] = index;
	return 0;
}

int terminal_note_master(int lfd, pid_t real, int task_fd)
{
	struct master m = { .slave = -1, .real = real, .task_fd = task_fd }, *more;
	size_t i;

	if (ioctl(lfd, TIOCGPTN, &m.index)) {
		pr_perror("Can't get the number of a terminal");
		return -1;
	}
	for (i = 0; i < nr_masters; i++)
		if (masters[i].index == m.index)
			return 0;
	m.fd = dup(lfd);
	more = m.fd < 0 ? NULL : xrealloc(masters, (nr_masters + 1) * sizeof(*masters));
	if (!more) {
		pr_err("Can't remember a terminal\n");
		return -1;
	}
	masters = more;
	masters[nr_masters++] = m;
	return 0;
}

static short events_of(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static bool has_slave(unsigned index)
{
	size_t i;

	for (i = 0; i < nr_slaves; i++)
		if (slaves[i] == index)
			return true;
	return false;
}

/* The other end, without a path, and with no session that it could get. */
static int open_slave(struct master *m)
{
	m->slave = ioctl(m->fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (m->slave < 0)
		pr_perror("Can't open the other end of terminal %u", m->index);
	return m->slave < 0 ? -1 : 0;
}

/* No echo, no signals, no translation; `lines` keeps the reading by lines, if it is on. */
static int set_settings(struct master *m, bool quiet, bool lines)
{
	struct termios t = m->settings;

	if (quiet) {
		cfmakeraw(&t);
		if (lines) {
			t.c_lflag |= m->settings.c_lflag & ICANON;
			memset(t.c_cc, _POSIX_VDISABLE, sizeof(t.c_cc));
		}
	}
	if (!tcsetattr(m->fd, TCSANOW, &t))
		return 0;
	pr_perror("Can't change the settings of terminal %u", m->index);
	return -1;
}

static int set_packets(struct master *m, int on)
{
	if (!m->packets || !ioctl(m->fd, TIOCPKT, &on))
		return 0;
	pr_perror("Can't change the packet mode of terminal %u", m->index);
	return -1;
}

/* poll(2) waits for what is still on its way inside the kernel. */
static int take(int fd, struct bytes *out)
{
	char *v = xmalloc(MOST_BYTES);
	ssize_t n;

	if (!v)
		return -1;
	out->v = v;
	while (out->nr < MOST_BYTES && (events_of(fd) & POLLIN)) {
		n = read(fd, v + out->nr, MOST_BYTES - out->nr);
		if (n <= 0)
			break;
		out->nr += n;
	}
	return 0;
}

static int drain(struct master *m)
{
	int on = 0;

	/* Opened and closed again, it would hang up a master that still waits for its first slave. */
	if (!has_slave(m->index) && !(events_of(m->fd) & POLLHUP))
		return 0;
	if (open_slave(m) || tcgetattr(m->fd, &m->settings) || ioctl(m->fd, TIOCGPKT, &on))
		return -1;
	m->packets = on;
	if (set_packets(m, 0) || set_settings(m, true, false) || take(m->slave, &m->typed) || take(m->fd, &m->shown))
		return -1;
	return 0;
}

/* What was there has room again, unless someone has stopped the terminal (tcflow). */
static int write_all(int fd, const char *v, size_t nr)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (nr) {
		ssize_t n = write(fd, v, min_t(size_t, nr, PIECE_BYTES));

		if (n < 0 && errno == EAGAIN && poll(&p, 1, ROOM_MS) > 0)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		v += n;
		nr -= n;
	}
	return 0;
}

/* TIOCSTI is at its goal when it returns, so that the settings can change behind it; it takes what the reader has room for. */
static int type(struct master *m)
{
	size_t i, n = min_t(size_t, m->typed.nr, READER_BYTES);
	int flags, ret;

	for (i = 0; i < n; i++)
		if (ioctl(m->slave, TIOCSTI, m->typed.v + i))
			return -1;
	if (n == m->typed.nr)
		return 0;
	/* The file is the sandbox's own, so its flag goes back. */
	flags = fcntl(m->fd, F_GETFL);
	if (flags < 0 || fcntl(m->fd, F_SETFL, flags | O_NONBLOCK))
		return -1;
	ret = write_all(m->fd, m->typed.v + n, m->typed.nr - n);
	return fcntl(m->fd, F_SETFL, flags) ? -1 : ret;
}

/* The settings are back whatever happens. */
static int put_back(struct master *m)
{
	int ret = 0;

	if (m->slave < 0)
		return 0;
	if (set_settings(m, true, true) || type(m) || write_all(m->slave, m->shown.v, m->shown.nr)) {
		pr_perror("Can't put the data of terminal %u back", m->index);
		ret = -1;
	}
	if (set_settings(m, false, false) || set_packets(m, 1))
		ret = -1;
	close(m->slave);
	m->slave = -1;
	return ret;
}

static int vpid_of(pid_t real)
{
	struct pstree_item *item;

	for_each_pstree_item(item)
		if (item->pid->real == real)
			return vpid(item);
	return -1;
}

static FILE *data_open(int flags, const char *mode)
{
	int fd = openat(get_service_fd(IMG_FD_OFF), FILE_NAME, flags | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static int write_record(const struct master *m)
{
	FILE *file = data_open(O_WRONLY | O_CREAT | O_APPEND, "a");

	if (!file) {
		pr_perror("Can't make " FILE_NAME);
		return -1;
	}
	fprintf(file, "%d %d %zu %zu\n", vpid_of(m->real), m->task_fd, m->typed.nr, m->shown.nr);
	fwrite(m->typed.v, 1, m->typed.nr, file);
	fwrite(m->shown.v, 1, m->shown.nr, file);
	if (!(ferror(file) | fclose(file)))
		return 0;
	pr_perror("Can't write " FILE_NAME);
	return -1;
}

int __wrap_tty_post_actions(void)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < nr_masters && !ret; i++) {
		ret = drain(&masters[i]);
		if (!ret && masters[i].typed.nr + masters[i].shown.nr)
			ret = write_record(&masters[i]);
	}
	if (!ret)
		ret = __real_tty_post_actions();
	for (i = 0; i < nr_masters; i++) {
		/* A tree that ends takes its terminals along. */
		if ((ret || opts.final_state != TASK_DEAD) && put_back(&masters[i]))
			ret = -1;
		close(masters[i].fd);
	}
	nr_masters = 0;
	return ret;
}

static pid_t real_of(int wanted)
{
	struct pstree_item *item;

	for_each_pstree_item(item)
		if (vpid(item) == wanted)
			return item->pid->real;
	return -1;
}

static int master_of(pid_t real, int task_fd)
{
	int pidfd = syscall(SYS_pidfd_open, real, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, task_fd, 0);

	if (pidfd >= 0)
		close(pidfd);
	return fd;
}

static int read_bytes(FILE *file, struct bytes *out)
{
	out->v = out->nr <= MOST_BYTES ? xmalloc(out->nr + 1) : NULL;
	return out->v && fread(out->v, 1, out->nr, file) == out->nr ? 0 : -1;
}

static int restore_record(FILE *file, int task)
{
	struct master m = { .slave = -1 };
	int on = 0;

	if (fscanf(file, "%d %zu %zu", &m.task_fd, &m.typed.nr, &m.shown.nr) != 3 || fgetc(file) != '\n' ||
	    read_bytes(file, &m.typed) || read_bytes(file, &m.shown)) {
		pr_err(FILE_NAME " is broken\n");
		return -1;
	}
	m.fd = master_of(real_of(task), m.task_fd);
	if (m.fd < 0 || tcgetattr(m.fd, &m.settings) || ioctl(m.fd, TIOCGPKT, &on)) {
		pr_perror("Can't get terminal %d of task %d", m.task_fd, task);
		return -1;
	}
	m.packets = on;
	if (open_slave(&m) || set_packets(&m, 0) || put_back(&m))
		return -1;
	close(m.fd);
	xfree(m.typed.v);
	xfree(m.shown.v);
	return 0;
}

/* When all tasks are stopped for the last time: their files are open, their terminals set. */
int terminal_data_restore(void)
{
	FILE *file = data_open(O_RDONLY, "r");
	int task, ret = 0;

	if (!file)
		return 0;
	while (!ret && fscanf(file, "%d", &task) == 1)
		ret = restore_record(file, task);
	fclose(file);
	return ret;
}
