// SPDX-License-Identifier: Apache-2.0
/** The rules of the house, checked. Each has a test in tooling/boundaries.test.ts that shows it bite. */

/** Where programs may be started: some of them run as root, so every place is listed. Tests may start what they test. */
const MAY_SPAWN = [
  "packages/(criu|host|embedded|snapshot|testing)/",
  "apps/(agent|cli)/",
  "tooling/",
  "bench/",
  "\\.test\\.ts$",
  "/test(s|ing)?/",
];
/** Node's modules go by both names. */
const CHILD_PROCESS = "^(node:)?child_process$";

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "apps-never-import-apps",
      comment: "Apps talk over the wire. What two of them share belongs into a package.",
      severity: "error",
      from: { path: "^apps/([^/]+)/" },
      to: { path: "^apps/", pathNot: "^apps/$1/" },
    },
    {
      name: "packages-never-import-apps",
      comment: "A package that needs an app is a part of that app.",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^apps/" },
    },
    {
      name: "contracts-import-nothing-of-ours",
      comment: "Everything depends on contracts; contracts depends on zod alone.",
      severity: "error",
      from: { path: "^packages/contracts/" },
      to: { path: "^(apps|packages|bench|docs|tooling)/", pathNot: "^packages/contracts/" },
    },
    {
      name: "only-db-knows-prisma",
      comment: "Ask packages/db for what you need.",
      severity: "error",
      from: { pathNot: "^packages/db/" },
      to: { path: "(^|node_modules/)(@prisma/|prisma(/|$))" },
    },
    {
      name: "only-queue-knows-bullmq",
      comment: "Ask packages/queue for what you need.",
      severity: "error",
      from: { pathNot: "^packages/queue/" },
      to: { path: "(^|node_modules/)(bullmq|ioredis)(/|$)" },
    },
    {
      name: "programs-are-started-in-known-places",
      comment: "Starting a program is a privilege: the list of places is at the top of .dependency-cruiser.mjs.",
      severity: "error",
      from: { path: "^(apps|packages|bench|docs|examples)/", pathNot: MAY_SPAWN },
      to: { path: CHILD_PROCESS },
    },
    {
      name: "sdk-imports-types-only",
      comment: "The published SDK has no dependencies: what it takes from contracts must vanish when it is built.",
      severity: "error",
      from: { path: "^packages/sdk/src/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^packages/sdk/(src/|package\\.json$)", dependencyTypesNot: ["type-only", "core"] },
    },
    {
      name: "no-reaching-into-another-package",
      comment: "Import a workspace package by its name; its exports are its surface.",
      severity: "error",
      from: { path: "^((?:apps|packages)/[^/]+|bench|docs|tooling)/" },
      to: { path: "^(apps|packages|bench|docs|tooling)/", pathNot: "^$1/", dependencyTypes: ["local"] },
    },
    {
      name: "no-circular",
      comment: "Two files that need each other are one thing, or hide a third. (Types alone may point back.)",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "resolvable",
      comment: "The import leads nowhere: is the dependency in this package's package.json?",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^(bun|vitest/config)$" },
    },
    {
      name: "no-dev-dependency-at-run-time",
      comment: "What runs in production must be in dependencies.",
      severity: "error",
      from: { path: "^(apps|packages)/[^/]+/src/", pathNot: "\\.test\\.ts$|^packages/testing/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // What is made from sources, and hidden folders: the graph that nx draws into dist/ takes more memory to parse than all that is ours.
    // In our folders only: most packages of others are nothing but a dist folder.
    exclude: { path: ["^(?!.*node_modules/).*/(dist|build|generated)/", "^(dist|build|coverage)/", "^\\.[^./][^/]*/"] },
    tsPreCompilationDeps: true,
    moduleSystems: ["es6"],
    combinedDependencies: false,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
    cache: false,
  },
};
