// needs: nothing
import t from 'tap';
import { checkOpParameters } from '../../../src/product/catalogue/checks/check.ts';
import { normalizeStepSpelling, parseOpParameters } from '../../../src/product/catalogue/checks/spelling.ts';
import { findOp } from '../../../src/product/catalogue/index.ts';
import type { Op } from '../../../src/product/catalogue/op.ts';

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
    [
      'compress',
      { format: 'avif, WEBP,jpg', minSsim: 0.9 },
      { format: ['avif', 'webp', 'jpeg'], minSsim: 0.9 },
    ],
    ['compress', { format: 'JPG', minSsim: 0.9 }, { format: 'jpeg', minSsim: 0.9 }],
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
    t.strictSame(checkOpParameters(op(name), given), own, JSON.stringify(given));
    const text = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, String(value)]));
    t.strictSame(checkOpParameters(op(name), parseOpParameters(op(name), text)), own, 'from a query');
  }
});

t.test('steps are brought into the spelling that is stored; those of the registry stay', async (t) => {
  t.strictSame(normalizeStepSpelling({ op: 'convert', parameters: { format: 'JPG' } }), {
    op: 'convert',
    parameters: { format: 'jpeg' },
  });
  const kept = [
    { operation: 'flatten', params: { background: 'FFF' } },
    { op: 'convert', parameters: { format: 'bmp' } },
    { op: 'unknown', parameters: { format: 'JPG' } },
    { op: 'generate', parameters: { format: 'JPG' } },
  ];
  for (const step of kept) t.strictSame(normalizeStepSpelling(step), step);
});

t.test('what is no other spelling is refused, and the nearest word is named', async (t) => {
  const table: Array<[name: string, given: Record<string, unknown>, param: string, message: RegExp]> = [
    ['convert', { fmt: 'jpg' }, 'fmt', /^Did you mean format\?/],
    ['resize', { w: 5 }, 'w', /^Did you mean width\?/],
    ['resize', { widht: 5 }, 'widht', /^Did you mean width\?/],
    ['resize', { width: 5, zoom: 2 }, 'zoom', /takes [^?]*\.$/],
    ['resize', { width: 5, fit: 'covr' }, 'fit', /Did you mean cover\?/],
    ['thumbnail', { gravity: 'face' }, 'gravity', /Faces are not looked for/],
    ['convert', { format: 'auto' }, 'format', /compress/],
    ['flatten', { background: '' }, 'background', /write # as %23/],
    ['redact', { regions: '10,10,20,20' }, 'regions', /"x":10.*JSON text/],
    ['redact', { regions: [[1, 2, 3, 4]] }, 'regions', /regions\[0\] .*an object, such as \{"x":10/],
  ];
  for (const [name, given, param, message] of table)
    t.throws(() => checkOpParameters(op(name), given), { code: 'invalid_param', param, message });
});

t.test('a name or a value of other services leads to the one here, and to no other op', async (t) => {
  const region = { left: 1, top: 2, w: 3, h: 4 };
  const table: Array<[name: string, given: Record<string, unknown>, says: RegExp]> = [
    ['blur', { radius: '5' }, /^Did you mean sigma\?/],
    ['sharpen', { radius: '5' }, /^Did you mean sigma\?/],
    ['median', { radius: '5' }, /^Did you mean size\?/],
    ['crop', { left: '0' }, /^Did you mean x\?/],
    [
      'crop',
      { left: '0', top: '0', w: '5', h: '5' },
      /^Send x for left, y for top, width for w, height for h\. left is not/,
    ],
    ['compress', { ssim: '0.98' }, /^Did you mean minSsim\?/],
    ['compress', { target: '100kb' }, /^Did you mean maxBytes\?/],
    ['text', { text: 'a', fontSize: '40' }, /^Did you mean size\?/],
    ['text', { text: 'a', 'font-family': 'Inter' }, /^Did you mean font\?/],
    ['resize', { width: 5, fit: 'crop' }, /Did you mean cover\?/],
    ['resize', { width: 5, fit: 'scale-down' }, /Did you mean inside\?/],
    ['resize', { width: 5, fit: 'stretch' }, /Did you mean fill\?/],
    [
      'redact',
      { regions: [region] },
      /^Send x for left, y for top, width for w, height for h\. regions\[0\]\.left /,
    ],
    ['redact', { boxes: [region] }, /^Did you mean regions\?/],
    ['compress', { effort: 3, maxWidth: 5 }, /^maxWidth is not a parameter of compress/],
  ];
  for (const [name, given, says] of table)
    t.throws(() => checkOpParameters(op(name), given), { message: says }, JSON.stringify(given));
});

t.test('a share is never read as pixels, and a number with a unit leads to the plain one', async (t) => {
  const table: Array<[name: string, given: Record<string, unknown>, says: RegExp]> = [
    ['resize', { width: '50%' }, /A share is not taken: read the size .* and send pixels\.$/],
    ['crop', { x: 0, y: 0, width: 5, height: '12.5%' }, /A share is not taken/],
    ['pad', { all: '10 %' }, /A share is not taken/],
    ['convert', { format: 'jpeg', quality: '80%' }, /Send 80 without the unit\.$/],
    ['alpha', { opacity: '50%' }, /Send 0\.5\.$/],
    ['adjust', { brightness: '120%' }, /Did you mean 1\.2\?$/],
    ['adjust', { hue: '120%' }, /A share is not taken: send a number without a unit\.$/],
    ['compress', { maxBytes: '200KB' }, /Send 200000\.$/],
    ['compress', { maxBytes: '1.5 MiB' }, /Send 1572864\.$/],
    ['compress', { maxBytes: '200MB' }, /Did you mean 26214400\?$/],
    ['resize', { width: '300px' }, /Send 300 without the unit\.$/],
    ['resize', { width: 5, density: '300dpi' }, /Send 300 without the unit\.$/],
  ];
  for (const [name, given, says] of table)
    t.throws(() => checkOpParameters(op(name), given), { message: says }, JSON.stringify(given));
});
