/**
 * The order in which one sharp pipeline works, whatever the order of its calls: each is a slot that is used at most once.
 * Where a picture has an orientation, sharp turns it upright between `scale` and `mirror`, and swaps the axes of what is
 * asked for before it: shrinking while decoding stays possible.
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

export type Slot = (typeof SLOTS)[number];

/**
 * With transparency, a pipeline that holds one of the first works from `scale` to `sharpen` on premultiplied colours, and
 * the second would answer other colours than they do on their own.
 */
const PREMULTIPLYING: readonly Slot[] = ['scale', 'blur', 'convolve', 'sharpen'];
const STRAIGHT: readonly Slot[] = ['median', 'threshold', 'dilate', 'erode', 'unflatten', 'modulate'];

/**
 * What leaves a grey picture grey. After sharp's greyscale a pipeline answers its first channel alone when it is asked for
 * pixels, whatever was painted since: everything else has to wait for the next one.
 */
const COLOURLESS: readonly Slot[] = [
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
 * Whether a call that works at `slot` has to wait for the next pipeline, after what this one has been told already.
 * @param hasAlpha whether the picture is or may be transparent.
 */
export function comesTooLate(slot: Slot, used: ReadonlySet<Slot>, hasAlpha: boolean): boolean {
  const uses = (slots: readonly Slot[]) => slots.some((one) => used.has(one));
  if (uses(SLOTS.slice(SLOTS.indexOf(slot)))) return true;
  if (used.has('greyscale') && !COLOURLESS.includes(slot)) return true;
  const mixesAlpha =
    (STRAIGHT.includes(slot) && uses(PREMULTIPLYING)) || (PREMULTIPLYING.includes(slot) && uses(STRAIGHT));
  return hasAlpha && mixesAlpha;
}
