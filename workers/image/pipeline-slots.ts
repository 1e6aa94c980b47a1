/**
 * The fixed order in which one sharp pipeline works, whatever the order of its calls. Each slot is used at most once
 * per pipeline. A picture with an EXIF orientation is turned upright between `scale` and `mirror`. sharp swaps the axes
 * of the operations before this turn, so that the picture can still be shrunk while it is decoded.
 */
const PIPELINE_SLOTS = [
  'trim',
  'extract',
  'flatten',
  'greyscale',
  'scale',
  'mirror',
  'turn',
  'joinChannel',
  'smartCrop',
  'rotate',
  'crop',
  'affine',
  'extend',
  'median',
  'threshold',
  'dilate',
  'erode',
  'blur',
  'unflatten',
  'convolve',
  'recomb',
  'modulate',
  'sharpen',
  'composite',
  'linear',
  'normalise',
  'clahe',
  'boolean',
  'bandbool',
  'tint',
  'removeAlpha',
  'ensureAlpha',
  'extractChannel',
  'negate',
] as const;

export type PipelineSlot = (typeof PIPELINE_SLOTS)[number];

/**
 * The slots at which a pipeline with transparency works on premultiplied colours, from `scale` to `sharpen`, and the
 * slots that would compute wrong colours in such a pipeline.
 */
const PREMULTIPLYING_SLOTS: readonly PipelineSlot[] = ['scale', 'blur', 'convolve', 'sharpen'];
const STRAIGHT_ALPHA_SLOTS: readonly PipelineSlot[] = [
  'median',
  'threshold',
  'dilate',
  'erode',
  'unflatten',
  'modulate',
];

/**
 * Slots that leave a grey picture grey. After sharp's greyscale, a pipeline returns only the first channel of its
 * pixels, even if colours were painted later. Calls at all other slots must therefore wait for the next pipeline.
 */
const GREYSCALE_SLOTS: readonly PipelineSlot[] = [
  'scale',
  'mirror',
  'turn',
  'smartCrop',
  'crop',
  'median',
  'blur',
  'convolve',
  'sharpen',
  'negate',
];

/** Slots whose results are fractions of any size, which sharp's negate makes black, until the pipeline has run. */
const FRACTIONAL_SLOTS: readonly PipelineSlot[] = ['convolve', 'recomb'];

/** Slots at which sharp works after the conversion to the colour space of the output. */
export const SLOTS_IN_OUTPUT_COLOUR_SPACE: readonly PipelineSlot[] = [
  'joinChannel',
  'boolean',
  'bandbool',
  'tint',
  'extractChannel',
];

/**
 * Whether a sharp call that works at `slot` must wait for the next pipeline.
 * @param used the slots that this pipeline uses already.
 * @param hasAlpha whether the picture is or may be transparent.
 */
export function needsNextPipeline(
  slot: PipelineSlot,
  used: ReadonlySet<PipelineSlot>,
  hasAlpha: boolean,
): boolean {
  const uses = (slots: readonly PipelineSlot[]) => slots.some((one) => used.has(one));
  if (uses(PIPELINE_SLOTS.slice(PIPELINE_SLOTS.indexOf(slot)))) return true;
  if (uses(FRACTIONAL_SLOTS)) return true;
  if (used.has('greyscale') && !GREYSCALE_SLOTS.includes(slot)) return true;
  const mixesAlpha =
    (STRAIGHT_ALPHA_SLOTS.includes(slot) && uses(PREMULTIPLYING_SLOTS)) ||
    (PREMULTIPLYING_SLOTS.includes(slot) && uses(STRAIGHT_ALPHA_SLOTS));
  return hasAlpha && mixesAlpha;
}
