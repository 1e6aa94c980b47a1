// needs: server
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { pngOf } from './calls.ts';

const server = await sharedServer();
const { key } = await server.account();

/** A text on a page: where it stands, and its width, to which its lines are broken. */
interface Part {
  text: string;
  left: number;
  top: number;
  width: number;
  font?: string;
}

/** The lines that are read from a page on which the parts are drawn. */
async function linesOf(t: Test, width: number, parts: readonly Part[]): Promise<string[]> {
  const drawn = await Promise.all(
    parts.map(async ({ text, font = 'serif 20', left, top, width: broken }) => ({
      input: Buffer.from(await pngOf(sharp({ text: { text, font, width: broken, dpi: 72, rgba: true } }))),
      ...{ left, top },
    })),
  );
  const page = sharp({ create: { width, height: 420, channels: 3, background: '#ffffff' } });
  const { status, json } = await server.call('/images/read-text', {
    ...{ key, type: 'image/png' },
    body: await pngOf(page.composite(drawn)),
  });
  t.equal(status, 200);
  t.same(Object.keys(json.data.lines[0]).sort(), ['confidence', 'height', 'text', 'width', 'x', 'y']);
  return json.data.lines.map(({ text }: { text: string }) => text);
}

const STORY =
  'The harbour was quiet before dawn and the boats lay still along the stone wall. A keeper walked the pier with a lamp and counted the ropes. Nobody spoke while the tide came slowly in. When the first gulls cried above the roofs the market opened its doors and the smell of bread filled the narrow street. Children ran down to the water with baskets in their hands. The old captain sat on his bench and told the same story about a storm that had carried away the mast. He always began with the colour of the sky.';
/** Words that the story has once, in its order. */
const ONCE = 'harbour boats keeper ropes gulls market bread Children baskets captain storm mast colour'.split(
  ' ',
);

/** The story in columns side by side. */
function columnsOf(count: number, { width, gutter, top }: { width: number; gutter: number; top: number }) {
  const words = STORY.split(' ');
  const perColumn = Math.ceil(words.length / count);
  return Array.from({ length: count }, (_, column): Part => {
    const text = words.slice(column * perColumn, (column + 1) * perColumn).join(' ');
    return { text, left: 40 + column * (width + gutter), top, width };
  });
}

const storyWordsOf = (lines: readonly string[]) =>
  lines
    .join(' ')
    .split(/\W+/)
    .filter((word) => ONCE.includes(word));

t.test('columns are read one after the other', async (t) => {
  t.same(storyWordsOf(await linesOf(t, 900, columnsOf(2, { width: 380, gutter: 50, top: 40 }))), ONCE);
  t.same(storyWordsOf(await linesOf(t, 1_200, columnsOf(3, { width: 340, gutter: 50, top: 40 }))), ONCE);
});

t.test('columns need not begin at the same height', async (t) => {
  const [left, right] = columnsOf(2, { width: 380, gutter: 50, top: 40 }) as [Part, Part];
  t.same(storyWordsOf(await linesOf(t, 900, [left, { ...right, top: 48 }])), ONCE);
});

t.test('a wide heading comes before the columns below it', async (t) => {
  const heading = {
    text: 'An evening at the northern coast',
    font: 'serif 40',
    left: 120,
    top: 20,
    width: 760,
  };
  const lines = await linesOf(t, 900, [heading, ...columnsOf(2, { width: 380, gutter: 50, top: 100 })]);
  t.equal(lines[0], heading.text);
  t.same(storyWordsOf(lines), ONCE);
});

/** Cells in rows, drawn at the left edges of the columns. */
function cellsOf(lefts: readonly number[], rows: readonly string[]): Part[] {
  return rows.flatMap((row, index) =>
    row.split('|').map((text, column) => {
      return { text, left: lefts[column] as number, top: 40 + 34 * index, width: 400 };
    }),
  );
}

const ROWS: Record<string, { lefts: number[]; rows: string[] }> = {
  'a receipt': {
    lefts: [40, 520],
    rows: [
      'Two loaves of brown bread|4.80',
      'Butter from the farm|3.10',
      'Strong coffee in a paper cup|2.90',
      'Apples from the garden|5.25',
      'Honey with walnuts inside|6.15',
      'Total|22.20',
    ],
  },
  'a table': {
    lefts: [40, 360, 560, 760],
    rows: [
      'Heavy winter jacket|dark blue|large|made in Norway',
      'Linen summer shirt|pure white|small|made in Portugal',
      'Leather walking boots|dark brown|medium|made in Italy',
      'Cotton evening dress|bright red|small|made in France',
      'Silk scarf with dots|light green|one size|made in China',
    ],
  },
  'a form': {
    lefts: [40, 440],
    rows: [
      'First name of the applicant:|Johanna Maria',
      'Family name:|Lindqvist',
      'Date and place of birth:|12 March 1984 in Uppsala',
      'Telephone during the day:|46 18 471 00 00',
      'Reason for the application:|Extension of the permit',
    ],
  },
};

for (const [name, { lefts, rows }] of Object.entries(ROWS)) {
  t.test(`${name} is read row by row`, async (t) => {
    const lines = await linesOf(t, 1_000, cellsOf(lefts, rows));
    t.same(
      lines,
      rows.map((row) => row.replaceAll('|', ' ')),
    );
  });
}
