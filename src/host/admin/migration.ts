import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { readSettingsFrom } from '../../../config/index.ts';
import { CopyProgressReporter } from '../../platform/stores/backup.ts';
import {
  type DocumentCollection,
  type DocumentWithId,
  type ListableDocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import {
  checkMigrationEnded,
  MIGRATION_MARKER,
  readMigrationMarker,
} from '../../platform/stores/migration-marker.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import {
  connectRedisCoordination,
  hasEmbeddedStores,
  openStoresToCopy,
  type StoreAddresses,
  type StoresSettings,
  type StoresToCopy,
  storeAddressesOf,
  storesExist,
  verifyStoreServers,
} from '../../platform/stores/open.ts';
import { DELIVERED_KEY_PREFIX } from '../../product/delivery/cache.ts';
import { askProcesses } from '../processes/controls.ts';
import {
  type AdminCommand,
  type CommandResult,
  CommandUsageError,
  formatTable,
  parseArguments,
} from './command.ts';

/**
 * The declaration of the command, for the help. `run` only refuses, because the primary would call it while the service
 * runs: `runMigrateCommand` does the work.
 */
export const MIGRATE_COMMAND: AdminCommand = {
  name: 'migrate',
  about:
    'Copies all documents and objects to the stores that an environment file names, and compares both sides. The service must be stopped. The command may be stopped, and continues where it was when it is run again.',
  options: { to: 'FILE' },
  async run() {
    throw new CommandUsageError('Stop the service first: migrate copies stores that no service uses.');
  },
};

/**
 * Copies everything from the stores of the current settings to the stores that a settings file names. The file also
 * contains the credentials of the target's bucket. The servers of both sides are checked as at a start, and each store
 * must respond before the first document is copied.
 * @param source the current settings.
 * @param environment the variables from which the settings were read, with the credentials of the source's bucket.
 * @param onProgress called with a line for both sides, and for each step.
 * @throws CommandUsageError, SettingsError, MigrationError, or an Error that names the stores that are in use or do not
 * respond.
 */
