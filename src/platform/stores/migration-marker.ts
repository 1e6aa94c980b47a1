import type { CollectionSpec, DocumentCollection, DocumentStore, DocumentWithId } from './documents/port.ts';

/**
 * The collection that has one document while a migration fills the stores. By this document, a later run recognises the
 * unfinished migration, and a start refuses the stores.
 */
export const MIGRATION_MARKER: CollectionSpec & { id: string } = {
  name: 'migrations',
  indexes: [],
  id: 'begun',
};

/** @returns the collection of the marker, and whether a migration has begun to fill the stores and has not ended. */
export async function readMigrationMarker(
  documents: DocumentStore,
): Promise<{ marker: DocumentCollection<DocumentWithId>; isUnfinished: boolean }> {
  const marker = documents.collection<DocumentWithId>(MIGRATION_MARKER);
  return { marker, isUnfinished: (await marker.findOne({ _id: MIGRATION_MARKER.id })) !== null };
}

/** What an unfinished migration means for a start, and its remedy. */
export const UNFINISHED_MIGRATION = {
  message: 'These stores are an unfinished copy, because a migration to them was interrupted.',
  remedy:
    'Run "npm run admin -- migrate --to FILE" again with the settings of the stores that it copies, or start the service on those stores: nothing was taken from them.',
};

/**
 * Refuses stores that a migration has not filled completely: a service would serve a part of the documents, and would
 * add its own to them.
 * @throws Error with the remedy.
 */
export async function checkMigrationEnded(documents: DocumentStore): Promise<void> {
  const { message, remedy } = UNFINISHED_MIGRATION;
  if ((await readMigrationMarker(documents)).isUnfinished) throw new Error(`${message} ${remedy}`);
}
