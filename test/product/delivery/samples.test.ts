// needs: server
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { signatureOf } from '../../../src/product/delivery/keys/signing.ts';
import { samplesIn } from '../../docs/reader.ts';
import { startServer } from '../../support/harness.ts';

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

const server = await startServer(t);
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
  for (const [language, program, file] of [
    ['js', process.execPath, 'sign.mjs'],
    ['python', 'python3', 'sign.py'],
    ['php', 'php', 'sign.php'],
  ] as const) {
    const [code] = samplesIn(page, language);
    t.ok(code, language);
    if (spawnSync(program, ['--version']).status !== 0) {
      t.comment(`SKIPPED: ${program} is missing, so its sample was not run`);
      continue;
    }
    const path = join(directory, file);
    await writeFile(path, code ?? '');
    const { stdout } = await promisify(execFile)(program, [path]);
    t.same(stdout.trim().split('\n'), printed, language);
  }
});
