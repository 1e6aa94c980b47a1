import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { dropDatabase, randomDatabase } from '../../../bench/services/mongodb.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { prepared } from '../../support/documents.ts';

/** Documents that a test opens, and may open again as after a restart. */
export interface OpenedDocuments {
  documents: DocumentStore;
  /** Where another process reaches them; null when they are embedded in this one. */
  url: string | null;
  /** Closes them and opens what was stored. */
  restart(): Promise<DocumentStore>;
}

/** Runs a promise on embedded documents, and on MongoDB where MONGODB_URL names one. */
export function onEachStore(
  t: Test,
  promise: string,
  test: (t: Test, opened: OpenedDocuments) => Promise<void>,
): void {
  t.test(`${promise} (embedded)`, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    await test(
      t,
      reopenable(t, () => openEmbeddedDocuments(join(directory, 'documents.sqlite'))),
    );
  });
  const { MONGODB_URL } = process.env;
  const skip = MONGODB_URL ? false : 'MONGODB_URL names no MongoDB';
  t.test(`${promise} (MongoDB)`, { skip }, async (t) => {
    const url = randomDatabase(MONGODB_URL ?? '');
    t.teardown(() => dropDatabase(url));
    let current = await prepared(connectMongoDocuments(url));
    t.teardown(() => current.close());
    await test(t, {
      documents: current,
      url,
      async restart() {
        await current.close();
        current = connectMongoDocuments(url);
        return current;
      },
    });
  });
}

function reopenable(t: Test, open: () => DocumentStore): OpenedDocuments {
  let current = open();
  t.teardown(() => current.close());
  return {
    documents: current,
    url: null,
    async restart() {
      await current.close();
      current = open();
      return current;
    },
  };
}
