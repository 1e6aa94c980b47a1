// needs: nothing
import t from 'tap';
import {
  firstFreeSlug,
  isReservedSlug,
  isSlug,
  MAX_SLUG_CHARACTERS,
  parseVersionedReference,
  slugFromName,
} from '../../../src/platform/ids/slugs.ts';

t.test('a name becomes a slug of lowercase letters, digits and hyphens', async (t) => {
  const slugs: Array<[name: string, slug: string]> = [
    ['Social Card', 'social-card'],
    ['  Größe: Élan & Æther!  ', 'grosse-elan-aether'],
    ['İstanbul ŁÓDŹ ÞÓR', 'istanbul-lodz-thor'],
    ['ﬁne ﬀ Ⅷ', 'fine-ff-viii'],
    ['v2.0_final', 'v2-0-final'],
    ['日本語', 'template'],
    ['🎉', 'template'],
    ['---', 'template'],
    ['', 'template'],
  ];
  for (const [name, slug] of slugs) t.equal(slugFromName(name, 'template'), slug, JSON.stringify(name));
});

t.test('no name makes a reserved slug, with a number behind it or without', async (t) => {
  for (const name of [
    'builtin',
    'Built­in',
    'Builtin-',
    'builtin card',
    'BUILTIN builtin x',
    'builtin-builtin-',
  ]) {
    const slug = slugFromName(name, 'template');
    t.notOk(isReservedSlug(slug), slug);
    t.notOk(isReservedSlug(firstFreeSlug(slug, new Set([slug]))));
  }
  t.equal(slugFromName('builtins of 2024', 'template'), 'builtins-of-2024');
});

t.test('every made slug is well formed, however long the name and however many took it', async (t) => {
  for (let length = 1; length < 250; length++) {
    const slug = slugFromName('a b'.repeat(length), 'template');
    const taken = new Set([slug, ...Array.from({ length: 1000 }, (_, index) => `${slug}-${index + 2}`)]);
    t.ok(isSlug(firstFreeSlug(slug, taken)), slug);
  }
});

t.test('a taken slug gets the lowest free number', async (t) => {
  t.equal(firstFreeSlug('card', new Set()), 'card');
  t.equal(firstFreeSlug('card', new Set(['card'])), 'card-2');
  t.equal(firstFreeSlug('card', new Set(['card', 'card-2', 'card-4'])), 'card-3');
  const longest = 'x'.repeat(MAX_SLUG_CHARACTERS);
  t.equal(firstFreeSlug(longest, new Set([longest])), `${'x'.repeat(MAX_SLUG_CHARACTERS - 5)}-2`);
});

t.test('a slug is told from anything else', async (t) => {
  for (const slug of ['a', '7', 'a-b', 'a--b', '-', '-a', 'a-', 'x'.repeat(MAX_SLUG_CHARACTERS)])
    t.ok(isSlug(slug), slug);
  const others = ['', 'A', 'a b', 'a_b', 'a@2', 'é', 'a\n', 'x'.repeat(MAX_SLUG_CHARACTERS + 1)];
  for (const text of others) t.notOk(isSlug(text), JSON.stringify(text));
});

t.test('a reference names an id or a slug, and a version when one follows the @', async (t) => {
  t.same(parseVersionedReference('card'), { idOrSlug: 'card' });
  t.same(parseVersionedReference('tpl_Ab1'), { idOrSlug: 'tpl_Ab1' });
  t.same(parseVersionedReference('card@12'), { idOrSlug: 'card', version: 12 });
  t.same(parseVersionedReference(`card@${'9'.repeat(400)}`), {
    idOrSlug: 'card',
    version: Number.MAX_SAFE_INTEGER,
  });
  for (const version of ['', '0', '00', '-1', '+1', '1.5', '1e3', 'x', ' 1', '1@2', '١']) {
    t.equal(parseVersionedReference(`card@${version}`), null, JSON.stringify(version));
  }
});
