// needs: service, browser
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readSettings } from '../../../config/index.ts';
import { checkBrowser } from '../../../src/host/doctor/browser.ts';
import { checkPublicUrl } from '../../../src/host/doctor/network.ts';
import { LinkSigner } from '../../../src/platform/http/signatures.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { startWholeService } from '../../support/whole-service.ts';

t.test('a public address is told apart from that of another service', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '1' });
  const { port } = new URL(service.url);
  const found = async (dataDir: string) => {
    const settings = readSettings({ PUBLIC_URL: service.url, PORT: port, DATA_DIR: dataDir });
    return (await checkPublicUrl(settings))[0];
  };
  t.match(await found(service.directory), { state: 'ok', message: /leads to this service/ });
  const elsewhere = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  t.teardown(() => rm(elsewhere, { recursive: true, force: true }));
  t.match(await found(elsewhere), { state: 'warning', message: /not known/, remedy: /Start the service/ });
  const documents = openEmbeddedDocuments(join(elsewhere, 'documents.sqlite'));
  await documents.ping();
  t.match(await found(elsewhere), { state: 'warning' }, 'a database that no service has begun');
  await LinkSigner.open(documents);
  await documents.close();
  t.match(await found(elsewhere), {
    state: 'problem',
    message: /another service: .*HTTP 403/,
    remedy: /to this service/,
  });
});

t.test('the browser is started and draws a page', async (t) => {
  const [path, page, sandbox] = await checkBrowser(readSettings({}));
  t.equal(path?.state, 'ok');
  t.match(page, { state: 'ok', message: /drew a page in \d+ ms/ });
  t.match(sandbox?.message, /sandbox/);
});

t.test('a program that is no browser, and a sandbox that cannot be had, are found', async (t) => {
  const [, page] = await checkBrowser(readSettings({ BROWSER_PATH: '/bin/false' }));
  t.match(page, { state: 'problem', message: /cannot draw a page: .*false/, remedy: /BROWSER_PATH/ });
  if (process.getuid?.() !== 0) return;
  const findings = await checkBrowser(readSettings({ RENDER_SANDBOX: 'required' }));
  t.match(
    findings.filter(({ state }) => state === 'problem').map(({ message }) => message),
    [/cannot draw a page/, /without their sandbox: the service runs as root/],
  );
});
