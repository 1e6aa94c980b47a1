import type { ImagePass } from '../../../workers/protocol.ts';

/** A pass that is held until the first number of its gate, which threads share, is no longer 0. */
export class GatedPass implements ImagePass {
  readonly decode: ImagePass['decode'];
  readonly steps: ImagePass['steps'];
  readonly encode: ImagePass['encode'];
  readonly gate: DataView;

  constructor({ decode, steps, encode }: ImagePass, gate: Int32Array) {
    this.decode = decode;
    this.steps = steps;
    this.encode = encode;
    this.gate = new DataView(gate.buffer);
  }

  /** The same text as without a gate, because the pools know work by it. */
  toJSON(): ImagePass {
    const { gate: _, ...pass } = this;
    return pass;
  }
}
