import type { Pass } from '../../../workers/protocol.ts';

/** A pass that is held until the first number of its gate, which threads share, is no longer 0. */
export class GatedPass implements Pass {
  readonly decode: Pass['decode'];
  readonly steps: Pass['steps'];
  readonly encode: Pass['encode'];
  readonly gate: DataView;

  constructor({ decode, steps, encode }: Pass, gate: Int32Array) {
    this.decode = decode;
    this.steps = steps;
    this.encode = encode;
    this.gate = new DataView(gate.buffer);
  }

  /** The same text as without a gate, because the pools know work by it. */
  toJSON(): Pass {
    const { gate: _, ...pass } = this;
    return pass;
  }
}
