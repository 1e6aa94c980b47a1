// needs: nothing
import t from 'tap';
import { findFirstViolation } from '../../../src/product/catalogue/checks/check.ts';
import { definePixelOp, operationStep } from '../../../src/product/catalogue/pixel-op.ts';
import { OPERATIONS } from '../../../workers/image/operations/index.ts';
import * as parameter from '../../../workers/image/operations/parameter.ts';

// What does not compile is said by @ts-expect-error, which fails the check of types where it compiles after all.

t.test(
  'a step has the arguments of its operation: others do not compile, and the registry refuses them',
  (t) => {
    const refused = [
      // @ts-expect-error: it is called sigma.
      operationStep('blur', { sigm: 3 }),
      // @ts-expect-error: it is a number.
      operationStep('blur', { sigma: 'much' }),
      // @ts-expect-error: a rectangle has a height.
      operationStep('extract', { width: 3 }),
      // @ts-expect-error: it is not a word of fit.
      operationStep('resize', { width: 3, fit: 'crop' }),
    ];
    for (const { operation, params } of refused)
      t.ok(findFirstViolation(OPERATIONS[operation].parameters, params, operation), JSON.stringify(params));
    // @ts-expect-error: webp writes the result and is not a step.
    operationStep('webp', {});
    t.strictSame(operationStep('extract', { width: 3, height: 4, left: undefined }).params, {
      width: 3,
      height: 4,
    });
    t.end();
  },
);

t.test(
  'an argument of another name than the parameter that it is made of says so, or does not compile',
  (t) => {
    const source = {
      op: 'soften',
      description: 'Softens the picture.',
      parameters: { strength: parameter.integer(1, 9, 'How much.') },
      example: { strength: 2 },
      compile: ({ strength }: { strength: number }) => ({
        steps: [operationStep('blur', { sigma: strength })],
      }),
    } as const;
    t.strictSame(definePixelOp({ ...source, renamed: { sigma: ['strength'] } }).renamed, {
      sigma: ['strength'],
    });
    // @ts-expect-error: sigma is made of strength, and renamed does not say so.
    definePixelOp(source);
    // @ts-expect-error: the op has no parameter of that name.
    definePixelOp({ ...source, renamed: { sigma: ['power'] } });
    t.end();
  },
);
