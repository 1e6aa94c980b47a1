// needs: documents, alone
import cluster from 'node:cluster';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { provideDocuments } from '../../../../src/platform/stores/documents/remote.ts';
import { PrimaryChannelHost } from '../../../../src/platform/stores/embedded/channel.ts';

interface Report {
  claimed: string[];
  refused: unknown;
}

const PROCESSES = 3;
const ITEMS = 300;

t.test('processes of a cluster claim from the primary, no item twice', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-cluster-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  provideDocuments(new PrimaryChannelHost(), documents);
  const items = documents.collection<{ _id: string; status: string }>({ name: 'items', indexes: [] });
  await items.insertMany(Array.from({ length: ITEMS }, (_, n) => ({ _id: `i${n}`, status: 'QUEUED' })));

  cluster.setupPrimary({ exec: fileURLToPath(new URL('./process.ts', import.meta.url)) });
  const reports = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const worker = cluster.fork();
      const report = await new Promise<Report>((resolve) => {
        worker.on('message', (message) => message.claimed !== undefined && resolve(message));
      });
      worker.kill();
      await once(worker, 'exit');
      return report;
    }),
  );
  const claimed = reports.flatMap((report) => report.claimed);
  t.equal(claimed.length, ITEMS);
  t.equal(new Set(claimed).size, ITEMS);
  for (const { refused } of reports) t.same(refused, { name: 'DuplicateKeyError', index: '_id_' });
  await documents.close();
});
