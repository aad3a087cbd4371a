// SPDX-License-Identifier: Apache-2.0
/** The images of infra/images that sandboxes of this suite run. */
export const IMAGES = ["truth", "truth-trixie", "truth-programs", "pytorch-cpu"] as const;
export type Image = (typeof IMAGES)[number];
