import type { Pass } from '../../../workers/protocol.ts';
import type { RasterizeTask } from '../../../workers/vector/protocol.ts';
import { present } from '../../platform/names/present.ts';

/** CSS pixels of SVG at sharp's own default. */
const NATURAL_DENSITY = 72;

/**
 * How finely a drawing is drawn for a pass: at the density that the pass names, else so that a resize at its start
 * finds at least as many pixels as it asks for. A drawing has no size of its own to lose sharpness against.
 */
export function drawingSizeOf(pass: Pass | null): Pick<RasterizeTask, 'density' | 'atLeast'> {
  if (pass === null) return { density: NATURAL_DENSITY };
  if (pass.decode.density !== undefined) return { density: pass.decode.density };
  const first = pass.steps.find((step) => step.operation !== 'autoOrient');
  if (first?.operation !== 'resize') return { density: NATURAL_DENSITY };
  const { width, height } = first.params;
  return { density: NATURAL_DENSITY, atLeast: present({ width: pixels(width), height: pixels(height) }) };
}

function pixels(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
