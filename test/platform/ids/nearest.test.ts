// needs: nothing
import t from 'tap';
import { nearestName } from '../../../src/platform/ids/nearest.ts';

t.test('a misspelt or foreign name leads to the one that it stands for', async (t) => {
  const known = ['width', 'height', 'quality', 'maxBytes', 'format', 'background', 'enlarge', 'north'];
  const table: Array<[wrong: string, right: string | undefined]> = [
    ['widht', 'width'],
    ['Width', 'width'],
    ['max_bytes', 'maxBytes'],
    ['q', 'quality'],
    ['heigth', 'height'],
    ['frmat', 'format'],
    ['bg', 'background'],
    ['noEnlarge', undefined],
    ['nroth', 'north'],
    ['nort', 'north'],
    ['zoom', undefined],
    ['', undefined],
    ['x'.repeat(1000), undefined],
  ];
  for (const [wrong, right] of table) t.equal(nearestName(wrong, known), right, wrong.slice(0, 20));
  t.equal(nearestName('q', ['width']), undefined, 'a foreign name of something that is not there');
});
