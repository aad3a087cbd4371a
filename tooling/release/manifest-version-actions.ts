// SPDX-License-Identifier: Apache-2.0
/** What `nx release` must know of our two SDKs: where each keeps its version. They depend on nothing of ours at run time. */
import { VersionActions } from "nx/release/index.js";
import type { ManifestFormat } from "./manifest.ts";

type Tree = Parameters<VersionActions["readCurrentVersionFromSourceManifest"]>[0];

export abstract class ManifestVersionActions extends VersionActions {
  /** A getter because nx's constructor runs before fields of this class exist. */
  abstract get format(): ManifestFormat;
  override excludeManifestsFromFormatting = true;

  private manifest(tree: Tree): { path: string; text: string } {
    const path = `${this.projectGraphNode.data.root}/${this.format.filename}`;
    const text = tree.read(path, "utf-8");
    if (text === null) throw new Error(`${path} is missing`);
    return { path, text };
  }

  override readCurrentVersionFromSourceManifest(tree: Tree): Promise<{ currentVersion: string; manifestPath: string }> {
    const { path, text } = this.manifest(tree);
    return Promise.resolve({ currentVersion: this.format.read(text), manifestPath: path });
  }

  override updateProjectVersion(tree: Tree, newVersion: string): Promise<string[]> {
    const { path, text } = this.manifest(tree);
    tree.write(path, this.format.write(text, newVersion));
    return Promise.resolve([`${path} is now ${newVersion}`]);
  }

  /** A release must be possible without asking a registry. */
  override readCurrentVersionFromRegistry(): Promise<null> {
    return Promise.resolve(null);
  }

  override readCurrentVersionOfDependency(): Promise<{ currentVersion: null; dependencyCollection: null }> {
    return Promise.resolve({ currentVersion: null, dependencyCollection: null });
  }

  override updateProjectDependencies(): Promise<string[]> {
    return Promise.resolve([]);
  }
}
