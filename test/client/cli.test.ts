// needs: server
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { sharedServer } from '../support/harness.ts';
import { redSquare } from '../support/images.ts';
import { serve } from '../support/loopback.ts';
import { runner } from './cli-harness.ts';

const server = await sharedServer();
const account = await server.account({ credits: 1_000 });
const environment = { DARKROOM_URL: server.url, DARKROOM_KEY: account.key };
const png = await redSquare();

/** A folder with a picture, in which commands run. */
function workplace(t: Test) {
  const cwd = t.testdir();
  writeFileSync(join(cwd, 'red.png'), png);
  return { cwd, darkroom: runner(cwd, environment) };
}

t.test('one image goes from a file or a pipe to a file or a pipe', async (t) => {
  const { cwd, darkroom } = workplace(t);
  const resize = ['--op', 'resize', '--width', '8'];
  const made = await darkroom(['transform', 'red.png', ...resize, '-o', 'small.webp']);
  t.match(made, { code: 0, stderr: '' });
  t.match(made.rows, [{ input: 'red.png', output: 'small.webp', width: 8, format: 'webp', bytes: Number }]);
  t.match(await sharp(join(cwd, 'small.webp')).metadata(), { width: 8, format: 'webp' });

  const piped = await darkroom(['transform', '-', ...resize, '--format', 'jpg'], png);
  t.match(piped, { code: 0, stderr: 'larger_than_input\n' });
  t.match(await sharp(piped.stdout).metadata(), { width: 8, format: 'jpeg' });
  const large = await darkroom(['transform', '-', '--op', 'resize', '--width', '64'], png);
  t.match(large, { code: 0, stderr: /not_enlarged/ }, 'a finding does not go between the bytes');
  const { id } = (await darkroom(['upload', 'red.png'])).rows[0];
  const turned = await darkroom(['transform', id, '--op', 'rotate', '--angle', '-90', '-o', 'turned.png']);
  t.match(turned, { code: 0 });
  writeFileSync(
    join(cwd, 'steps.json'),
    JSON.stringify([{ op: 'grayscale' }, { op: 'flip', parameters: { axis: 'vertical' } }]),
  );
  t.match(await darkroom(['transform', 'red.png', '--steps', 'steps.json', '-o', 'grey.png']), { code: 0 });
  const inline = ['--steps', '[{"op": "resize", "parameters": {"width": 8}}]', '-o', 'inline.png'];
  t.match((await darkroom(['transform', 'red.png', ...inline])).rows, [{ width: 8 }]);
  t.match(await darkroom(['transform', 'red.png', ...resize, '--enlarge', '-o', 'red-8.png']), { code: 0 });
  const kebab = ['--op', 'compress', '--format', 'jpeg', '--min-ssim', '0.9', '-o', 'small.jpg'];
  t.match(await darkroom(['transform', 'red.png', ...kebab]), { code: 0 });
});

t.test('it tells its version, which is that of its package', async (t) => {
  const { darkroom } = workplace(t);
  const said = await darkroom(['--version']);
  t.match(
    { ...said, stdout: String(said.stdout) },
    { code: 0, stderr: '', stdout: /^darkroom \d+\.\d+\.\d+\n$/ },
  );
});

t.test('a dry run tells what would be made, and makes nothing', async (t) => {
  const { cwd, darkroom } = workplace(t);
  const planned = await darkroom([
    'transform',
    '.',
    '--op',
    'resize',
    '--width',
    '8',
    '-o',
    'out',
    '--dry-run',
  ]);
  t.match(planned, {
    code: 0,
    rows: [{ input: 'red.png', estimate: { format: 'png', width: 8, price: 0 } }],
  });
  t.same(readdirSync(cwd), ['red.png']);
  const page = ['render', '--template', 'social-card', '-o', 'card.webp', '--dry-run'];
  t.match((await darkroom(page)).rows, [{ estimate: { format: 'webp', width: 1200, price: 0 } }]);
});

