/**
 * The order in which one sharp pipeline works, whatever the order of its calls. Each entry is a slot that is used at
 * most once. A picture with an orientation is turned upright by sharp between `scale` and `mirror`. sharp swaps the
 * axes of the operations before it, so the picture can still be shrunk while it is decoded.
 */
const SLOTS = [
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

export type PipelineSlot = (typeof SLOTS)[number];

/**
 * With transparency, a pipeline that uses a slot of the first list works from `scale` to `sharpen` on premultiplied
 * colours. The slots of the second list would then give other colours than in their own pipeline.
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
 * Slots that leave a grey picture grey. After sharp's greyscale, a pipeline that is asked for pixels returns only its
 * first channel, whatever was painted since. All other slots have to wait for the next pipeline.
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

/**
 * Whether a call that works at `slot` has to wait for the next pipeline, given the slots that this one uses already.
 * @param hasAlpha whether the picture is or may be transparent.
 */
export function needsNextPipeline(
  slot: PipelineSlot,
  used: ReadonlySet<PipelineSlot>,
  hasAlpha: boolean,
): boolean {
  const uses = (slots: readonly PipelineSlot[]) => slots.some((one) => used.has(one));
  if (uses(SLOTS.slice(SLOTS.indexOf(slot)))) return true;
  if (used.has('greyscale') && !GREYSCALE_SLOTS.includes(slot)) return true;
  const mixesAlpha =
    (STRAIGHT_ALPHA_SLOTS.includes(slot) && uses(PREMULTIPLYING_SLOTS)) ||
    (PREMULTIPLYING_SLOTS.includes(slot) && uses(STRAIGHT_ALPHA_SLOTS));
  return hasAlpha && mixesAlpha;
}
