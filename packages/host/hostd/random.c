// SPDX-License-Identifier: Apache-2.0
#include "random.h"

#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "request.h"

json_t *random_reseed(struct fail *f, const json_t *request)
{
    static const char *const names[] = {"id", "op", NULL};
    int device;

    if (request_only(f, request, names) < 0)
        return NULL;
    device = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (device < 0) {
        fail_errno(f, "open /dev/urandom");
        return NULL;
    }
    // random(4): needs CAP_SYS_ADMIN.
    if (ioctl(device, RNDRESEEDCRNG) < 0) {
        fail_errno(f, "RNDRESEEDCRNG on /dev/urandom");
        close(device);
        return NULL;
    }
    close(device);
    return json_object();
}
