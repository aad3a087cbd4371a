// SPDX-License-Identifier: Apache-2.0
/** One of each: REST and tRPC are two thin skins on these. */
import { ExecService } from "./exec/service.ts";
import { FilesService } from "./files/service.ts";
import { HealthService } from "./health/service.ts";
import { ImageService } from "./image/service.ts";
import { SandboxService } from "./sandbox/service.ts";
import type { Platform } from "./server/platform.ts";
import { TemplateService } from "./template/service.ts";
import { Authenticator } from "./tenant/authenticate.ts";
import { TenantService } from "./tenant/service.ts";
import { UsageService } from "./usage/service.ts";

export interface Services {
  readonly authenticator: Authenticator;
  readonly tenants: TenantService;
  readonly templates: TemplateService;
  readonly images: ImageService;
  readonly sandboxes: SandboxService;
  readonly execs: ExecService;
  readonly files: FilesService;
  readonly usage: UsageService;
  readonly health: HealthService;
}

export function makeServices(platform: Platform): Services {
  return {
    authenticator: new Authenticator(platform.database.client),
    tenants: new TenantService(platform),
    templates: new TemplateService(platform),
    images: new ImageService(platform),
    sandboxes: new SandboxService(platform),
    execs: new ExecService(platform),
    files: new FilesService(platform),
    usage: new UsageService(platform),
    health: new HealthService(platform),
  };
}
