import { definePixelOp, operationStep } from '../pixel-op.ts';

/** The weights that browsers use for CSS sepia(1). */
const SEPIA = [
  [0.393, 0.769, 0.189],
  [0.349, 0.686, 0.168],
  [0.272, 0.534, 0.131],
];

export const sepiaOp = definePixelOp({
  op: 'sepia',
  description: 'Gives the picture the brown tone of an old photograph.',
  parameters: {},
  example: { format: 'jpeg' },
  renamed: { matrix: [] },
  compile: () => ({ steps: [operationStep('recomb', { matrix: SEPIA })] }),
});
