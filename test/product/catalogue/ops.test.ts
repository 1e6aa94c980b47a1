// needs: nothing
import t from 'tap';
import { checkOpParameters } from '../../../src/product/catalogue/checks/check.ts';
import { findOp, OP_NAMES, OPS } from '../../../src/product/catalogue/index.ts';
import type { Op } from '../../../src/product/catalogue/op.ts';
import { FRAME_SELECTORS } from '../../../workers/image/frames.ts';

const ALL: readonly Op[] = Object.values(OPS);
const PASS_PARAMETERS = [
  'format',
  'quality',
  'lossless',
  'effort',
  'metadata',
  'frame',
  ...FRAME_SELECTORS,
  'density',
  'background',
];
const OWN_PARAMETERS: Record<string, string[]> = {
  resize: ['width', 'height', 'fit', 'gravity', 'focalX', 'focalY', 'kernel', 'enlarge', 'linear', 'dpr'],
  crop: ['x', 'y', 'width', 'height', 'aspect', 'gravity', 'focalX', 'focalY'],
  thumbnail: ['size', 'gravity'],
  rotate: ['angle'],
  flip: ['axis'],
  trim: ['threshold'],
  pad: ['top', 'right', 'bottom', 'left', 'all', 'mode'],
  border: ['width', 'color', 'radius'],
  round_corners: ['radius'],
  convert: ['progressive', 'palette', 'colors', 'chroma'],
  compress: ['maxBytes', 'minSsim', 'ssimulacra2'],
  blur: ['sigma'],
  sharpen: ['sigma', 'flat', 'jagged'],
  median: ['size'],
  pixelate: ['size'],
  grayscale: [],
  negate: [],
  sepia: [],
  normalize: ['lower', 'upper'],
  adjust: ['brightness', 'contrast', 'saturation', 'hue', 'lightness', 'gamma'],
  tint: ['color'],
  duotone: ['dark', 'light'],
  threshold: ['value'],
  redact: ['regions', 'style', 'color'],
  flatten: [],
  remove_alpha: [],
  alpha: ['opacity'],
  text: ['text', 'font', 'size', 'color', 'position', 'margin', 'opacity', 'rotate'],
  extract_frame: [],
  extract_channel: ['channel'],
  placeholder: ['kind'],
  overlay: ['layerAssetId', 'position', 'margin', 'x', 'y', 'scale', 'opacity', 'blend', 'tile'],
};
const OTHER_PARAMETERS: Record<string, string[]> = {
  compare: ['otherAssetId', 'ssimulacra2'],
  read_text: ['language'],
  read_codes: [],
  render_template: [],
  read_metadata: ['palette'],
  generate: ['size', 'seed'],
  edit: ['seed'],
  upscale: ['scale'],
  remove_background: [],
  expand: ['top', 'right', 'bottom', 'left'],
  analyze: ['schema'],
};

const OWN_ENDPOINTS = { read_text: '/images/read-text', read_codes: '/images/read-codes' };

t.test('every op has the parameters of its contract and no other', (t) => {
  t.strictSame(
    [...OP_NAMES].sort(),
    [...Object.keys(OWN_PARAMETERS), ...Object.keys(OTHER_PARAMETERS)].sort(),
  );
  for (const [name, own] of Object.entries(OWN_PARAMETERS)) {
    const declared = Object.keys(findOp(name)?.parameters.properties ?? {});
    const isOfOneFrame = name === 'extract_frame';
    const shared = PASS_PARAMETERS.filter(
      (one) => !isOfOneFrame || !FRAME_SELECTORS.some((other) => other === one),
    );
    t.strictSame(declared.sort(), [...shared, ...own].sort(), name);
  }
  for (const [name, own] of Object.entries(OTHER_PARAMETERS)) {
    t.strictSame(Object.keys(findOp(name)?.parameters.properties ?? {}).sort(), own.sort(), name);
  }
  t.end();
});

t.test('an op is found by its name alone', (t) => {
  t.equal(findOp('resize'), OPS.resize);
  for (const name of ['Resize', 'constructor', '__proto__', '', 'round-corners'])
    t.equal(findOp(name), undefined, name);
  for (const [name, op] of Object.entries<Op>(OPS)) t.equal(op.op, name);
  t.end();
});

t.test('every op and every parameter says what it is for', (t) => {
  for (const op of ALL) {
    t.match(op.description, /^[A-Z].{30,}\.$/, op.op);
    for (const [name, schema] of Object.entries({ ...op.parameters.properties, ...op.fields })) {
      t.match(schema.description, /^.{8,}\.$/s, `${op.op}.${name}`);
      t.ok(schema.type ?? schema.anyOf, `${op.op}.${name} has a type`);
    }
  }
  t.end();
});

t.test('every number, text and list is bounded', (t) => {
  for (const op of ALL) {
    for (const [name, schema] of Object.entries(op.parameters.properties)) {
      if (schema.enum !== undefined) continue;
      if (schema.type === 'integer' || schema.type === 'number') {
        t.type(schema.minimum, 'number', `${op.op}.${name}`);
        t.type(schema.maximum, 'number', `${op.op}.${name}`);
      }
      if (schema.type === 'string')
        t.ok(schema.maxLength ?? schema.pattern ?? schema.format, `${op.op}.${name}`);
      if (schema.type === 'array') t.type(schema.maxItems, 'number', `${op.op}.${name}`);
    }
  }
  t.end();
});

t.test('every example keeps its own contract and compiles', (t) => {
  for (const op of ALL) {
    if (op.kind === 'sync') continue;
    const params = checkOpParameters(op, op.example.parameters as Record<string, unknown> | undefined);
    if (op.runs === 'pass') t.type(op.compile(params).steps, Array, op.op);
    t.equal(Object.hasOwn(op.example, 'prompt') || !op.requiresPrompt, true, `${op.op} shows its prompt`);
  }
  t.end();
});

t.test('all but overlay and compare run while the caller waits; no AI op does', (t) => {
  for (const op of ALL.filter((op) => op.runs === 'pass')) {
    if (op.op in OWN_ENDPOINTS) continue;
    const waits = op.op !== 'overlay' && op.op !== 'compare';
    t.equal(op.syncEndpoint, waits ? '/images/transform' : undefined, op.op);
  }
  for (const [name, endpoint] of Object.entries(OWN_ENDPOINTS))
    t.match(findOp(name), { syncEndpoint: endpoint });
  t.equal(OPS.render_template.syncEndpoint, '/images/render');
  t.equal(OPS.read_metadata.endpoint, '/images/metadata');
  t.notOk(ALL.some((op) => op.kind === 'ai' && 'syncEndpoint' in op));
  t.end();
});
