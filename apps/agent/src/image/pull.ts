// SPDX-License-Identifier: Apache-2.0
/** Brings an image into a local OCI layout. Failures name what is wrong with the reference, within seconds. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { z } from "zod";
import { runProgram } from "../program.ts";
import { parseReference } from "./reference.ts";

const PULL_LIMIT_MS = 20 * 60_000;
/** An unreachable registry must not hold a bake for minutes: the manifest alone is asked for first, under this limit. */
const MANIFEST_LIMIT_MS = 20_000;

/** The part of an OCI image configuration that we use. */
export const imageConfigSchema = z.object({
  architecture: z.string().default(""),
  os: z.string().default("linux"),
  config: z
    .object({
      Env: z.array(z.string()).nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Cmd: z.array(z.string()).nullish(),
      WorkingDir: z.string().nullish(),
      User: z.string().nullish(),
    })
    .nullish(),
});
export type ImageConfig = z.infer<typeof imageConfigSchema>;

export interface PulledImage {
  readonly digest: string;
  readonly config: ImageConfig;
  /** OCI layout with the image under the tag `image`; removed by `dispose`. */
  readonly layout: string;
  dispose(): Promise<void>;
}

const OCI_ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", arm64: "arm64" };

export interface PullOptions {
  readonly layouts: string;
  readonly insecureHosts: readonly string[];
}

/** What skopeo says, in the tenant's words. */
function explain(reference: string, said: string): CollimateError {
  const text = said.toLowerCase();
  const why = /no such host|server misbehaving|name or service not known|temporary failure in name/.test(text)
    ? "the registry's host is unknown"
    : /connection refused|i\/o timeout|no route to host|network is unreachable|deadline exceeded/.test(text)
      ? "the registry does not answer"
      : /manifest unknown|manifest_unknown|not found|name_unknown|name unknown|repository .*not found/.test(text)
        ? "the registry has no such repository, tag or digest"
        : /unauthorized|authentication required|denied/.test(text)
          ? "the registry asks for credentials"
          : /no image found in (manifest list|image index)|choosing image|no child with platform/.test(text)
            ? `the image has no variant for ${OCI_ARCHITECTURES[process.arch] ?? process.arch}`
            : /digest/.test(text)
              ? "the digest does not match"
              : "the image could not be fetched";
  return new CollimateError("bake_failed", `image ${reference}: ${why}`, { detail: said });
}

export async function pullImage(text: string, options: PullOptions): Promise<PulledImage> {
  const reference = parseReference(text);
  const source = `docker://${reference.full}`;
  const tls = options.insecureHosts.includes(reference.registry) ? ["--tls-verify=false"] : [];
  const architecture = OCI_ARCHITECTURES[process.arch] ?? process.arch;
  const platform = ["--override-arch", architecture, "--override-os", "linux"] as const;

  const raw = await runProgram(["skopeo", ...platform, "inspect", ...tls, "--retry-times", "0", "--config", source], {
    timeoutMs: MANIFEST_LIMIT_MS,
  });
  if (!raw.ok) throw explain(text, raw.timedOut ? `deadline exceeded\n${raw.said}` : raw.said);
  const config = imageConfigSchema.parse(JSON.parse(raw.stdout));
  if (config.os !== "linux" || (config.architecture && config.architecture !== architecture)) {
    throw new CollimateError(
      "bake_failed",
      `image ${text}: built for ${config.os}/${config.architecture}, this platform runs linux/${architecture}`,
    );
  }

  const layout = await mkdtemp(join(options.layouts, "pull-"));
  const dispose = () => rm(layout, { recursive: true, force: true });
  try {
    const digestFile = join(layout, "digest");
    const copy = await runProgram(
      [
        "skopeo",
        ...platform,
        "copy",
        "--quiet",
        ...tls.map((flag) => flag.replace("--", "--src-")),
        "--digestfile",
        digestFile,
        source,
        `oci:${join(layout, "oci")}:image`,
      ],
      { timeoutMs: PULL_LIMIT_MS },
    );
    if (!copy.ok) throw explain(text, copy.timedOut ? `deadline exceeded\n${copy.said}` : copy.said);
    const digest = (await readFile(digestFile, "utf8")).trim();
    return { digest: reference.digest ?? digest, config, layout: join(layout, "oci"), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
