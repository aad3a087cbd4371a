/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "holder.h"

#define DEADLINE_DEFAULT_MS 60000
#define DEADLINE_MAX_MS 3600000
/* No id of a range may be the "no id" value, and ranges start on a border of their size. */
#define UID_BASE_MAX (UINT_MAX - 2 * 65536u)
#define ADDRESS_MAX 60

static bool number(const char *text, long lo, long hi, long *out)
{
	char *end;

	if (!*text || strchr(" \t+", *text))
		return false;
	errno = 0;
	*out = strtol(text, &end, 10);
	return !errno && !*end && *out >= lo && *out <= hi;
}

static const char *add(const char **list, size_t *nr, const char *value, const char *too_many)
{
	if (*nr == REQUEST_LIST_MAX)
		return too_many;
	list[(*nr)++] = value;
	return NULL;
}

static const char *path(const char **to, const char *value)
{
	if (*value != '/' || strlen(value) >= PATH_MAX)
		return "a path must be absolute and shorter than PATH_MAX";
	if (*to)
		return "a key stands twice";
	*to = value;
	return NULL;
}

static const char *verb(struct request *rq, const char *value)
{
	static const char *const names[] = {
		[VERB_RESTORE] = "restore", [VERB_DERIVE] = "derive", [VERB_STAT] = "stat", [VERB_QUIT] = "quit"
	};
	int v;

	for (v = VERB_RESTORE; v <= VERB_QUIT; v++)
		if (!strcmp(value, names[v])) {
			rq->verb = v;
			return NULL;
		}
	return "unknown verb";
}

static const char *set(struct request *rq, const char *key, const char *value)
{
	const char *error;
	long n;

	if (!strcmp(key, "verb"))
		return rq->verb ? "a key stands twice" : verb(rq, value);
	if (!strcmp(key, "root"))
		return path(&rq->root, value);
	if (!strcmp(key, "log"))
		return path(&rq->log, value);
	if (!strcmp(key, "work"))
		return path(&rq->work, value);
	if (!strcmp(key, "pidfile"))
		return path(&rq->pidfile, value);
	if (!strcmp(key, "images"))
		return path(&rq->images, value);
	if (!strcmp(key, "socket"))
		return path(&rq->socket, value);
	if (!strcmp(key, "table"))
		return path(&rq->table, value);
	if (!strcmp(key, "cgroup")) {
		const char *one = NULL;

		error = path(&one, value);
		return error ? error : add(rq->cgroup, &rq->nr_cgroup, value, "too many cgroups");
	}
	if (!strcmp(key, "addr")) {
		if (strlen(value) > ADDRESS_MAX)
			return "an address is too long";
		return add(rq->addr, &rq->nr_addr, value, "too many addresses");
	}
	if (!strcmp(key, "wait")) {
		rq->wait_ns = true;
		return strcmp(value, "ns") ? "wait must be \"ns\"" : NULL;
	}
	if (!strcmp(key, "uid")) {
		if (!number(value, 1, UID_BASE_MAX, &n))
			return "uid is not a usable first id";
		rq->has_uid = true;
		rq->uid = n;
		return NULL;
	}
	if (!strcmp(key, "oom_score")) {
		if (!number(value, -1000, 1000, &n))
			return "oom_score is not between -1000 and 1000";
		rq->oom_score = n;
		return NULL;
	}
	if (!strcmp(key, "deadline_ms")) {
		if (!number(value, 1, DEADLINE_MAX_MS, &n))
			return "deadline_ms is not between 1 and 3600000";
		rq->deadline_ms = n;
		return NULL;
	}
	return "unknown key";
}

static const char *check(const struct request *rq)
{
	switch (rq->verb) {
	case VERB_RESTORE:
		return rq->root && rq->log ? NULL : "restore needs root and log";
	case VERB_DERIVE:
		return rq->images && rq->socket && rq->log ? NULL : "derive needs images, socket and log";
	case VERB_STAT:
	case VERB_QUIT:
		return NULL;
	default:
		return "no verb";
	}
}

const char *request_parse(char *text, struct request *out)
{
	char *line, *rest = text;

	*out = (struct request){ .deadline_ms = DEADLINE_DEFAULT_MS };
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');
		const char *error;

		if (!*line)
			break;
		if (!value)
			return "a line is not key=value";
		*value++ = 0;
		error = set(out, line, value);
		if (error)
			return error;
	}
	return check(out);
}
