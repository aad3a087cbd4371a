// SPDX-License-Identifier: Apache-2.0
/** The images of infra/images that sandboxes of this suite run. */
import { often } from "@collimate/testing/full";

export const IMAGES = ["truth", "truth-trixie", "truth-programs", "pytorch-cpu"] as const;
export type Image = (typeof IMAGES)[number];

/** Those that there are in this run: the largest takes minutes to build, and is for the runs that take long anyway. */
export const STAGED: readonly Image[] = IMAGES.filter((image) => image !== "truth-programs" || often(0, 1) === 1);
