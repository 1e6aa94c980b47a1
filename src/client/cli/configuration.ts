import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from './exit-codes.ts';
import { makeFolder } from './folders.ts';

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The settings that are stored on this computer for the user. */
interface Configuration {
  url?: string;
  key?: string;
}

const OTHER_USERS_MODE_BITS = 0o077;
const PRIVATE_FILE_MODE = 0o600;

/**
 * The path of the configuration file: DARKROOM_CONFIG if it is set, or else darkroom/config.json in the user's
 * configuration folder.
 */
export function configurationPath({ DARKROOM_CONFIG, XDG_CONFIG_HOME }: EnvironmentVariables): string {
  return DARKROOM_CONFIG || join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'darkroom', 'config.json');
}

/**
 * Reads the configuration; it is empty if the file does not exist.
 * @throws UsageError if other users may read the file, because it contains a key.
 */
export async function readConfiguration(environment: EnvironmentVariables): Promise<Configuration> {
  const path = configurationPath(environment);
  const found = await stat(path).catch(() => null);
  if (found === null) return {};
  // Windows has no file modes that exclude other users, so nothing is checked there.
  if (process.platform !== 'win32' && (found.mode & OTHER_USERS_MODE_BITS) !== 0)
    throw new UsageError(`${path} holds a key, and others may read it: chmod 600 ${path}`);
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path} cannot be read as JSON: correct or delete it.`, { cause: error });
  }
}

/** Changes the configuration. The file is written so that only this user can read it. */
export async function writeConfiguration(
  environment: EnvironmentVariables,
  change: Configuration,
): Promise<void> {
  const path = configurationPath(environment);
  const configuration = { ...(await readConfiguration(environment)), ...change };
  await makeFolder(dirname(path), 0o700);
  await writeFile(path, `${JSON.stringify(configuration, null, 2)}\n`, { mode: PRIVATE_FILE_MODE });
  await chmod(path, PRIVATE_FILE_MODE);
}
