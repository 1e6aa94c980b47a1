import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readSettingsFrom } from '../../../config/index.ts';
import {
  doStoresExist,
  openStoresToCopy,
  type StoresSettings,
  type StoresToCopy,
} from '../../platform/stores/open.ts';
import { type StoreAddresses, storeAddressesOf } from '../../platform/stores/places.ts';
import { type CommandResult, CommandUsageError } from './command.ts';
import { migrateStores } from './migration.ts';
import { formatTable } from './table.ts';

/**
 * Migrates from the stores of the current settings to those of a settings file, including the keys of its bucket. The
 * file is checked as the start checks its own, and each store has to respond before the first document is copied.
 * @param environment the source of the current settings.
 * @param onProgress called with a line for both sides, and for each step.
 * @throws UsageError, SettingsError, MigrationError, or an Error that names the stores that are in use or do not
 *   respond.
 */
export async function runMigrateCommand(
  words: readonly string[],
  source: StoresSettings,
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<CommandResult> {
  const file = targetFile(words);
  if (!doStoresExist(source)) throw new CommandUsageError(noStoresMessage(source.DATA_DIR));
  const target = readSettingsFrom(file);
  for (const warning of target.warnings) onProgress(warning);
  const places = { from: storeAddressesOf(source), to: storeAddressesOf(target.settings.stores) };
  if (places.from.documents === places.to.documents && places.from.objects === places.to.objects)
    throw new CommandUsageError('Both sides are the same stores: name others in the file.');
  onProgress(bothSides(places));
  await using opened = new AsyncDisposableStack();
  const from = opened.adopt(await openStoresToCopy(source, environment), (stores) => stores.close());
  const to = opened.adopt(await openStoresToCopy(target.settings.stores, target.environment), (stores) =>
    stores.close(),
  );
  await askEach({ 'present stores': from, 'stores of the file': to });
  const report = await migrateStores(from, to, onProgress);
  const documents = Object.values(report.collections).reduce((sum, count) => sum + count, 0);
  const summary = `${documents} documents and ${report.objects} objects were copied, and are the same on both sides. Start the service with the settings of the file.`;
  return { data: { ...places, ...report }, text: `${bothSides(places)}\n\n${summary}` };
}

/** The message for a DATA_DIR without stores. It prevents that a wrong DATA_DIR becomes a new, empty store. */
export function noStoresMessage(dataDir: string): string {
  return `There are no stores in DATA_DIR (${resolve(dataDir)}), and the first start makes them: start the service, or correct DATA_DIR.`;
}

function bothSides({ from, to }: Record<'from' | 'to', StoreAddresses>): string {
  const kinds = ['documents', 'objects', 'coordination'] as const;
  return formatTable([['', 'from', 'to'], ...kinds.map((kind) => [kind, from[kind], to[kind]])]);
}

/**
 * Asks each store to respond.
 * @throws UsageError that names the store that did not respond, before anything is copied.
 */
async function askEach(sides: Record<string, StoresToCopy>): Promise<void> {
  for (const [side, stores] of Object.entries(sides)) {
    for (const kind of ['documents', 'objects'] as const) {
      await stores[kind].ping().catch((error: Error) => {
        throw new CommandUsageError(
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
  throw new CommandUsageError('--to FILE is missing: a file of settings that names the target.');
}
