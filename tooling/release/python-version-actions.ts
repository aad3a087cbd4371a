// SPDX-License-Identifier: Apache-2.0
import { PYPROJECT } from "./manifest.ts";
import { ManifestVersionActions } from "./manifest-version-actions.ts";

export default class PythonVersionActions extends ManifestVersionActions {
  override validManifestFilenames: string[] = [PYPROJECT.filename];
  override get format(): typeof PYPROJECT {
    return PYPROJECT;
  }
}
