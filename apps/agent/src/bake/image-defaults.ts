// SPDX-License-Identifier: Apache-2.0
/** What an image's configuration says about how its programs are run. */
import type { ImageConfig } from "../image/pull.ts";

const DEFAULTS: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  LANG: "C.UTF-8",
};

export function imageEnvironment(image: ImageConfig): Record<string, string> {
  const own = (image.config?.Env ?? []).flatMap((line) => {
    const at = line.indexOf("=");
    return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
  });
  return { ...DEFAULTS, ...Object.fromEntries(own) };
}

export const imageWorkdir = (image: ImageConfig): string => (image.config?.WorkingDir?.startsWith("/") ? image.config.WorkingDir : "/");

/** Empty means root. */
export const imageUser = (image: ImageConfig): string => image.config?.User ?? "";
