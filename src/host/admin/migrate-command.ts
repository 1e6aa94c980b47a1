import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readSettingsFrom } from '../../../config/index.ts';
import { isMade, openToCopy, type StoresSettings, type StoresToCopy } from '../../platform/stores/open.ts';
import { placesOf, type StorePlaces } from '../../platform/stores/places.ts';
import { type CommandAnswer, UsageError } from './command.ts';
import { migrate } from './migration.ts';
import { table } from './table.ts';

/**
 * Migrates from the stores of the current settings to those of a settings file, including the keys of its bucket. The
 * file is checked as the start checks its own, and each store has to respond before the first document is copied.
 * @param environment the source of the current settings.
 * @param onProgress called with a line for both sides, and for each step.
 * @throws UsageError, SettingsError, MigrationError, or an Error that names the stores that are in use or do not
 *   respond.
 */
export async function migrateCommand(
  words: readonly string[],
  source: StoresSettings,
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<CommandAnswer> {
  const file = targetFile(words);
  if (!isMade(source)) throw new UsageError(noStores(source.DATA_DIR));
  const target = readSettingsFrom(file);
  for (const warning of target.warnings) onProgress(warning);
  const places = { from: placesOf(source), to: placesOf(target.settings.stores) };
  if (places.from.documents === places.to.documents && places.from.objects === places.to.objects)
    throw new UsageError('Both sides are the same stores: name others in the file.');
  onProgress(bothSides(places));
  await using opened = new AsyncDisposableStack();
  const from = opened.adopt(await openToCopy(source, environment), (stores) => stores.close());
  const to = opened.adopt(await openToCopy(target.settings.stores, target.environment), (stores) =>
    stores.close(),
  );
  await askEach({ 'present stores': from, 'stores of the file': to });
  const report = await migrate(from, to, onProgress);
  const documents = Object.values(report.collections).reduce((sum, count) => sum + count, 0);
  const summary = `${documents} documents and ${report.objects} objects were copied, and are the same on both sides. Start the service with the settings of the file.`;
  return { data: { ...places, ...report }, text: `${bothSides(places)}\n\n${summary}` };
}

/** The message for a DATA_DIR without stores. It prevents that a wrong DATA_DIR becomes a new, empty store. */
export function noStores(dataDir: string): string {
  return `There are no stores in DATA_DIR (${resolve(dataDir)}), and the first start makes them: start the service, or correct DATA_DIR.`;
}

function bothSides({ from, to }: Record<'from' | 'to', StorePlaces>): string {
  const kinds = ['documents', 'objects', 'coordination'] as const;
  return table([['', 'from', 'to'], ...kinds.map((kind) => [kind, from[kind], to[kind]])]);
}

/**
 * Asks each store to respond.
 * @throws UsageError that names the store that did not respond, before anything is copied.
 */
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

function targetFile(words: readonly string[]): string {
  const options = { to: { type: 'string' }, json: { type: 'boolean' } } as const;
  const { to } = parseArgs({ args: words.slice(1), options, strict: false }).values;
  if (typeof to === 'string' && to !== '') return to;
  throw new UsageError('--to FILE is missing: a file of settings that names the target.');
}
