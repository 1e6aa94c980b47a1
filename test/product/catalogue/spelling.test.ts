// needs: nothing
import t from 'tap';
import { checkParameters } from '../../../src/product/catalogue/checks/check.ts';
import { stepInOwnSpelling } from '../../../src/product/catalogue/checks/spelling.ts';
import { findOp } from '../../../src/product/catalogue/index.ts';
import type { Op } from '../../../src/product/catalogue/op.ts';
import { parametersFromQuery } from '../../../src/product/catalogue/query.ts';

function op(name: string): Op {
  const found = findOp(name);
  if (found === undefined) throw new Error(`no op ${name}`);
  return found;
}

t.test('formats, places, colours and flags are read by their usual names, and kept by one', async (t) => {
  const table: Array<[name: string, given: Record<string, unknown>, own: Record<string, unknown>]> = [
    ['convert', { format: 'jpg' }, { format: 'jpeg' }],
    ['convert', { format: 'JPG' }, { format: 'jpeg' }],
    ['convert', { format: 'image/webp' }, { format: 'webp' }],
    ['convert', { format: 'tif' }, { format: 'tiff' }],
    ['text', { text: 'a', position: 'bottom-right' }, { text: 'a', position: 'southeast' }],
    ['text', { text: 'Top', position: 'Top' }, { text: 'Top', position: 'north' }],
    ['thumbnail', { gravity: 'centre' }, { gravity: 'center' }],
    ['thumbnail', { gravity: 'Attention' }, { gravity: 'attention' }],
    ['flatten', { background: 'FFF' }, { background: '#fff' }],
    ['flatten', { background: 'ff880080' }, { background: '#ff880080' }],
    ['flatten', { background: 'White' }, { background: 'white' }],
    ['resize', { width: 5, enlarge: 'True' }, { width: 5, enlarge: true }],
    ['resize', { width: 5, enlarge: 'FALSE' }, { width: 5, enlarge: false }],
  ];
  for (const [name, given, own] of table) {
    t.strictSame(checkParameters(op(name), given), own, JSON.stringify(given));
    const text = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, String(value)]));
    t.strictSame(checkParameters(op(name), parametersFromQuery(op(name), text)), own, 'from a query');
  }
});

t.test('steps are brought into the spelling that is stored; those of the registry stay', async (t) => {
  t.strictSame(stepInOwnSpelling({ op: 'convert', parameters: { format: 'JPG' } }), {
    op: 'convert',
    parameters: { format: 'jpeg' },
  });
  const kept = [
    { operation: 'flatten', params: { background: 'FFF' } },
    { op: 'convert', parameters: { format: 'bmp' } },
    { op: 'unknown', parameters: { format: 'JPG' } },
    { op: 'generate', parameters: { format: 'JPG' } },
  ];
  for (const step of kept) t.strictSame(stepInOwnSpelling(step), step);
});

t.test('what is no other spelling is refused, and the nearest word is named', async (t) => {
  const table: Array<[name: string, given: Record<string, unknown>, param: string, message: RegExp]> = [
    ['convert', { fmt: 'jpg' }, 'fmt', /Did you mean format\?/],
    ['resize', { w: 5 }, 'w', /Did you mean width\?/],
    ['resize', { widht: 5 }, 'widht', /Did you mean width\?/],
    ['resize', { width: 5, zoom: 2 }, 'zoom', /takes [^?]*\.$/],
    ['resize', { width: 5, fit: 'covr' }, 'fit', /Did you mean cover\?/],
    ['thumbnail', { gravity: 'face' }, 'gravity', /Did you mean attention\?/],
    ['convert', { format: 'auto' }, 'format', /compress/],
    ['flatten', { background: '' }, 'background', /write # as %23/],
    ['redact', { regions: '10,10,20,20' }, 'regions', /"x":10.*JSON text/],
    ['redact', { regions: [[1, 2, 3, 4]] }, 'regions', /regions\[0\] .*an object, such as \{"x":10/],
  ];
  for (const [name, given, param, message] of table)
    t.throws(() => checkParameters(op(name), given), { code: 'invalid_param', param, message });
});
