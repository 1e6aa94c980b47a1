// needs: nothing
import t from 'tap';
import { checkOpParameters } from '../../../src/product/catalogue/checks/check.ts';
import { parseOpParameters } from '../../../src/product/catalogue/checks/spelling.ts';
import { findOp } from '../../../src/product/catalogue/index.ts';

function read(name: string, query: Record<string, string | string[]>) {
  const op = findOp(name);
  if (op === undefined) throw new Error(`no op ${name}`);
  const given = parseOpParameters(op, query);
  return { given, check: () => checkOpParameters(op, given) };
}

t.test('text becomes the declared type', (t) => {
  const table: [string, Record<string, string>, Record<string, unknown>][] = [
    [
      'resize',
      { width: '300', dpr: '1.5', enlarge: 'true', fit: 'cover' },
      { width: 300, dpr: 1.5, enlarge: true, fit: 'cover' },
    ],
    ['rotate', { angle: '-45.5', frame: '2' }, { angle: -45.5, frame: 2 }],
    ['rotate', { angle: '90', frame: 'all' }, { angle: 90, frame: 'all' }],
    ['round_corners', { radius: '12' }, { radius: 12 }],
    ['round_corners', { radius: '50%' }, { radius: '50%' }],
    ['text', { text: '2024' }, { text: '2024' }],
    ['trim', { threshold: '1e-7' }, { threshold: 1e-7 }],
    [
      'redact',
      { regions: '[{"x":1,"y":2,"width":3,"height":4}]' },
      { regions: [{ x: 1, y: 2, width: 3, height: 4 }] },
    ],
    ['convert', { format: 'png', lossless: 'false' }, { format: 'png', lossless: false }],
  ];
  for (const [name, query, given] of table) {
    const result = read(name, query);
    t.strictSame(result.given, given);
    t.doesNotThrow(result.check);
  }
  t.end();
});

t.test('text that is not exactly of the type is refused in the words of the contract', (t) => {
  const texts = [
    '',
    ' 5',
    '5 ',
    '+5',
    '1e3',
    '0x10',
    '5px',
    'NaN',
    'Infinity',
    '5,0',
    '5.0',
    '9'.repeat(400),
  ];
  for (const width of texts) {
    t.throws(
      read('resize', { width }).check,
      { code: 'invalid_param', param: 'width' },
      JSON.stringify(width),
    );
  }
  for (const enlarge of ['1', 'yes', '']) {
    t.throws(read('resize', { width: '5', enlarge }).check, {
      code: 'invalid_param',
      param: 'enlarge',
      message: /true or false/,
    });
  }
  for (const regions of ['', '[', '{}', '5', '[1]']) {
    t.throws(read('redact', { regions }).check, { code: 'invalid_param', param: 'regions' });
  }
  t.throws(read('blur', { sigma: '.5' }).check, { code: 'invalid_param', param: 'sigma' });
  t.throws(read('resize', { width: '5', zoom: '2' }).check, {
    code: 'invalid_param',
    param: 'zoom',
    message: /takes .*width/,
  });
  t.throws(read('resize', { width: '5', constructor: '2' }).check, {
    code: 'invalid_param',
    param: 'constructor',
  });
  t.end();
});

t.test('a key given twice is refused', (t) => {
  const message = /width is given 2 times: send it once/;
  t.throws(() => read('resize', { width: ['5', '6'] }), { code: 'invalid_param', param: 'width', message });
  t.end();
});
