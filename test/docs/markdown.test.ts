// needs: nothing
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { lineOf, SCENES } from '../../docs/gallery/scenes.ts';

const root = join(import.meta.dirname, '../..');
const MAX_README_WORDS = 900;
const MAX_BENCH_WORDS = 600;
const STUMBLES = /\banew\b|\bso many\b|\bwhat came is\b/;

/** Every Markdown file of the repository, as a path from the root. */
const pages = globSync('**/*.md', {
  cwd: root,
  exclude: (path) => /^(node_modules|data|bench\/results|\..*)$/.test(path),
}).sort();

const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

const wordsIn = (text: string) => text.split(/\s+/).filter(Boolean).length;

/** A page without its code, where neither links nor headings are meant. */
const proseOf = (path: string) => textOf(path).replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');

/** The anchors of a page's headings, as Git hosts write them: lower case, hyphens for spaces, a number for a repeat. */
function anchorsOf(path: string): string[] {
  const counts = new Map<string, number>();
  const headings = textOf(path)
    .replaceAll(/```[\s\S]*?```/g, '')
    .matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = '']) => {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const repeats = counts.get(anchor) ?? 0;
    counts.set(anchor, repeats + 1);
    return repeats === 0 ? anchor : `${anchor}-${repeats}`;
  });
}

t.test('every link leads to a file, and its anchor to a heading', async (t) => {
  let links = 0;
  for (const page of pages)
    for (const [, target = ''] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:|\/)/.test(target)) continue;
      links += 1;
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? page : join(dirname(page), file);
      t.ok(existsSync(join(root, path)), `${page}: ${target}`);
      if (anchor !== undefined) t.ok(anchorsOf(path).includes(anchor), `${page}: ${target}`);
    }
  t.ok(links > 10, `${links} links`);
});

t.test('every picture of a page is there', async (t) => {
  let pictures = 0;
  for (const page of pages)
    for (const [, file = ''] of proseOf(page).matchAll(/<img src="([^"]+)"/g)) {
      pictures += 1;
      t.ok(existsSync(join(root, dirname(page), file)), `${page}: ${file}`);
    }
  t.ok(pictures > 10, `${pictures} pictures`);
});

t.test('the README is short, code included', async (t) => {
  const words = wordsIn(textOf('README.md').replaceAll(/<[^>]*>/g, ''));
  t.ok(words <= MAX_README_WORDS, `${words} words`);
});

t.test('below each picture of the README stands the call that made it', async (t) => {
  const cells = [
    ...textOf('README.md').matchAll(/src="docs\/gallery\/pictures\/([^"]+)".*?<code>(.*?)<\/code>/g),
  ];
  t.ok(cells.length >= 5, `${cells.length} pictures`);
  for (const [, picture, code = ''] of cells) {
    const call = SCENES.find((scene) => scene.picture === picture)?.call;
    const told = call === undefined ? '' : `${lineOf(call)} ${JSON.stringify(call.json)}`;
    // What the README leaves out of a long call is an ellipsis.
    const parts = code.replaceAll('&amp;', '&').split('…');
    t.ok(
      parts.every((part) => told.includes(part)),
      `${picture}: ${told}`,
    );
  }
});

t.test('every line that compares names the test of what Darkroom does', async (t) => {
  const [, table = ''] = /\n\| \| Darkroom \|.*\n.*\n((?:\|.*\n)+)/.exec(textOf('README.md')) ?? [];
  const lines = table.split('\n').filter(Boolean);
  t.ok(lines.length >= 8, `${lines.length} lines`);
  for (const line of lines) {
    const own = line.split('|')[2]?.trim() ?? '';
    t.ok(own === 'no' || /\]\(test\/[\w/.-]+\.test\.ts\)/.test(own), line);
  }
});

t.test('the page of the bench is a short guide: findings have a page of their own', async (t) => {
  const words = wordsIn(textOf('bench/README.md'));
  t.ok(words <= MAX_BENCH_WORDS, `${words} words`);
});

t.test('every path and command that a page names exists', async (t) => {
  const { scripts } = JSON.parse(textOf('package.json'));
  const named = pages.flatMap((page) =>
    [...textOf(page).matchAll(/(?<![\w./-])(?:src|workers|test|bench|deploy|docs|config)\/[\w./*-]*[\w*/]/g)]
      .map(([path]) => ({ page, path }))
      .filter(({ path }) => !path.startsWith('bench/results') && !path.startsWith('docs/ops')),
  );
  t.ok(named.length > 40, `${named.length} paths`);
  for (const { page, path } of named) t.ok(globSync(path, { cwd: root }).length > 0, `${page}: ${path}`);
  for (const page of pages)
    for (const [, script = ''] of textOf(page).matchAll(/npm run ([\w:]+)/g))
      t.ok(script in scripts, `${page}: npm run ${script}`);
});

t.test('no page and no description has words that readers stumble over', async (t) => {
  const sources = globSync('{src,workers,config}/**/*.ts', { cwd: root });
  for (const page of pages) t.notMatch(textOf(page), STUMBLES, page);
  for (const source of sources)
    for (const [text] of textOf(source).matchAll(
      /\b(?:description|summary|message|help|about):\s*['"`][^\n]*/g,
    ))
      t.notMatch(text, STUMBLES, `${source}: ${text}`);
});
