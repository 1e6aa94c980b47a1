import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { COLLECTIONS } from '../../src/host/collections.ts';
import { openEmbeddedDocuments } from '../../src/platform/stores/documents/embedded/actor.ts';
import type {
  DocumentCollection,
  DocumentFilter,
  DocumentStore,
  DocumentUpdate,
} from '../../src/platform/stores/documents/port.ts';

/** Embedded documents in their own file, gone with the test. */
export async function openDocuments(t: Test): Promise<DocumentStore> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-documents-'));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  t.teardown(async () => {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });
  return documents;
}

/** Documents in which the indexes of every collection were made, as the primary makes them. */
export async function prepared<D extends DocumentStore>(documents: D): Promise<D> {
  await Promise.all(COLLECTIONS.map((spec) => documents.prepare(spec)));
  return documents;
}

/** Documents whose process dies just before it would update one. */
export function dyingAtUpdate(documents: DocumentStore): DocumentStore {
  return withBeforeUpdate(documents, () => Promise.reject(new Error('The process died.')));
}

/** Documents that do something else just before they update one. */
export function withBeforeUpdate(
  documents: DocumentStore,
  beforeUpdate: () => Promise<unknown>,
): DocumentStore {
  return {
    ...documents,
    collection(spec) {
      const collection: DocumentCollection<never> = documents.collection(spec);
      const updateOne = async (filter: DocumentFilter, update: DocumentUpdate) => {
        await beforeUpdate();
        return collection.updateOne(filter, update);
      };
      return { ...collection, updateOne };
    },
  };
}