export async function runMigrateCommand(
  words: readonly string[],
  source: StoresSettings,
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<CommandResult> {
  const file = parseTargetFile(words);
  if (!storesExist(source)) throw new CommandUsageError(noStoresMessage(source.DATA_DIR));
  const target = readSettingsFrom(file);
  for (const warning of target.warnings) onProgress(warning);
  const addressesBySide = { from: storeAddressesOf(source), to: storeAddressesOf(target.settings.stores) };
  if (
    addressesBySide.from.documents === addressesBySide.to.documents &&
    addressesBySide.from.objects === addressesBySide.to.objects
  )
    throw new CommandUsageError('Both sides are the same stores: name others in the file.');
  onProgress(formatBothSides(addressesBySide));
  await checkServers('present stores', source);
  await checkServers('stores of the file', target.settings.stores);
  await using opened = new AsyncDisposableStack();
  const from = opened.adopt(await openStoresToCopy(source, environment), (stores) => stores.close());
  const to = opened.adopt(await openStoresToCopy(target.settings.stores, target.environment), (stores) =>
    stores.close(),
  );
  await checkStoresRespond({ 'present stores': from, 'stores of the file': to });
  await checkMigrationEnded(from.documents);
  const report = await migrateStores(from, to, onProgress).catch((error: Error) => {
    if (error instanceof MigrationError) throw error;
    const message = `The migration stopped: ${error.message.replace(/\.$/, '')}. Remove the cause and run it again: it continues where it was.`;
    throw new MigrationError(message, { cause: error });
  });
  const documents = Object.values(report.collections).reduce((sum, count) => sum + count, 0);
  const summary = `${documents} documents and ${report.objects} objects were copied, and are the same on both sides. Start the service with the settings of the file.`;
  return {
    data: { ...addressesBySide, ...report },
    text: `${formatBothSides(addressesBySide)}\n\n${summary}`,
  };
}

/**
 * The message that refuses a DATA_DIR without stores. Without this refusal, a wrong DATA_DIR would get new, empty
 * stores.
 */
export function noStoresMessage(dataDir: string): string {
  return `There are no stores in DATA_DIR (${resolve(dataDir)}), and the first start makes them: start the service, or correct DATA_DIR.`;
}

function formatBothSides({ from, to }: Record<'from' | 'to', StoreAddresses>): string {
  const kinds = ['documents', 'objects', 'coordination'] as const;
  return formatTable([['', 'from', 'to'], ...kinds.map((kind) => [kind, from[kind], to[kind]])]);
}

/**
 * Checks the servers of a cluster as a start does, and that no service uses them. Embedded stores need no check: the
 * service that uses them locks them.
 * @throws CommandUsageError before anything is copied.
 */
async function checkServers(side: string, settings: StoresSettings): Promise<void> {
  if (hasEmbeddedStores(settings)) return;
  await verifyStoreServers(settings);
  const coordination = await connectRedisCoordination(settings);
  const processes = await askProcesses(coordination, { kind: 'pools' }).finally(() => coordination.close());
  const hosts = new Set(processes.map(({ hostId }) => hostId)).size;
  if (hosts > 0)
    throw new CommandUsageError(
      `The service uses the ${side} on ${hosts} ${hosts === 1 ? 'host' : 'hosts'}: nothing was copied. What it writes meanwhile would be lost. Stop it on every host, and migrate again.`,
    );
}

/**
 * Pings each store.
 * @throws CommandUsageError that names the store that did not respond, before anything is copied.
 */
async function checkStoresRespond(sides: Record<string, StoresToCopy>): Promise<void> {
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

function parseTargetFile(words: readonly string[]): string {
  const rest = words.toSpliced(words.indexOf(MIGRATE_COMMAND.name), 1);
  const { to } = parseArguments(MIGRATE_COMMAND, rest).options;
  if (typeof to === 'string' && to !== '') return to;
  throw new CommandUsageError('--to FILE is missing: a file of settings that names the target.');
}

/** The stores on one side of a migration. No service may use them until the migration has ended. */
export type MigrationStores = Omit<StoresToCopy, 'close'>;

interface MigrationReport {
  /** Documents by collection, as counted and compared on both sides. */
  collections: Record<string, number>;
  objects: number;
  bytes: number;
}

/** Thrown for an interrupted migration. The message says where it stopped and how to continue. */
class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** The number of documents that are read at once. */
const DOCUMENTS_PER_READ = 500;
/** Collections that are not copied. Records of Idempotency-Keys belong to coordination, and are kept for a day only. */
const EXCLUDED_COLLECTIONS = ['idempotency', MIGRATION_MARKER.name];
const UNLIMITED_BYTES = Number.MAX_SAFE_INTEGER;

/**
 * Copies all documents and objects, and then compares both sides: counts and SHA-256 of all documents, bytes of all
 * objects. After an interruption the next call continues: it compares existing data of the target, and copies it again
 * if it differs.
 * @throws MigrationError when the target has its own data, or differs after the copy.
 */
export async function migrateStores(
  from: MigrationStores,
  to: MigrationStores,
  onProgress: (line: string) => void,
): Promise<MigrationReport> {
  const marker = await markTarget(to.documents);
  const specs = (await from.documents.collections()).filter(
    ({ name }) => !EXCLUDED_COLLECTIONS.includes(name),
  );
  const collections: Record<string, number> = {};
  for (const spec of specs) {
    const source = from.documents.collection<DocumentWithId>(spec);
    await to.documents.prepare(spec);
    const target = to.documents.collection<DocumentWithId>(spec);
    const progress = new CopyProgressReporter(`${spec.name}, documents`, await source.count({}), onProgress);
    await copyDocuments(source, target, progress);
    collections[spec.name] = await compareDocuments(spec.name, source, target);
  }
  const copied = await copyObjects(from.objects, to.objects, onProgress);
  await marker.deleteOne({ _id: MIGRATION_MARKER.id });
  return { collections, ...copied };
}

/**
 * Stores a marker in the target before the first copy, by which a later run recognises an interrupted migration.
 * Refuses a target that already has data of its own.
 */
async function markTarget(documents: ListableDocumentStore): Promise<DocumentCollection<DocumentWithId>> {
  const existingSpecs = (await documents.collections()).filter(
    ({ name }) => !EXCLUDED_COLLECTIONS.includes(name),
  );
  const { marker, isUnfinished } = await readMigrationMarker(documents);
  if (isUnfinished) return marker;
  for (const spec of existingSpecs) {
    const collection = documents.collection<DocumentWithId>(spec);
    if ((await collection.findOne({})) !== null)
      throw new MigrationError(`The target holds ${spec.name} already: migrate into stores that are empty.`);
  }
  await marker.insertOne({ _id: MIGRATION_MARKER.id });
  return marker;
}

async function copyDocuments(
  source: DocumentCollection<DocumentWithId>,
  target: DocumentCollection<DocumentWithId>,
  progress: CopyProgressReporter,
): Promise<void> {
  for await (const page of readPages(source)) {
    const { duplicates } = await target.insertMany(page);
    for (const index of duplicates) {
      const document = page[index] as DocumentWithId;
      const existing = await target.findOne({ _id: document._id });
      if (existing === null || digestOf(existing) !== digestOf(document))
        await target.replaceOne({ _id: document._id }, document, { upsert: true });
    }
    progress.recordCopied(page.length);
  }
}

/**
 * Compares the documents of both sides.
 * @returns the number of documents on each side.
 */
async function compareDocuments(
  name: string,
  source: DocumentCollection<DocumentWithId>,
  target: DocumentCollection<DocumentWithId>,
): Promise<number> {
  const [here, there] = [await sumDocuments(source), await sumDocuments(target)];
  if (here.count !== there.count || here.sum !== there.sum)
    throw new MigrationError(
      `${name} differs after the copy (${here.count} documents here, ${there.count} there): was a service writing? Stop it and migrate again.`,
    );
  return here.count;
}

/** The number of documents and the sum of their digests, which does not depend on their order. */
async function sumDocuments(
  collection: DocumentCollection<DocumentWithId>,
): Promise<{ count: number; sum: bigint }> {
  let count = 0;
  let sum = 0n;
  for await (const page of readPages(collection)) {
    count += page.length;
    for (const document of page) sum += BigInt(`0x${digestOf(document)}`);
  }
  return { count, sum };
}

async function* readPages(collection: DocumentCollection<DocumentWithId>): AsyncGenerator<DocumentWithId[]> {
  let last: string | null = null;
  for (;;) {
    const filter: Record<string, unknown> = last === null ? {} : { _id: { $gt: last } };
    const options = { sort: sortBy('_id'), limit: DOCUMENTS_PER_READ };
    const page: DocumentWithId[] = await collection.find(filter, options);
    if (page.length === 0) return;
    yield page;
    last = page.at(-1)?._id ?? null;
  }
}

function digestOf(document: DocumentWithId): string {
  return createHash('sha256').update(canonicalJson(document)).digest('hex');
}

/** The JSON of a value, with sorted keys, so that equal documents have equal texts. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  const fields = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(',')}}`;
}

async function copyObjects(
  from: ObjectStore,
  to: ObjectStore,
  onProgress: (line: string) => void,
): Promise<{ objects: number; bytes: number }> {
  let objects = 0;
  let bytes = 0;
  const all = await from.listOlder('', UNLIMITED_BYTES, UNLIMITED_BYTES);
  // Delivered pictures are not copied, because they can be made again.
  const keys = all.filter((key) => !key.startsWith(DELIVERED_KEY_PREFIX));
  const progress = new CopyProgressReporter('objects', keys.length, onProgress);
  for (const key of keys) {
    progress.recordCopied(1);
    const source = await readObjectDigest(from, key);
    if (source === null) continue;
    if ((await readObjectDigest(to, key))?.digest !== source.digest) await copyObject(from, to, key);
    if ((await readObjectDigest(to, key))?.digest !== source.digest)
      throw new MigrationError(`The object ${key} differs after the copy: migrate again.`);
    objects += 1;
    bytes += source.bytes;
  }
  return { objects, bytes };
}

async function copyObject(from: ObjectStore, to: ObjectStore, key: string): Promise<void> {
  const source = await from.get(key);
  if (source !== null) await to.put(key, source.body, source.contentType);
}

async function readObjectDigest(
  objects: ObjectStore,
  key: string,
): Promise<{ digest: string; bytes: number } | null> {
  const object = await objects.get(key);
  if (object === null) return null;
  const hash = createHash('sha256').update(`${object.contentType}\n`);
  for await (const chunk of object.body as Readable & AsyncIterable<Uint8Array>) hash.update(chunk);
  return { digest: hash.digest('hex'), bytes: object.sizeBytes };
}
