// SPDX-License-Identifier: Apache-2.0
import { access } from "node:fs/promises";
import { join } from "node:path";
import { Complaint } from "../complaint.ts";
import { pushCatalogImage } from "../quickstart/catalog-image.ts";
import { repositoryRoot } from "../repository.ts";
import { readEndpoints } from "../state/endpoints.ts";
import { statePaths } from "../state/paths.ts";
import { step } from "../terminal/progress.ts";

/** An OCI reference as it is; the bare name of a catalog image is built, pushed to this machine's registry and named by digest. */
export async function resolveImage(image: string, signal: AbortSignal): Promise<string> {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(image)) return image;
  const known = await access(join(repositoryRoot(), "infra", "images", image, "image.json")).then(
    () => true,
    () => false,
  );
  if (!known) return image;
  const registry = await readEndpoints(statePaths()).then(
    (endpoints) => endpoints["registry"],
    () => undefined,
  );
  if (registry === undefined)
    throw new Complaint(`the catalog image ${image} needs this machine's platform`, {
      hint: "Run it as root on the machine where `collimate up` ran, or name an image of a registry.",
    });
  const tools = process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate";
  return step(`image ${image}`, (progress) => pushCatalogImage(image, new URL(registry.url).host, tools, progress, signal));
}
