// needs: server
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { ERROR_CODES } from '../../src/platform/http/errors/errors.ts';
import { WARNING_CODES } from '../../src/platform/http/hooks/warnings.ts';
import { type Answer, sharedServer } from '../support/harness.ts';

const MAX_FIRST_PAGE_BYTES = 100_000;
const MAX_INDEX_BYTES = 100_000;
/** A token is about four bytes of English. */
const BYTES_A_TOKEN = 4;
const MAX_FULL_TOKENS = 60_000;

const server = await sharedServer();
const answers = new Map<string, Promise<Answer>>();

/** The answer to a path, which is asked for once. */
function get(path: string): Promise<Answer> {
  const known = answers.get(path) ?? server.call(`/${path}`);
  answers.set(path, known);
  return known;
}

const textAt = async (path: string) => (await get(path)).bytes.toString();
const linksIn = (html: string) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to = '']) => to);
const home = await textAt('/docs/');
/** Every page as the menu names it. */
const pages = [...new Set(linksIn(home))].filter((to) => /^\/docs\/(?!static\/)[\w/-]*$/.test(to));

t.test('the menu names every op, every endpoint, every error and the guides', async (t) => {
  const { data: ops } = (await server.call('/ops')).json;
  const { paths } = (await get('/openapi.json')).json;
  const operations = Object.values<Record<string, { operationId: string }>>(paths).flatMap(Object.values);
  const expected = [
    ...ops.map(({ op }: { op: string }) => `/docs/ops/${op}`),
    ...operations.map(({ operationId }) => `/docs/${operationId}`),
    ...Object.keys(ERROR_CODES).map((code) => `/docs/errors/${code}`),
    ...[
      'first-picture',
      'several-results',
      'templates',
      'presets',
      'jobs',
      'webhooks',
      'models',
      'agents',
      'cluster',
    ].map((name) => `/docs/guides/${name}`),
  ];
  for (const path of expected) t.ok(pages.includes(path), path);
});

t.test('every link of every page leads somewhere, and its anchor to a heading', async (t) => {
  let links = 0;
  for (const page of pages) {
    const broken: string[] = [];
    for (const link of new Set(linksIn(await textAt(page)))) {
      if (!link.startsWith('/') && !link.startsWith('#')) continue;
      links += 1;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : path;
      if ((await get(target)).status !== 200) broken.push(link);
      if (anchor !== undefined && !(await textAt(target)).includes(` id="${anchor}"`)) broken.push(link);
    }
    const markdown = await textAt(page === '/docs/' ? '/docs/index.md' : `${page}.md`);
    for (const [, link = ''] of markdown.matchAll(/\]\((\/[^)\s]+)\)/g))
      if ((await get(link)).status !== 200) broken.push(`${link} in Markdown`);
    t.same(broken, [], page);
  }
  t.ok(links > 10_000, `${links} links`);
});

t.test('no page has a script or a style in it, and no browser would run one', async (t) => {
  for (const page of pages) {
    const html = await textAt(page);
    t.notMatch(html, /<style|<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:/i, page);
    t.match(
      (await get(page)).headers.get('content-security-policy'),
      /script-src 'self';.*frame-ancestors 'none'/,
    );
  }
});

t.test('a page is HTML and Markdown of the same words', async (t) => {
  const html = await get('/docs/ops/resize');
  t.match(html.headers.get('content-type'), /^text\/html/);
  t.match(html.headers.get('vary'), /accept/);
  const asked = await server.call('//docs/ops/resize', { headers: { accept: 'text/markdown' } });
  const markdown = await get('/docs/ops/resize.md');
  t.match(asked.headers.get('content-type'), /^text\/markdown/);
  t.equal(asked.bytes.toString(), markdown.bytes.toString());
  for (const part of ['Width', 'attention', 'op=resize', 'Retry', 'invalid_param']) {
    t.equal(html.bytes.includes(part), markdown.bytes.includes(part), part);
  }
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const rows: [accept: string, type: string][] = [
    [browser, 'text/html'],
    ['*/*', 'text/html'],
    ['text/markdown, */*;q=0.1', 'text/markdown'],
    ['text/plain', 'text/markdown'],
    ['text/html;q=0.1, text/markdown', 'text/markdown'],
  ];
  for (const [accept, type] of rows) {
    const { headers } = await server.call('//docs/errors', { headers: { accept } });
    t.match(headers.get('content-type'), type, accept);
  }
});

t.test('what stands still is not sent twice, and HEAD answers as GET', async (t) => {
  const [picture = ''] = linksIn(await textAt('/docs/ops/blur')).filter((to) => to.endsWith('.jpg'));
  for (const path of [
    '/docs/',
    '/docs/ops/blur',
    '/docs/ops/blur.md',
    '/docs/search.json',
    '/llms-full.txt',
    picture,
  ]) {
    const { headers } = await get(path);
    const etag = headers.get('etag') ?? '';
    const again = await server.call(`/${path}`, { headers: { 'if-none-match': etag } });
    t.same([again.status, again.bytes.length], [304, 0], path);
    const head = await server.call(`/${path}`, { method: 'HEAD' });
    t.same([head.status, head.headers.get('etag'), head.bytes.length], [200, etag, 0], path);
  }
  const [script = ''] = linksIn(home).filter((to) => to.endsWith('.js'));
  const { status, headers } = await get(script);
  t.same([status, headers.get('cache-control')], [200, 'public, max-age=31536000, immutable']);
  t.equal((await server.call(`/${script.replace(/\.\w{12}\./, '.000000000000.')}`)).status, 404);
  const imported = [...(await textAt(script)).matchAll(/from '([^']+)'/g)].map(([, path = '']) => path);
  t.ok(imported.length > 0);
  for (const path of imported)
    t.match((await get(path)).headers.get('content-type'), /^text\/javascript/, path);
});

