// needs: nothing
import t from 'tap';
import { orderByColumns } from '../../../src/imaging/readers/columns.ts';
import type { WordedLine } from '../../../src/imaging/readers/lines.ts';

const WORDS_PER_LINE = 8;
const LINE_HEIGHT = 20;
const WORD_WIDTH = 20;
const SPACE = 4;
const GUTTER = 34;

/** A page of columns side by side. `onRead` is called for each position of a word that is read. */
function pageOf(columnCount: number, lineCount: number, onRead: () => void): WordedLine[] {
  return Array.from({ length: lineCount }, (_, row) => {
    const words = Array.from({ length: columnCount * WORDS_PER_LINE }, (_, index) => {
      const column = Math.floor(index / WORDS_PER_LINE);
      const x = index * (WORD_WIDTH + SPACE) + column * (GUTTER - SPACE);
      const word = {
        text: `${column}`,
        confidence: 1,
        x,
        y: row * LINE_HEIGHT,
        width: WORD_WIDTH,
        height: 15,
      };
      return Object.defineProperty(word, 'x', {
        enumerable: true,
        get: () => {
          onRead();
          return x;
        },
      });
    });
    return { text: '', confidence: 1, x: 0, y: row * LINE_HEIGHT, width: 1, height: 15, words };
  });
}

t.test('columns are read one after the other, from left to right', async (t) => {
  const lines = orderByColumns(pageOf(5, 6, () => {}));
  const columns = lines.map(({ text }) => new Set(text.split(' ')));
  t.same(
    columns,
    Array.from({ length: 30 }, (_, index) => new Set([`${Math.floor(index / 6)}`])),
  );
});

t.test('the reads of each word grow at most with the square of the number of columns', async (t) => {
  const readsPerWord = (columnCount: number) => {
    let reads = 0;
    orderByColumns(pageOf(columnCount, 10, () => (reads += 1)));
    return reads / (columnCount * WORDS_PER_LINE * 10);
  };
  const few = readsPerWord(2);
  const many = readsPerWord(12);
  t.ok(many < 36 * few, `${few} and ${many} reads of each word`);
});
