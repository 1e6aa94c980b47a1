import { readFileSync } from 'node:fs';
import { parseArgs, parseEnv } from 'node:util';
import { readSettings } from '../../../config/index.ts';
import { openToCopy, type StoresSettings, type StoresToCopy } from '../../platform/stores/open.ts';
import { type CommandAnswer, UsageError } from './command.ts';
import { migrate } from './migration.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Migrates from the stores of the current settings to those of a settings file, including the keys of its bucket. Each
 * store has to respond before the first document is copied.
 * @param environment the source of the current settings.
 * @param onProgress called with a line for each collection and each thousand objects.
 * @throws UsageError, SettingsError, MigrationError, or an Error that names the stores that are in use or do not
 *   respond.
 */
export async function migrateCommand(
  words: readonly string[],
  source: StoresSettings,
  environment: Environment,
  onProgress: (line: string) => void,
): Promise<CommandAnswer> {
  const file = readTargetSettings(words);
  const target = readSettings(file).stores;
  if (locationOf(source) === locationOf(target))
    throw new UsageError('Both sides are the same stores: name others in the file.');
  await using opened = new AsyncDisposableStack();
  const from = opened.adopt(await openToCopy(source, environment), (stores) => stores.close());
  const to = opened.adopt(await openToCopy(target, file), (stores) => stores.close());
  await askEach({ 'present stores': from, 'stores of the file': to });
  const report = await migrate(from, to, onProgress);
  const documents = Object.values(report.collections).reduce((sum, count) => sum + count, 0);
  const text = `${documents} documents and ${report.objects} objects were copied, and are the same on both sides. Start the service with the settings of the file.`;
  return { data: { ...report }, text };
}

/** @throws UsageError that names the store that did not respond, before anything is copied. */
async function askEach(sides: Record<string, StoresToCopy>): Promise<void> {
  for (const [side, stores] of Object.entries(sides)) {
    for (const kind of ['documents', 'objects'] as const) {
      await stores[kind].ping().catch((error: Error) => {
        throw new UsageError(
          `The ${kind} of the ${side} do not answer (${error.name}: ${error.message}): nothing was copied. Check their address and credentials.`,
        );
      });
    }
  }
}

function readTargetSettings(words: readonly string[]): Environment {
  const options = { to: { type: 'string' }, json: { type: 'boolean' } } as const;
  const { to } = parseArgs({ args: words.slice(1), options, strict: false }).values;
  if (typeof to !== 'string' || to === '')
    throw new UsageError('--to FILE is missing: a file of settings that names the target.');
  try {
    return parseEnv(readFileSync(to, 'utf8'));
  } catch (error) {
    throw new UsageError(`${to} cannot be read: ${(error as Error).message}`);
  }
}

/** Identifies the stores of some settings. */
function locationOf({ DATA_DIR, MONGODB_URL, S3_BUCKET, S3_ENDPOINT }: StoresSettings): string {
  return MONGODB_URL === '' ? DATA_DIR : [MONGODB_URL, S3_BUCKET || DATA_DIR, S3_ENDPOINT].join(' ');
}
