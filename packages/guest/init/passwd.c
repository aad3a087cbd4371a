// SPDX-License-Identifier: Apache-2.0
#include "passwd.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1024 * 1024, FIELDS = 7 };

static char *read_whole(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	char *text = malloc(FILE_MAX + 1);
	size_t length = 0;
	for (ssize_t n; text && length < FILE_MAX && (n = read(fd, text + length, FILE_MAX - length)) > 0;)
		length += (size_t)n;
	close(fd);
	if (text)
		text[length] = 0;
	return text;
}

static size_t split(char *line, char *fields[FIELDS])
{
	size_t count = 0;
	for (char *at = line; at && count < FIELDS; count++)
		fields[count] = strsep(&at, ":");
	return count;
}

static bool number(const char *text, unsigned *value)
{
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || n >= 0xffffffffUL) // -1 means "leave as it is" to the kernel
		return false;
	*value = (unsigned)n;
	return true;
}

static void copy(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

static bool find_user(const char *wanted, struct account *a)
{
	char *text = read_whole("/etc/passwd"), *rest = text, *line, *f[FIELDS];
	unsigned uid, gid, asked = 0;
	bool by_number = number(wanted, &asked), found = false;
	while (!found && rest && (line = strsep(&rest, "\n"))) {
		if (split(line, f) < 6 || !number(f[2], &uid) || !number(f[3], &gid))
			continue;
		found = by_number ? uid == asked : strcmp(f[0], wanted) == 0;
		if (!found)
			continue;
		a->uid = uid;
		a->gid = gid;
		copy(a->name, sizeof a->name, f[0]);
		copy(a->home, sizeof a->home, f[5]);
	}
	free(text);
	if (!found && by_number) { // a number needs no entry
		a->uid = asked;
		a->gid = 0;
		copy(a->home, sizeof a->home, "/");
		found = true;
	}
	return found;
}

static bool is_member(char *members, const char *name)
{
	for (char *one; (one = strsep(&members, ","));)
		if (*name && strcmp(one, name) == 0)
			return true;
	return false;
}

// Looks for the group asked for (wanted may be NULL) and collects those that list the user.
static bool find_groups(const char *wanted, struct account *a)
{
	unsigned gid;
	bool found = wanted == NULL;
	if (wanted && number(wanted, &gid)) {
		a->gid = gid;
		found = true;
	}
	char *text = read_whole("/etc/group"), *rest = text, *line, *f[FIELDS];
	while (rest && (line = strsep(&rest, "\n"))) {
		if (split(line, f) < 4 || !number(f[2], &gid))
			continue;
		if (!found && strcmp(f[0], wanted) == 0) {
			a->gid = gid;
			found = true;
		}
		if (!wanted && a->group_count < GROUPS_MAX && is_member(f[3], a->name))
			a->groups[a->group_count++] = gid;
	}
	free(text);
	return found;
}

bool account_find(const char *wanted, struct account *a)
{
	char user[257];
	memset(a, 0, sizeof *a);
	copy(user, sizeof user, wanted);
	char *group = strchr(user, ':');
	if (group)
		*group++ = 0;
	return find_user(user, a) && find_groups(group, a);
}
