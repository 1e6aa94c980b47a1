// needs: browser
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { killProcessGroup } from '../../../workers/render/browser-process.ts';
import { findBrowser } from '../../../workers/render/executable.ts';
import { ATTACKS, framed } from './attacks.ts';
import { type Canary, isMagenta, openCanary, openNameServer } from './canary.ts';
import { openTestRenderer, swatchAsset, type TestRenderer } from './test-renderer.ts';

const run = promisify(execFile);
const executable = await findBrowser(process.env.BROWSER_PATH ?? '', join(tmpdir(), 'darkroom-test-browser'));
const directory = await mkdtemp(join(tmpdir(), 'darkroom-walls-'));
t.teardown(() => rm(directory, { recursive: true }));

const canary = await openCanary(t);
const AFTERWARDS =
  '<!doctype html><body style="margin:0;background:lime"><img src="asset://ast_red" width="100">';

t.test('the canaries sing: a browser without walls reaches them', async (t) => {
  const html = ['img src', 'link stylesheet', 'iframe src', 'css background'].map((name) =>
    ATTACKS[name]?.(canary),
  );
  const awaited = ['a.png', 'a.css', 'a.html', 'a.svg'].map((name) => `http GET /${name}`);
  await openBareBrowser(executable, html.join(''), canary.hits, awaited);
  for (const sign of awaited) t.ok(canary.hits.includes(sign), sign);
  canary.hits.length = 0;
});

t.test('no page reaches anything, and each leaves the next one whole', async (t) => {
  const renderer = openTestRenderer(t);
  for (const [name, attack] of Object.entries(ATTACKS)) await attempt(t, renderer, name, attack);
  await renderer.keeper.stop();
  t.same(canary.hits, [], 'nobody came, until the browser had ended');
});

t.test('no page asks a name server', async (t) => {
  const hits: string[] = [];
  const nameServer = await openNameServer(t, hits);
  const browserPath = nameServer && (await browserAsking(nameServer));
  if (browserPath === undefined) {
    t.equal(process.env.CI, undefined, 'the name server cannot be put in place');
    t.pass('a name server of ours', { skip: 'putting it in place takes root and unshare' });
    return;
  }
  await openBareBrowser(browserPath, '<img src="http://control.example/a.png">', hits, ['control']);
  t.ok(
    hits.some((hit) => hit.includes('control')),
    'a browser without walls asks it',
  );
  hits.length = 0;
  const renderer = openTestRenderer(t, { browserPath });
  const named: Canary = { ...canary, url: (name) => `http://${name || 'root'}.canary.example/${name}` };
  for (const [name, attack] of Object.entries(ATTACKS)) {
    for (const html of [attack(named), framed(attack(named))]) {
      const result = await renderer.render(html);
      t.notOk('reason' in result, name);
    }
  }
  await renderer.keeper.stop();
  t.same(hits, []);
});

async function attempt(
  t: Test,
  renderer: TestRenderer,
  name: string,
  attack: (canary: Canary) => string,
): Promise<void> {
  const assets = { ast_red: await swatchAsset('#ff0000') };
  for (const html of [attack(canary), framed(attack(canary))]) {
    const result = await renderer.render(html, { assets });
    if ('reason' in result) t.fail(`${name}: ${result.reason}, ${result.message}`);
    else t.notOk(isMagenta(result), name);
  }
  const next = await renderer.draw(AFTERWARDS, { assets });
  t.same(
    [next.pixel(150, 50), next.pixel(50, 50)],
    [
      [0, 255, 0, 255],
      [255, 0, 0, 255],
    ],
    `${name}: the next page is right`,
  );
  t.same(canary.hits.splice(0), [], `${name}: nobody came`);
}

/** Opens a page with none of the walls up, until everything that is awaited was heard, or 15 s. */
async function openBareBrowser(
  path: string,
  html: string,
  heard: string[],
  awaited: string[],
): Promise<void> {
  const page = join(directory, 'bare.html');
  await writeFile(page, html);
  const profile = await mkdtemp(join(directory, 'profile-'));
  const flags = ['--headless', '--disable-gpu', '--no-sandbox', '--remote-debugging-port=0'];
  const child = spawn(path, [...flags, `--user-data-dir=${profile}`, `file://${page}`], {
    detached: true,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const missing = () => awaited.filter((sign) => !heard.some((hit) => hit.includes(sign)));
  for (let turn = 0; turn < 300 && missing().length > 0; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  killProcessGroup(child.pid ?? Number.NaN);
  await ended;
}

/**
 * A launcher that gives the browser a name server of ours, in a mount namespace of its own; undefined if that is
 * refused.
 */
async function browserAsking(nameServer: string): Promise<string | undefined> {
  const resolver = join(directory, 'resolv.conf');
  const launcher = join(directory, 'browser');
  await writeFile(resolver, `nameserver ${nameServer}\noptions timeout:1 attempts:1\n`);
  const mount = `mount --bind ${resolver} /etc/resolv.conf`;
  await writeFile(
    launcher,
    `#!/bin/sh\nexec unshare --mount sh -c '${mount} && exec "$0" "$@"' ${executable} "$@"\n`,
  );
  await chmod(launcher, 0o755);
  return run('unshare', ['--mount', 'sh', '-c', mount]).then(
    () => launcher,
    () => undefined,
  );
}
