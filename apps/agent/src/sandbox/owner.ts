// SPDX-License-Identifier: Apache-2.0
import type { Sandbox } from "./sandbox.ts";

/** Owner of the sandboxes that were made on this node's own surface: no tenant of the platform, on nobody's bill. */
export const NODE_TENANT = "ten_node";

/** Made on this node's own surface. It lives and ends here; the platform's database has no row of it. */
export const isLocal = (sandbox: Pick<Sandbox, "tenantId">): boolean => sandbox.tenantId === NODE_TENANT;

/** Whether the platform has a row of it. A bake's has none either: it is part of its job. */
export const isPlatforms = (sandbox: Pick<Sandbox, "tenantId" | "snapshotId">): boolean => sandbox.snapshotId !== "" && !isLocal(sandbox);
