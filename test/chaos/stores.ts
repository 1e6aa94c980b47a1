import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDocuments } from '../../src/platform/stores/documents/embedded/actor.ts';
import type { DocumentStore } from '../../src/platform/stores/documents/port.ts';

/** An embedded store for one world after another. */
export interface BorrowedStore extends DocumentStore {
  /** Empties it, for the next world. */
  giveBack(): Promise<void>;
}

const idle: BorrowedStore[] = [];

/** An empty embedded store. Its thread takes longer to start than a round upon it takes, so stores are used again. */
export async function borrowStore(): Promise<BorrowedStore> {
  return idle.pop() ?? (await openStore());
}

/** Ends the stores that nobody has borrowed: their threads would keep the process alive. */
export async function closeStores(): Promise<void> {
  await Promise.all(idle.splice(0).map((store) => store.close()));
}

async function openStore(): Promise<BorrowedStore> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-store-'));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const emptying = new Map<string, () => Promise<unknown>>();
  const store: BorrowedStore = {
    collection(spec) {
      const collection = documents.collection<never>(spec);
      emptying.set(spec.name, () => collection.deleteMany({}));
      return collection;
    },
    prepare: (spec) => documents.prepare(spec),
    ping: () => documents.ping(),
    async close() {
      await documents.close();
      await rm(directory, { recursive: true, force: true });
    },
    async giveBack() {
      await Promise.all(Array.from(emptying.values(), (empty) => empty()));
      idle.push(store);
    },
  };
  return store;
}
