// needs: server, browser
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { LOOPBACK, startReceiver } from '../product/webhooks/receiver.ts';
import { startServer } from '../support/harness.ts';
import { HAS_PYTHON, openReader, samplesIn } from './reader.ts';

const server = await startServer(t, { settings: { ...LOOPBACK, REQUESTS_PER_MINUTE: '100000' } });
const textAt = async (path: string) => (await server.call(`/${path}`)).bytes.toString();
const map = await textAt('/llms.txt');
const guides = /\/docs\/guides\/\{name\}\.md: (.*)\./.exec(map)?.[1]?.split(', ') ?? [];
const { data: ops } = (await server.call('/ops')).json;

t.test('every command of the guides runs as it stands, one after the other', async (t) => {
  t.ok(guides.length >= 8, guides.join(', '));
  const receiver = await startReceiver(t);
  for (const guide of guides) {
    const reader = await openReader(t, server, { HOOK: receiver.url });
    const page = await textAt(`/docs/guides/${guide}.md`);
    const commands = samplesIn(page, 'sh').filter((code) => /curl|darkroom /.test(code));
    if (guide !== 'cluster') t.ok(commands.length >= 2, guide);
    await t.resolves(reader.shell(commands.join('\n')), guide);
    const picture = (name: string) => sharp(join(reader.directory, name)).metadata();
    if (guide === 'first-picture') t.match(await picture('small.jpg'), { width: 300, format: 'jpeg' });
    if (guide === 'several-results')
      t.match((await readFile(join(reader.directory, 'pictures.zip'))).toString('latin1'), /large\.webp/);
    if (guide === 'templates') t.match(await picture('receipt.png'), { width: 400, height: 300 });
    if (guide === 'presets') t.match(await picture('first-avatar.webp'), { width: 256, hasAlpha: true });
    if (guide === 'jobs') t.match(await picture('small.jpg'), { width: 64 });
  }
  const [delivery] = await receiver.until(1);
  t.equal(delivery?.event.type, 'webhook.test');
});

t.test('the call of each op and each guide runs in TypeScript and in Python too', async (t) => {
  const reader = await openReader(t, server);
  const paths = [
    ...ops.map(({ op }: { op: string }) => `/docs/ops/${op}.md`),
    ...guides.map((guide) => `/docs/guides/${guide}.md`),
  ];
  const pages = await Promise.all(paths.map(textAt));
  for (const language of ['ts', 'python'] as const) {
    const samples = pages.flatMap((page) =>
      // The guide to webhooks has parts of a receiver, which verification.test.ts runs.
      samplesIn(page, language).filter((code) => !code.includes('hmac')),
    );
    t.ok(samples.length >= ops.length, `${language}: ${samples.length}`);
    if (language === 'python' && !HAS_PYTHON) {
      t.comment('SKIPPED: python3 with requests is missing, so the samples in Python were not run');
      continue;
    }
    await t.resolves(reader.scripts(language, samples), language);
  }
  t.match(await sharp(join(reader.directory, 'result.webp')).metadata(), { format: 'webp' });
});
