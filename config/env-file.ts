import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Settings of this host beside its environment, in the folder that the service is started in. What the environment sets wins. */
export const ENV_FILE = 'darkroom.env';

/** Reads the file into the environment where it is there. */
export function loadEnvFile(path = ENV_FILE): void {
  if (existsSync(path)) process.loadEnvFile(path);
}

/** Writes one setting into the file, which keeps its other lines. The file is replaced whole, so that a crash leaves the old one. */
export function saveSetting(name: string, value: string, path = ENV_FILE): void {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  const line = `${name}=${value}`;
  const at = lines.findIndex((text) => text.startsWith(`${name}=`));
  const next = at === -1 ? [...lines, line] : lines.with(at, line);
  writeFileSync(`${path}.new`, `${next.filter((text) => text !== '').join('\n')}\n`);
  renameSync(`${path}.new`, path);
}
