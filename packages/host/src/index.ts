// SPDX-License-Identifier: Apache-2.0
export { HostClient, type Exit, type HostReport, type HostStat, type Watch } from "./client.ts";
export type { DialTarget } from "./dial.ts";
export { HostError, hostErrorCodes, type HostErrorCode } from "./errors.ts";
export { DETACH_MAX } from "./operations.ts";
export type { AttachRequest, BootRequest, NetworkRequest, OverlayRequest, ProcessRef } from "./operations.ts";
export { Hostd, type HostdOptions } from "./hostd.ts";
export { Cgroups, type CgroupsOptions } from "./cgroup/cgroups.ts";
export type { Cgroup, CgroupLimits, CgroupUsage } from "./cgroup/cgroup.ts";
export { CgroupError } from "./cgroup/control-file.ts";
export { detectCgroups, type CgroupLayout } from "./cgroup/layout.ts";