t.test('wrong arguments are told before anything is sent', async (t) => {
  const { darkroom } = workplace(t);
  const wrong: Record<string, [string[], RegExp]> = {
    'no command': [[], /^$/],
    'an unknown command': [['transfrom'], /no command transfrom.* Did you mean transform\?/],
    'no op': [['transform', 'red.png'], /--op, --preset and --steps/],
    'an unknown op': [['transform', 'red.png', '--op', 'rezise'], /no op "rezise"/],
    'an unknown parameter': [
      ['transform', 'red.png', '--op', 'resize', '--widht', '8'],
      /--widht\. Did you mean --width\?/,
    ],
    'an option that is misspelt': [
      ['transform', 'red.png', '--op', 'grayscale', '--dryrun'],
      /--dryrun\. Did you mean --dry-run\?/,
    ],
    'an option without an op': [
      ['transform', 'red.png', '--prest', 'builtin-avatar'],
      /Did you mean --preset\?/,
    ],
    'one step in place of a list': [['transform', 'red.png', '--steps', '{"op":"flip"}'], /must hold a list/],
    'a number out of its bounds': [
      ['transform', 'red.png', '--op', 'resize', '--width', '99999'],
      /--width .* 1 to/,
    ],
    'a text for a number': [
      ['transform', 'red.png', '--op', 'resize', '--width', 'wide'],
      /--width .* number/,
    ],
    'no file': [['transform', 'green.png', '--op', 'grayscale'], /no file green\.png/],
    'steps that are no file': [['transform', 'red.png', '--steps', 'none.json'], /--steps .*none\.json/],
    'html that is no file': [['render', '--html', 'none.html', '-o', 'x.png'], /--html .*none\.html/],
    'several images without a folder': [['transform', 'red.png', 'red.png', '--op', 'grayscale'], /-o/],
    'a key': [['transform', 'red.png', '--op', 'grayscale', '--key', 'drk_1'], /--key/],
    'an op of a model': [['transform', 'red.png', '--op', 'upscale'], /job run/],
    'no number at once': [
      ['transform', '.', '--op', 'grayscale', '-o', 'out', '--concurrency', '0'],
      /concurrency/,
    ],
  };
  for (const [name, [args, said]] of Object.entries(wrong))
    t.match(await darkroom(args), { code: 2, stderr: said }, name);
  for (const url of ['nonsense', 'ftp://host']) {
    const lost = runner(t.testdirName, { ...environment, DARKROOM_URL: url });
    t.match(await lost(['ops']), { code: 2, stderr: /DARKROOM_URL/ }, url);
  }
  const help = await darkroom(['transform', '--help']);
  t.match([help.code, help.stdout.toString()], [0, /--dry-run/]);
});

t.test('the exit code says of which kind a failure is', async (t) => {
  const { cwd, darkroom } = workplace(t);
  const resize = ['--op', 'resize', '--width', '8', '-o', 'out.png'];
  writeFileSync(join(cwd, 'text.png'), 'This is no picture.');
  t.match(await darkroom(['transform', 'text.png', ...resize]), { code: 3, stderr: /^darkroom: / });
  const stranger = runner(cwd, { ...environment, DARKROOM_KEY: 'drk_unknown' });
  t.match(await stranger(['transform', 'red.png', ...resize]), { code: 3 });
  const poor = await server.account({ credits: 0 });
  const generate = ['job', 'run', '--op', 'generate', '--prompt', 'A lighthouse'];
  const broke = runner(cwd, { ...environment, DARKROOM_KEY: poor.key });
  t.match(await broke(generate), { code: 4, stderr: /credit/ });
  const busy = await serve(t, (_, response) => {
    response.writeHead(503, { 'retry-after': '3600', 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        success: false,
        error: { code: 'provider_unavailable', message: 'Full.', retryable: true },
      }),
    );
  });
  t.match(await runner(cwd, { ...environment, DARKROOM_URL: busy.url })(['ops']), {
    code: 5,
    stderr: /Full/,
  });
});

t.test('a folder goes into a folder, and goes on where it ended', async (t) => {
  const { cwd, darkroom } = workplace(t);
  mkdirSync(join(cwd, 'photos/deep'), { recursive: true });
  for (const name of ['a.png', 'deep/b.png', 'deep/c.png']) writeFileSync(join(cwd, 'photos', name), png);
  writeFileSync(join(cwd, 'photos/a.gif'), await sharp(png).gif().toBuffer());
  writeFileSync(join(cwd, 'photos/broken.png'), 'This is no picture.');
  writeFileSync(join(cwd, 'photos/notes.txt'), 'This is no picture either.');
  const command = ['transform', 'photos', '--op', 'resize', '--width', '8', '--format', 'webp', '-o', 'out'];
  const first = await darkroom(command);
  t.equal(first.code, 3, 'one of them is refused');
  t.equal(first.rows.length, 5);
  const failed = first.rows.filter(({ error }) => error !== undefined);
  t.match(failed, [{ input: 'photos/broken.png', error: { code: 'unsupported_format', requestId: String } }]);
  const files = readdirSync(join(cwd, 'out'), { recursive: true, encoding: 'utf8' });
  t.same(
    files.filter((name) => name.endsWith('.webp')).sort(),
    ['a.gif.webp', 'a.png.webp', 'deep/b.webp', 'deep/c.webp'],
    'equal names keep their extensions',
  );
  t.match(await sharp(join(cwd, 'out/deep/b.webp')).metadata(), { width: 8, format: 'webp' });

  rmSync(join(cwd, 'out/deep/c.webp'));
  const second = await darkroom(command);
  t.same(second.rows.map(({ input }) => input).sort(), ['photos/broken.png', 'photos/deep/c.png']);
  t.match(second.stderr, /3 of 5/);
  const other = await darkroom(command.map((word) => (word === '8' ? '16' : word)));
  t.equal(other.rows.length, 5, 'other work is done again');
  t.equal((await darkroom([...command.slice(0, -2), '-o', 'out', '--again'])).rows.length, 5);
});

