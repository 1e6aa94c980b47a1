// needs: server
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t from 'tap';
import { signatureOf } from '../../../src/product/delivery/address.ts';
import { samplesIn } from '../../docs/reader.ts';
import { sharedServer } from '../../support/harness.ts';
import { signed, twoHalves } from './delivering.ts';

const KEY_ID = 'sgk_0Vc2C4nu07iemyzIa4tP8Brt';
const SECRET = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789';
const PICTURE = 'resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp';
const FAMILY = 'card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk';
/** By another implementation of HMAC. */
const SIGNATURES = {
  [PICTURE]: 'I34HdoEkaxoSRgLsPrf5q-i4fv1IFvBe',
  [`${PICTURE}?exp=1893456000`]: '3gQo-r35gAeoLe08E2Yf3gCLk16nVTef',
  [`${FAMILY}/*.auto`]: 'EnxTUCyZMmh6k4CpOibFEgPIdasdye4A',
};

const GO_FOLDER = '/usr/local/go/bin/go';
const GO = existsSync(GO_FOLDER) ? GO_FOLDER : 'go';

const server = await sharedServer();
const page = (await server.call('//docs/guides/delivery.md')).bytes.toString();

t.test('the signatures of the guide are those of the service', async (t) => {
  for (const [message, signature] of Object.entries(SIGNATURES)) {
    t.equal(signatureOf(SECRET, message), signature);
    t.match(page, signature);
  }
});

t.test('the scripts of the guide print the addresses that the service answers', async (t) => {
  const [picture, end, family] = Object.values(SIGNATURES);
  const rung = (width: number) => `/d/${KEY_ID}/${family}/${FAMILY}/${width}.auto ${width}w`;
  const printed = [
    `/d/${KEY_ID}/${picture}/${PICTURE}`,
    `/d/${KEY_ID}/${end}/${PICTURE}?exp=1893456000`,
    `${rung(640)}, ${rung(1080)}`,
  ];
  const directory = await mkdtemp(join(tmpdir(), 'signing-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  for (const [language, file, [program, ...words]] of [
    ['js', 'sign.mjs', [process.execPath]],
    ['python', 'sign.py', ['python3']],
    ['php', 'sign.php', ['php']],
    // The compiler optimises nothing, which is most of its work.
    ['go', 'sign.go', [GO, 'run', '-gcflags=all=-N -l']],
    ['ruby', 'sign.rb', ['ruby']],
  ] as const) {
    const [code] = samplesIn(page, language);
    t.ok(code, language);
    if (spawnSync(program, [program === GO ? 'version' : '--version']).status !== 0) {
      t.comment(`SKIPPED: ${program} is missing, so its sample was not run`);
      continue;
    }
    const path = join(directory, file);
    await writeFile(path, code ?? '');
    const { stdout } = await promisify(execFile)(program, [...words, path]);
    t.same(stdout.trim().split('\n'), printed, language);
  }
});

t.test('each loader of the guide makes addresses that the service answers', async (t) => {
  const account = await server.account();
  const of = (path: string, json: object) => server.call(path, { key: account.key, json });
  const key = (await of('/signing-keys', { name: 'Shop' })).json.data;
  const preset = (await of('/presets', { name: 'Card', steps: [{ op: 'grayscale' }] })).json.data.slug;
  const upload = { key: account.key, body: new Uint8Array(await twoHalves()), type: 'image/png' };
  const assetId = (await server.call('/assets/upload', upload)).json.data.id;
  const family = `${preset}@1/${assetId}`;
  const src = `${server.url}${signed(key, `${family}/*.auto`, family)}`;
  const [next, nuxt, astro, unpic] = await Promise.all(
    samplesIn(page, 'js')
      .slice(1)
      .map((code) => import(`data:text/javascript,${encodeURIComponent(code)}`)),
  );
  const widths = [100, 300, 5_000];
  const image = { src, widths, width: 100, format: 'webp', quality: 80, alt: 'A card' };
  const addresses = [
    ...widths.map((width) => next.default({ src, width, quality: 75 })),
    ...widths.map((width) => nuxt.default().getImage(src, { modifiers: { width: String(width) } }).url),
    nuxt.getImage(src, {}).url,
    astro.default.getURL(image),
    ...astro.default.getSrcSet(image).map(({ url }: { url: string }) => url),
    ...widths.map((width) => unpic.transformer(src, { width, height: 10 }, {})),
  ];
  t.equal(addresses.length, 14);
  for (const url of addresses) {
    const answer = await fetch(url, { headers: { accept: 'image/webp,*/*' } });
    t.equal(answer.status, 200, url);
    const { width = 0 } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
    t.ok([128, 384, 400].includes(width), `${url}: ${width}`);
  }
  t.same(astro.default.getHTMLAttributes(image), { loading: 'lazy', width: 100, alt: 'A card' });
});
