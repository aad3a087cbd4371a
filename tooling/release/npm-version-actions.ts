// SPDX-License-Identifier: Apache-2.0
import { PACKAGE_JSON } from "./manifest.ts";
import { ManifestVersionActions } from "./manifest-version-actions.ts";

export default class NpmVersionActions extends ManifestVersionActions {
  override validManifestFilenames: string[] = [PACKAGE_JSON.filename];
  override get format(): typeof PACKAGE_JSON {
    return PACKAGE_JSON;
  }
}