t.test(
  'odd entries of a folder fail alone, results are no images of it, and a broken journal costs nothing',
  async (t) => {
    const { cwd, darkroom } = workplace(t);
    const names = ['a b#1?.png', '--op.png', 'new\nline.png', 'ü.png'];
    mkdirSync(join(cwd, 'photos/folder.png'), { recursive: true });
    for (const name of names) writeFileSync(join(cwd, 'photos', name), png);
    symlinkSync('/nowhere', join(cwd, 'photos/lost.png'));
    const command = ['transform', 'photos', '--op', 'grayscale', '--format', 'png', '-o', 'photos/grey'];
    const first = await darkroom(command);
    const failed = first.rows.filter(({ error }) => error !== undefined);
    t.match([first.code, first.rows.length, failed], [1, 5, [{ input: 'photos/lost.png' }]]);
    t.same(
      readdirSync(join(cwd, 'photos/grey'))
        .filter((name) => name.endsWith('.png'))
        .sort(),
      [...names].sort(),
    );
    const journal = join(cwd, 'photos/grey/.darkroom-journal.ndjson');
    appendFileSync(journal, 'null\n{}\n{"input": "photos/ü.png"}\n\u0000{"input": "br');
    t.equal((await darkroom(command)).rows.length, 1, 'only what failed is tried again');
    rmSync(join(cwd, 'photos/grey/ü.png'));
    t.equal((await darkroom(command)).rows.length, 2);
    t.equal((await darkroom(command)).rows.length, 1, 'the entry behind the broken line is read');
  },
);

t.test('a folder that cannot be made is told before anything is sent', async (t) => {
  const { cwd } = workplace(t);
  const other = await server.account({ credits: 1_000 });
  const darkroom = runner(cwd, { ...environment, DARKROOM_KEY: other.key });
  mkdirSync(join(cwd, 'photos'));
  writeFileSync(join(cwd, 'photos/a.png'), png);
  const resize = ['--op', 'resize', '--width', '8', '-o', '/proc/nothing/here'];
  for (const command of [
    ['transform', 'photos'],
    ['job', 'run', 'red.png'],
  ])
    t.match(await darkroom([...command, ...resize]), { code: 1, rows: [], stderr: /ENOENT/ });
  for (const list of [['job', 'list'], ['assets']]) t.same((await darkroom(list)).rows, []);
});

t.test('a job is priced, run, followed and listed', async (t) => {
  const { cwd, darkroom } = workplace(t);
  const job = ['job', 'run', 'red.png', '--op', 'resize', '--width', '8', '--format', 'webp'];
  t.match((await darkroom([...job, '--dry-run'])).rows, [{ object: 'estimate', totalItems: 1 }]);
  const ran = await darkroom([...job, '-o', 'results']);
  t.match(ran, { code: 0 });
  t.match(ran.rows, [{ output: 'results/red.webp' }, { status: 'COMPLETED', outcome: 'all' }]);
  t.match(await sharp(join(cwd, 'results/red.webp')).metadata(), { width: 8, format: 'webp' });
  const { id } = ran.rows.at(-1);
  t.match((await darkroom(['job', 'get', id])).rows, [{ id, status: 'COMPLETED' }]);
  t.match(await darkroom(['job', 'cancel', id]), { code: 3, stderr: /./ });
  t.ok((await darkroom(['job', 'list', '--status', 'COMPLETED'])).rows.some((row) => row.id === id));
  t.match(await darkroom(['job', 'results', id, '-o', 'all.zip']), { code: 0 });
  t.ok(statSync(join(cwd, 'all.zip')).size > 0);
  const rejected = ['job', 'run', '--op', 'generate', '--prompt', '[sandbox:reject] A lighthouse'];
  t.match(await darkroom(rejected), {
    code: 3,
    rows: [{ status: 'FAILED', errorCode: 'provider_rejected' }],
  });
});

t.test('the ops are listed with the parameters of each, without a key', async (t) => {
  const { cwd } = workplace(t);
  const anyone = runner(cwd, { DARKROOM_URL: server.url, DARKROOM_KEY: '' });
  const all = await anyone(['ops']);
  t.ok(all.rows.some(({ op }) => op === 'resize'));
  t.match((await anyone(['ops', 'resize'])).rows, [{ op: 'resize', params: { width: { max: Number } } }]);
  t.match(await anyone(['ops', 'rezise']), { code: 3 });
});

t.test('the key is kept in a file that nobody else reads, and never in an argument', async (t) => {
  const cwd = t.testdir();
  const darkroom = runner(cwd, { DARKROOM_URL: '', DARKROOM_KEY: '' });
  t.match(await darkroom(['config', 'set', 'key', account.key]), { code: 2, stderr: /Arguments are seen/ });
  t.match(await darkroom(['config', 'set', 'key'], `${account.key}\n`), { code: 0 });
  t.match(await darkroom(['config', 'set', 'url', server.url]), { code: 0 });
  const path = join(cwd, 'config.json');
  t.equal(statSync(path).mode & 0o777, 0o600);
  const shown = await darkroom(['config', 'show']);
  t.match(shown.rows, [{ url: server.url, key: `drk_…${account.key.slice(-4)}` }]);
  t.match(await darkroom(['job', 'list']), { code: 0 });
  chmodSync(path, 0o644);
  t.match(await darkroom(['job', 'list']), { code: 2, stderr: /chmod 600/ });
});
