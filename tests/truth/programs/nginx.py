# SPDX-License-Identifier: Apache-2.0
"""nginx with workers, serving a connection that is kept alive and new ones."""

import http.client
import os
import subprocess
import time

from truth import HERE, checkpoint, done, equal

CONFIGURATION = f"""
daemon on; worker_processes 2; pid {HERE}/nginx.pid; error_log {HERE}/nginx.log;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen 8080 reuseport; listen 10.0.0.2:8081; root {HERE}/www; }} }}
"""
os.mkdir(HERE + "/www")
with open(HERE + "/www/page", "w") as file:
    file.write("page " * 50_000)
with open(HERE + "/nginx.conf", "w") as file:
    file.write(CONFIGURATION)
os.chmod(HERE, 0o755)
subprocess.run(["nginx", "-c", HERE + "/nginx.conf"], check=True)
kept = http.client.HTTPConnection("127.0.0.1", 8080)


def get(connection: http.client.HTTPConnection, path: str) -> str:
    connection.request("GET", path)
    return connection.getresponse().read().decode()


equal(get(kept, "/page"), "page " * 50_000)

me = checkpoint()

with open(HERE + "/www/me", "w") as file:
    file.write(me)
equal(get(kept, "/me"), me)
for host, port in (("127.0.0.1", 8080), ("10.0.0.2", 8081)):
    equal(get(http.client.HTTPConnection(host, port), "/page"), "page " * 50_000)
# A reload: the master makes new workers, with its listening sockets.
subprocess.run(["nginx", "-c", HERE + "/nginx.conf", "-s", "reload"], check=True)
time.sleep(0.3)
equal(get(http.client.HTTPConnection("127.0.0.1", 8080), "/me"), me)
subprocess.run(["nginx", "-c", HERE + "/nginx.conf", "-s", "stop"], check=True)
done()
