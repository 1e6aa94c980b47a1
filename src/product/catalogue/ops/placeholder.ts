import { operationOp } from '../pixel-op.ts';

export const placeholder = operationOp('placeholder', {
  op: 'placeholder',
  description:
    "Makes a tiny image to show while the real one loads. The ThumbHash and the BlurHash of the real one stand in X-Service-Thumbhash and X-Service-Blurhash, and in the image of a job's result.",
  example: { kind: 'blur', format: 'webp' },
});
