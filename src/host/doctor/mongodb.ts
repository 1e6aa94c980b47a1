import { MongoClient } from 'mongodb';
import type { Settings } from '../../../config/index.ts';
import { connectMongoDocuments } from '../../platform/stores/documents/mongodb.ts';
import { verifyMongoDB } from '../../platform/stores/documents/mongodb-verification.ts';
import type { CollectionSpec, IndexSpec } from '../../platform/stores/documents/port.ts';
import { readMigrationMarker, UNFINISHED_MIGRATION } from '../../platform/stores/migration-marker.ts';
import { COLLECTIONS } from '../collections.ts';
import {
  clockFinding,
  type DoctorFinding,
  findingsOrProblem,
  latencyFinding,
  measureDurationsMs,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';

const SERVER_SELECTION_TIMEOUT_MS = 5_000;
/**
 * The lowest accepted version of the wire protocol: that of MongoDB 4.2, the oldest version that the driver supports.
 */
const MIN_WIRE_VERSION = 8;

const INDEXES_REMEDY =
  'Restart the service, which builds them; if it cannot, its log says why, such as duplicates in a unique index.';

/** The facts that a MongoDB server states about itself. */
interface MongoFacts {
  setName?: string;
  isWritablePrimary?: boolean;
  maxWireVersion: number;
}

/** Checks MongoDB: replica set, write concern, clock, indexes and latency. */
export async function checkMongo({ stores }: Settings, now: () => Date): Promise<DoctorFinding[]> {
  if (stores.MONGODB_URL === '') return [okFinding('Documents are embedded: there is no MongoDB to check.')];
  const client = new MongoClient(stores.MONGODB_URL, {
    serverSelectionTimeoutMS: SERVER_SELECTION_TIMEOUT_MS,
  });
  return findingsOrProblem(
    async () => {
      const database = client.db();
      const hello = await database.command({ hello: 1 });
      return [
        ...mongoServerFindings(hello as unknown as MongoFacts),
        writeConcernFinding(client),
        ...(hello.localTime instanceof Date
          ? [clockFinding('MongoDB', hello.localTime.getTime(), now().getTime())]
          : []),
        await checkUniqueIndexes(stores.MONGODB_URL),
        ...(await checkDocuments(stores.MONGODB_URL)),
        latencyFinding('MongoDB', await measureDurationsMs(() => database.command({ ping: 1 }))),
      ];
    },
    (reason) => `MongoDB does not answer: ${reason}.`,
    'Check MONGODB_URL, its user, and that the network lets this host through.',
  ).finally(() => client.close());
}

/** Checks the guarantees of the server by `verifyMongoDB`, in a temporary collection. */
async function checkUniqueIndexes(url: string): Promise<DoctorFinding> {
  try {
    await verifyMongoDB(url);
    return okFinding('Unique indexes refuse updates as MongoDB does.');
  } catch (error) {
    return problemFinding((error as Error).message, 'Install MongoDB 6 or later.');
  }
}

export function mongoServerFindings(facts: MongoFacts): DoctorFinding[] {
  const { setName, isWritablePrimary, maxWireVersion } = facts;
  return [
    maxWireVersion >= MIN_WIRE_VERSION
      ? okFinding(`MongoDB speaks wire version ${maxWireVersion}.`)
      : problemFinding(
          `MongoDB speaks wire version ${maxWireVersion}, which is too old.`,
          'Install MongoDB 6 or later.',
        ),
    setName === undefined
      ? warningFinding(
          'MongoDB is a single server: when its disk is lost, everything is.',
          'Run a replica set of three.',
        )
      : okFinding(`MongoDB is the replica set ${setName}.`),
    isWritablePrimary === false
      ? problemFinding(
          'MongoDB takes no writes here.',
          'Name the whole replica set in MONGODB_URL, not one secondary.',
        )
      : okFinding('MongoDB takes writes.'),
  ];
}

/**
 * The finding about the write concern in the URL. A weaker one has no effect, because the service itself sets majority
 * and journal.
 */
export function writeConcernFinding({ writeConcern }: Pick<MongoClient, 'writeConcern'>): DoctorFinding {
  const inAddress = writeConcern?.w;
  if (inAddress === undefined || inAddress === 'majority')
    return okFinding('Writes wait for a majority and its journal.');
  const message = `MONGODB_URL has w=${inAddress}, which is not used.`;
  return warningFinding(message, 'Leave it out: writes wait for a majority.');
}

/**
 * Compares the indexes of a database with the declared ones, without creating any, and checks whether a migration to it
 * was interrupted.
 */
export async function checkDocuments(url: string): Promise<DoctorFinding[]> {
  await using opened = new AsyncDisposableStack();
  const documents = opened.adopt(connectMongoDocuments(url), (store) => store.close());
  const { isUnfinished } = await readMigrationMarker(documents);
  return [
    indexesFinding(COLLECTIONS, await documents.collections()),
    ...(isUnfinished ? [problemFinding(UNFINISHED_MIGRATION.message, UNFINISHED_MIGRATION.remedy)] : []),
  ];
}

/**
 * The finding about missing and different indexes. A missing unique index is a problem, because nothing else prevents
 * duplicates.
 */
export function indexesFinding(
  declared: readonly CollectionSpec[],
  existing: readonly CollectionSpec[],
): DoctorFinding {
  if (existing.length === 0) return okFinding('MongoDB is empty: the first start makes its indexes.');
  const existingIndexes = new Map(existing.flatMap((spec) => indexesByName(spec)));
  const all = declared.flatMap((spec) => indexesByName(spec));
  const missingOrDifferent = all.filter(
    ([name, index]) => indexDeclarationOf(existingIndexes.get(name)) !== indexDeclarationOf(index),
  );
  if (missingOrDifferent.length === 0)
    return okFinding(`MongoDB has the ${all.length} indexes that the service reads by.`);
  const names = missingOrDifferent
    .map(([name, { unique }]) => (unique ? `${name} (unique)` : name))
    .join(', ');
  const message = `MongoDB lacks indexes, or declares them differently: ${names}.`;
  if (missingOrDifferent.some(([, { unique }]) => unique)) return problemFinding(message, INDEXES_REMEDY);
  return warningFinding(message, INDEXES_REMEDY);
}

function indexesByName({ name, indexes }: CollectionSpec): Array<readonly [name: string, index: IndexSpec]> {
  return indexes.map((index) => [`${name}.${index.name}`, index]);
}

/** The fields and options of an index as text, by which two indexes are compared. */
function indexDeclarationOf(index: IndexSpec | undefined): string {
  if (index === undefined) return 'none';
  const { fields, unique = false, whenPresent = [] } = index;
  return JSON.stringify([fields, unique, whenPresent]);
}
