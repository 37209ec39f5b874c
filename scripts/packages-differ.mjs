/**
 * Says which package in node_modules is not that of the lock file. Exit code 1 if there is one.
 *
 * It compares versions, not times: a folder can be a copy of that of another checkout. This runs
 * before packages are installed, so it needs none.
 */

import { readFileSync } from "node:fs";

const parse = (file) => JSON.parse(readFileSync(file, "utf8"));

/** The version of an installed package; undefined if it is not there. */
function installedVersion(path) {
  try {
    return parse(`${path}/package.json`).version;
  } catch {
    return undefined;
  }
}

const { packages } = parse("package-lock.json");
for (const [path, { version, link, optional, devOptional, peer }] of Object.entries(packages)) {
  if (path === "" || link) continue;
  const installed = installedVersion(path);
  // Some packages are for other systems.
  if (installed === undefined && (optional || devOptional || peer)) continue;
  if (installed === version) continue;
  console.log(`${path}: expected ${version}, got ${installed ?? "none"}`);
  process.exit(1);
}
