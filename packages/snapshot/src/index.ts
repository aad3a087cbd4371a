// SPDX-License-Identifier: Apache-2.0
export { CHUNK_BYTES } from "./chunks.ts";
export { type HostFacts, insistOnCompatible, type NodeFacts, readHostFacts } from "./host.ts";
export { type Manifest, MANIFEST_FILE, manifestSchema, readManifest } from "./manifest.ts";
export { Repository } from "./registry/client.ts";
export { LocalChunks } from "./registry/local-chunks.ts";
export { find, type Found, pull, type Pulled } from "./registry/pull.ts";
export { push, type Pushed } from "./registry/push.ts";
export { describeFolder, IMAGES, LAYER, readSeal, seal, sealLayerAlone, type Seal } from "./seal.ts";
export { verify, verifySizes } from "./verify.ts";