t.test('an unknown page is 404, whatever its name', async (t) => {
  for (const path of [
    '/docs/nothing',
    '/docs/ops/nothing',
    '/docs/errors/constructor',
    '/docs/.md',
    '/docs/static/x',
  ])
    t.equal((await get(path)).status, 404, path);
  const { status, headers } = await server.call('//docs');
  t.same([status, headers.get('location')], [302, '/docs/']);
});

t.test('the first page with all that it loads is small, and its pictures wait', async (t) => {
  const loaded = linksIn(home).filter(
    (to) => to.startsWith('/docs/static/') && !/\.(webp|png|jpg)$/.test(to),
  );
  const scripts = await Promise.all(loaded.filter((to) => to.endsWith('.js')).map(textAt));
  const imported = scripts.flatMap((text) => [...text.matchAll(/from '([^']+)'/g)].map(([, to = '']) => to));
  const bodies = await Promise.all(
    ['/docs/', ...new Set([...loaded, ...imported])].map(async (to) => (await get(to)).bytes),
  );
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  t.comment(`${bytes} bytes`);
  t.ok(bytes <= MAX_FIRST_PAGE_BYTES, `${bytes} bytes`);
  for (const page of ['/docs/', '/docs/ops', '/docs/ops/resize'])
    for (const [tag] of (await textAt(page)).matchAll(/<img [^>]+>/g)) t.match(tag, 'loading="lazy"', page);
});

t.test('the search knows every page, and is small', async (t) => {
  const { bytes, json } = await get('/docs/search.json');
  const addresses = json.map(([address]: [string]) => address);
  t.same(addresses.toSorted(), pages.toSorted());
  const size = gzipSync(bytes).length;
  t.comment(`${size} bytes`);
  t.ok(size <= MAX_INDEX_BYTES, `${size} bytes`);
  const found = json.filter(([, , , words]: string[]) => words?.split(' ').includes('maxbytes'));
  t.ok(found.some(([address]: string[]) => address === '/docs/ops/compress'));
  const usual: Record<string, string> = {
    ...{ 'round avatar': 'round_corners', watermark: 'overlay', barcode: 'read_codes', ocr: 'read_text' },
    ...{ collage: 'render_template', thumbs: 'resize', blurhash: 'placeholder' },
  };
  for (const [query, op] of Object.entries(usual)) {
    const page = json.find(([address]: string[]) => address === `/docs/ops/${op}`);
    const words = page.join(' ').toLowerCase().match(/\w+/g);
    for (const word of query.split(' ')) t.ok(words.includes(word), `${word}: ${op}`);
  }
});

t.test('/llms-full.txt has every guide and every op, and fits into one reading', async (t) => {
  const text = await textAt('/llms-full.txt');
  const tokens = Math.ceil(Buffer.byteLength(text) / BYTES_A_TOKEN);
  t.comment(`${tokens} tokens`);
  t.ok(tokens <= MAX_FULL_TOKENS, `${tokens} tokens`);
  for (const page of pages.filter((path) => /\/(ops|guides)\//.test(path))) {
    const [title = ''] = (await textAt(`${page}.md`)).split('\n');
    t.match(text, `${title}\n`, page);
  }
});

t.test('a skill has a name, a description and the guidelines', async (t) => {
  const text = await textAt('/docs/skill.md');
  const [, name, description = ''] = /^---\nname: (\S+)\ndescription: (.+)\n---\n/.exec(text) ?? [];
  t.equal(name, 'darkroom');
  t.ok(description.length <= 1_024);
  t.match(text, (await textAt('/docs/guidelines.md')).trim());
});

t.test('the page of errors lists each code of the closed set once, and no other', async (t) => {
  const rows = (await textAt('/docs/errors.md')).matchAll(/^\| \[(\w+)\]/gm);
  t.same(
    Array.from(rows, ([, code]) => code),
    Object.keys(ERROR_CODES),
  );
});

t.test('the page of warnings has a row for each code, and no other', async (t) => {
  const rows = (await textAt('/docs/warnings.md')).matchAll(/^\| `(\w+)/gm);
  t.same(
    Array.from(rows, ([, code]) => code),
    WARNING_CODES,
  );
});

t.test('the page of each error has its status, and an answer as the service gives it', async (t) => {
  for (const [code, { status, retryable }] of Object.entries(ERROR_CODES)) {
    const page = await textAt(`/docs/errors/${code}.md`);
    t.match(page, `HTTP status: ${status}\n`);
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    const { success, error, timestamp } = JSON.parse(example);
    t.match(
      { success, error, timestamp },
      { success: false, error: { code, retryable, message: /\.$|\?$/ } },
    );
  }
});
