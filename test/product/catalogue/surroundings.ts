import type { GivenParameters, Op } from '../../../src/product/catalogue/op.ts';

/** Other parameters that one needs to be valid, where the example of its op does not give them. */
const OTHER_PARAMETERS: Record<string, GivenParameters> = {
  'resize.dpr': { width: 100 },
  'resize.focalX': { width: 100 },
  'resize.focalY': { width: 100 },
  'crop.aspect': {},
  'crop.focalX': { aspect: '1:1' },
  'crop.focalY': { aspect: '1:1' },
  'crop.gravity': { aspect: '1:1' },
  'crop.x': { width: 10, height: 10 },
  'crop.y': { width: 10, height: 10 },
  'crop.width': { height: 10 },
  'crop.height': { width: 10 },
  'pad.top': {},
  'pad.right': {},
  'pad.bottom': {},
  'pad.left': {},
  'compress.minSsim': { format: 'webp' },
  'compress.ssimulacra2': { format: 'webp' },
  'normalize.lower': { upper: 100 },
  'normalize.upper': { lower: 0 },
  'overlay.x': { layerAssetId: 'ast_1', y: 0 },
  'overlay.y': { layerAssetId: 'ast_1', x: 0 },
};

/** Parameters of an op that are valid together with any valid value of `name`. */
export function surroundingsOf(op: Op, name: string): GivenParameters {
  const example = 'example' in op ? (op.example.parameters as GivenParameters | undefined) : undefined;
  const others = OTHER_PARAMETERS[`${op.op}.${name}`] ?? example ?? {};
  // WebP is the only format that can be animated and lossless.
  return name === 'frame' || name === 'lossless' ? { ...others, format: 'webp' } : others;
}
