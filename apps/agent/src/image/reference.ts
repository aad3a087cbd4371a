// SPDX-License-Identifier: Apache-2.0
/** OCI references: what a tenant may name, parsed before any program sees it. */
import { CollimateError } from "@collimate/contracts";

export interface ImageReference {
  /** As given, with the default registry filled in. */
  readonly full: string;
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

// The grammar of the OCI distribution specification: lower-case path components, a tag, a sha256 digest.
const REFERENCE =
  /^(?:(?<registry>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?)\/)?(?<repository>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/;

const looksLikeHost = (word: string) => word.includes(".") || word.includes(":") || word === "localhost";

export function parseReference(text: string): ImageReference {
  const groups = REFERENCE.exec(text)?.groups;
  if (!groups?.["repository"])
    throw new CollimateError(
      "bad_request",
      `image: "${text.slice(0, 200)}" is not an OCI reference (registry/repository[:tag][@sha256:digest])`,
    );
  let registry = groups["registry"];
  let repository = groups["repository"];
  if (registry && !looksLikeHost(registry)) {
    repository = `${registry}/${repository}`;
    registry = undefined;
  }
  registry ??= "docker.io";
  if (registry === "docker.io" && !repository.includes("/")) repository = `library/${repository}`;
  const { tag, digest } = groups;
  // skopeo refuses a reference with both; the digest decides.
  const tail = digest ? `@${digest}` : `:${tag ?? "latest"}`;
  return { full: `${registry}/${repository}${tail}`, registry, repository, tag, digest };
}

/** The same image, named so that it is the same anywhere and for ever. */
export function byDigest(text: string, digest: string): string {
  const { registry, repository } = parseReference(text);
  return `${registry}/${repository}@${digest}`;
}
