import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SettingsOf } from '../setting.ts';
import { withoutAbsentFields } from '../values/present.ts';
import { MEGABYTE_BYTES } from '../values/units.ts';
import { DEFAULT_DATABASE, type storesSettings } from './config.ts';
import {
  coordinationOverChannel,
  EmbeddedCoordination,
  provideCoordination,
} from './coordination/embedded.ts';
import type { ListenerLog } from './coordination/messages.ts';
import type { Coordination } from './coordination/port.ts';
import type { DocumentStore, ListableDocumentStore } from './documents/port.ts';
import { documentsOverChannel, provideDocuments } from './documents/remote.ts';
import type { PrimaryChannel, PrimaryChannelHost } from './embedded/channel.ts';
import { DataDirectory } from './embedded/data-directory.ts';
import { checkMigrationEnded } from './migration-marker.ts';
import { FileObjectStore } from './objects/files.ts';
import type { ObjectStore } from './objects/port.ts';
import { DiskReserve, readDiskSpace } from './objects/reserve.ts';
import { StoreTimeout, wrapDocuments, wrapMethods } from './store-timeout.ts';

export type StoresSettings = SettingsOf<typeof storesSettings>;

/** The name of the database file in DATA_DIR. */
export const DOCUMENTS_FILE = 'documents.sqlite';

/** The three stores, whichever implementations the settings chose. */
export interface Stores {
  documents: DocumentStore;
  coordination: Coordination;
  objects: ObjectStore;
  close(): Promise<void>;
}

/** Whether documents and coordination are in the primary. */
export function hasEmbeddedStores(settings: StoresSettings): boolean {
  return settings.MONGODB_URL === '';
}

/**
 * Opens the stores in the primary. Embedded stores are provided to the API processes over `host`. The libraries of
 * stores that are not configured are not loaded, because they take most of the time of a start.
 * @throws Error with one sentence when the data directory is held by another server, or when an interrupted migration
 * has not filled the stores completely.
 */
export async function openStores(
  settings: StoresSettings,
  host: PrimaryChannelHost,
  log?: ListenerLog,
): Promise<Stores> {
  const documents = await openDocuments(settings);
  await checkMigrationEnded(documents).catch(async (error) => {
    await documents.close();
    throw error;
  });
  if (!hasEmbeddedStores(settings))
    return combineStores(
      documents,
      await connectRedisCoordination(settings, log),
      await openObjectStore(settings),
    );
  const coordination = new EmbeddedCoordination(documents, Date.now, log);
  provideDocuments(host, documents);
  provideCoordination(host, coordination);
  return combineStores(documents, coordination, await openObjectStore(settings));
}

/**
 * Whether a service has ever been started on these stores, so that they exist. Stores of a cluster count as existing;
 * the first command shows whether they do.
 */
export function storesExist(settings: StoresSettings): boolean {
  return !hasEmbeddedStores(settings) || existsSync(join(settings.DATA_DIR, DOCUMENTS_FILE));
}

/**
 * Checks whether the servers of a cluster respond and have the guarantees that the service needs. Their drivers are
 * loaded only when they are needed.
 * @throws Error with one sentence when a server lacks one, or does not respond.
 */
export async function verifyStoreServers(settings: StoresSettings): Promise<void> {
  if (hasEmbeddedStores(settings)) return;
  const { verifyRedis } = await import('./coordination/redis-connection.ts');
  await verifyRedis(settings.REDIS_URL);
  const { verifyMongoDB } = await import('./documents/mongodb-verification.ts');
  await verifyMongoDB(settings.MONGODB_URL);
}

/** Opens the documents; embedded ones lock the data directory until they are closed. */
async function openDocuments(settings: StoresSettings): Promise<ListableDocumentStore> {
  if (!hasEmbeddedStores(settings)) {
    const { connectMongoDocuments } = await import('./documents/mongodb.ts');
    return connectMongoDocuments(settings.MONGODB_URL);
  }
  const { openEmbeddedDocuments } = await import('./documents/embedded/actor.ts');
  const directory = new DataDirectory(settings.DATA_DIR);
  const documents = openEmbeddedDocuments(join(directory.path, DOCUMENTS_FILE));
  return { ...documents, close: () => documents.close().finally(() => directory.close()) };
}

/** The documents and the objects, opened to copy them while no service runs on them. */
export interface StoresToCopy {
  documents: ListableDocumentStore;
  objects: ObjectStore;
  close(): Promise<void>;
}

/**
 * Opens stores to copy them.
 * @param environment contains the credentials of the bucket. Without them the SDK finds them itself.
 * @throws Error with one sentence when another server has locked the data directory.
 */
