import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * Settings of this host beside its environment: of ENV_FILE, by default in the folder that the service is started in.
 */
export const DEFAULT_ENV_FILE = 'darkroom.env';

/** Where the file of settings lies. The environment alone says so: the file cannot name itself. */
export function envFile(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.ENV_FILE || DEFAULT_ENV_FILE;
}

/** Reads the file into the environment where it is there. What the environment sets wins. */
export function loadEnvFile(path = envFile()): void {
  if (existsSync(path)) process.loadEnvFile(path);
}

/**
 * Writes one setting into the file, which keeps its other lines. The file is replaced whole, so that a crash leaves the
 * old one.
 */
export function saveSetting(name: string, value: string, path = envFile()): void {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  const line = `${name}=${value}`;
  const at = lines.findIndex((text) => text.startsWith(`${name}=`));
  const next = at === -1 ? [...lines, line] : lines.with(at, line);
  writeFileSync(`${path}.new`, `${next.filter((text) => text !== '').join('\n')}\n`);
  renameSync(`${path}.new`, path);
}
