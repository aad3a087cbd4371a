// SPDX-License-Identifier: Apache-2.0
import { ApiClient } from "../client/api.ts";
import { Complaint } from "../complaint.ts";
import { readEndpoints } from "../state/endpoints.ts";
import { statePaths } from "../state/paths.ts";
import { readSecrets } from "../state/secrets.ts";

/** A client with the administrator's token of this machine's platform: only root can read that. */
export async function administration(): Promise<ApiClient> {
  const paths = statePaths();
  const [secrets, endpoints] = await Promise.all([readSecrets(paths), readEndpoints(paths)]).catch((cause: unknown) => {
    throw new Complaint("the administrator's token cannot be read", {
      hint: "Run it as root on the machine where `collimate up` ran.",
      cause,
    });
  });
  const url = endpoints["api"]?.url;
  if (secrets === undefined || url === undefined)
    throw new Complaint("no platform was ever up on this machine", { hint: "Start one with `collimate up`." });
  return new ApiClient(url, secrets.adminToken);
}
