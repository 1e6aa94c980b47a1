// needs: documents
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openEmbeddedDocuments } from '../../src/stores/documents/embedded/actor.ts';
import { documentsOverChannel, provideDocuments } from '../../src/stores/documents/over-channel.ts';
import { StoreUnavailableError } from '../../src/stores/documents/port.ts';
import { channelPair } from '../../src/stores/embedded/channel-pair.ts';
import { documentsContract } from './documents.contract.ts';

/** A file of a test's own. */
function newFile(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-documents-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'documents.sqlite');
}

t.test('in the process that owns them', async (t) => {
  const file = newFile(t);
  let documents = openEmbeddedDocuments(file);
  documentsContract(t, {
    documents,
    async restart() {
      await documents.close();
      documents = openEmbeddedDocuments(file);
      return documents;
    },
  });
  t.test('closed', async (t) => {
    await documents.close();
    await documents.close();
    await t.rejects(documents.ping(), StoreUnavailableError);
  });
});

t.test('over the channel, from an API process', async (t) => {
  const file = newFile(t);
  let owned = openEmbeddedDocuments(file);
  let pair = channelPair();
  provideDocuments(pair.host, owned);

  const documents = documentsOverChannel(pair.channel);
  documentsContract(t, {
    documents,
    async restart() {
      pair.cut();
      await owned.close();
      await t.rejects(documents.ping(), StoreUnavailableError);
      owned = openEmbeddedDocuments(file);
      pair = channelPair();
      provideDocuments(pair.host, owned);
      return documentsOverChannel(pair.channel);
    },
  });
  t.test('closed', () => owned.close());
});