export async function openStoresToCopy(
  settings: StoresSettings,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<StoresToCopy> {
  const objects = await openObjectStore(settings, environment);
  const documents = await openDocuments(settings);
  return {
    documents,
    objects,
    async close() {
      await Promise.all([documents.close(), objects.close()]);
    },
  };
}

/**
 * Opens the stores in an API process. `channel` connects the process with its primary, which has the embedded stores.
 */
export async function connectStores(
  settings: StoresSettings,
  channel: PrimaryChannel,
  log?: ListenerLog,
): Promise<Stores> {
  const objects = await openObjectStore(settings);
  if (hasEmbeddedStores(settings)) {
    const { withDirectReads } = await import('./documents/embedded/direct-reader.ts');
    const timeoutOf = () => new StoreTimeout(PRIMARY_TIMEOUT_OPTIONS).interceptorOf;
    const remote = wrapDocuments(documentsOverChannel(channel), timeoutOf());
    const documents = withDirectReads(remote, join(settings.DATA_DIR, DOCUMENTS_FILE));
    const coordination = wrapMethods(coordinationOverChannel(channel, log), timeoutOf());
    return combineStores(documents, coordination, objects);
  }
  const { connectMongoDocuments } = await import('./documents/mongodb.ts');
  const connected = connectMongoDocuments(settings.MONGODB_URL);
  const documents = wrapDocuments(connected, new StoreTimeout(MONGODB_TIMEOUT_OPTIONS).interceptorOf);
  return combineStores(documents, await connectRedisCoordination(settings, log), objects);
}

/**
 * The timeouts of calls to the primary. Its disk may be slow, but the primary is never unavailable while its processes
 * run.
 */
const PRIMARY_TIMEOUT_OPTIONS = {
  name: 'The primary process',
  timeoutMs: 10_000,
  timeoutWhenSilentMs: 1_000,
};
const MONGODB_TIMEOUT_OPTIONS = { name: 'MongoDB', timeoutMs: 5_000, timeoutWhenSilentMs: 500 };

/** Connects to Redis, which coordinates the hosts of a cluster. */
export async function connectRedisCoordination(
  { REDIS_URL, REDIS_PREFIX }: StoresSettings,
  log?: ListenerLog,
): Promise<Coordination> {
  const { RedisCoordination } = await import('./coordination/redis.ts');
  return new RedisCoordination({
    url: REDIS_URL,
    keyPrefix: `${REDIS_PREFIX}:`,
    ...withoutAbsentFields({ log }),
  });
}

/** @param environment as for `openStoresToCopy`. */
export async function openObjectStore(
  settings: StoresSettings,
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<ObjectStore> {
  if (settings.S3_BUCKET === '')
    return new FileObjectStore(
      join(settings.DATA_DIR, 'objects'),
      settings.STORAGE_RESERVE_MEGABYTES * MEGABYTE_BYTES,
    );
  const { s3CredentialsOf, S3ObjectStore } = await import('./objects/s3.ts');
  const credentials = s3CredentialsOf(environment);
  return new S3ObjectStore({
    bucket: settings.S3_BUCKET,
    region: settings.S3_REGION,
    ...(settings.S3_ENDPOINT === '' ? {} : { endpoint: settings.S3_ENDPOINT }),
    ...withoutAbsentFields({ credentials }),
  });
}

/** Combines stores so that they close in the right order: coordination first, because it may use the documents. */
export function combineStores(
  documents: DocumentStore,
  coordination: Coordination,
  objects: ObjectStore,
): Stores {
  return {
    documents,
    coordination,
    objects,
    async close() {
      await coordination.close();
      await Promise.all([documents.close(), objects.close()]);
    },
  };
}

/**
 * Creates the check of free disk space. Embedded documents are on the disk of DATA_DIR, as are the objects unless they
 * are in a bucket. The disks of MongoDB and of a bucket are not checked.
 * @returns a function that throws StorageFullError if only the reserve of the disk is left.
 */
export function createFreeSpaceCheck(
  settings: StoresSettings,
  { objects }: Pick<Stores, 'objects'>,
): () => Promise<void> {
  if (!hasEmbeddedStores(settings) || settings.S3_BUCKET === '') return () => objects.checkFreeSpace();
  const reserveBytes = settings.STORAGE_RESERVE_MEGABYTES * MEGABYTE_BYTES;
  const reserve = new DiskReserve(reserveBytes, () => readDiskSpace(settings.DATA_DIR));
  return () => reserve.check();
}

/** The addresses of the stores, as text for an operator: without users, passwords and options. */
export interface StoreAddresses {
  documents: string;
  objects: string;
  coordination: string;
}

export function storeAddressesOf(settings: StoresSettings): StoreAddresses {
  const { DATA_DIR, MONGODB_URL, REDIS_URL, REDIS_PREFIX, S3_BUCKET, S3_ENDPOINT } = settings;
  const directory = resolve(DATA_DIR);
  return {
    documents: MONGODB_URL === '' ? `embedded in ${directory}` : mongoAddressOf(MONGODB_URL),
    objects:
      S3_BUCKET === ''
        ? `files in ${join(directory, 'objects')}`
        : `bucket ${S3_BUCKET} of ${S3_ENDPOINT === '' ? 'AWS' : urlWithoutCredentials(S3_ENDPOINT)}`,
    coordination:
      REDIS_URL === ''
        ? `embedded in ${directory}`
        : `${urlWithoutCredentials(REDIS_URL)}, prefix ${REDIS_PREFIX}`,
  };
}

/** The servers in the URL of a MongoDB, and the database; the default database if the URL names none. */
function mongoAddressOf(url: string): string {
  const [, servers = '', database] = /^([a-z+]+:\/\/[^/]*)\/?(.*)$/.exec(urlWithoutCredentials(url)) ?? [];
  return `${servers}/${database || DEFAULT_DATABASE}`;
}

/**
 * The address without user and options: `mongodb://user:pass@a,b:27017/name?replicaSet=rs0` becomes
 * `mongodb://a,b:27017/name`.
 */
function urlWithoutCredentials(url: string): string {
  const [, scheme = '', hosts = '', path = ''] =
    /^([a-z+]+:\/\/)(?:[^?]*@)?([^/?]*)(\/[^?]*)?/.exec(url) ?? [];
  return `${scheme}${hosts}${path}`;
}
