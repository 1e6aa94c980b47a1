import type { PresetStep } from '../catalogue/plan/step.ts';
import type { Preset } from './preset.ts';

/**
 * When the built-in presets were last changed. Each has a single version, which changes only with a release of the
 * service.
 */
const BUILT_IN_PRESETS_SAVED_AT = '2025-01-01T00:00:00.000Z';

/** The presets that every account has, in the order of the listing. All of them can run in a synchronous call. */
export const BUILT_IN_PRESETS: readonly Preset[] = [
  createBuiltInPreset(
    'web-optimized',
    'Web optimized',
    'A picture for a page: at most 1920 px on its longer side, as WebP, without metadata.',
    [
      { op: 'resize', parameters: { width: 1920, height: 1920 } },
      { op: 'convert', parameters: { format: 'webp', quality: 80, metadata: 'strip' } },
    ],
  ),
  createBuiltInPreset(
    'avatar',
    'Avatar',
    'A round profile picture of 256 px around what draws the eye, as WebP with transparent corners.',
    [
      { op: 'thumbnail', parameters: { size: 256 } },
      { op: 'round_corners', parameters: { radius: '50%' } },
      { op: 'convert', parameters: { format: 'webp', quality: 85 } },
    ],
  ),
  createBuiltInPreset(
    'product-shot',
    'Product shot',
    'A product for a shop: its border trimmed, centred with an even margin on a white square of 1200 px, as JPEG.',
    [
      { op: 'flatten', parameters: { background: '#ffffff' } },
      { op: 'trim', parameters: { threshold: 12 } },
      {
        op: 'resize',
        parameters: { width: 1080, height: 1080, fit: 'contain', enlarge: true, background: '#ffffff' },
      },
      { op: 'pad', parameters: { all: 60, background: '#ffffff' } },
      { op: 'sharpen', parameters: { sigma: 0.6 } },
      { op: 'convert', parameters: { format: 'jpeg', quality: 88, progressive: true } },
    ],
  ),
  createBuiltInPreset(
    'thumbnail-set',
    'Thumbnail set',
    'Even thumbnails for a gallery: each picture of a set becomes the same square of 320 px, as WebP.',
    [
      { op: 'thumbnail', parameters: { size: 320 } },
      { op: 'sharpen', parameters: { sigma: 0.5 } },
      { op: 'convert', parameters: { format: 'webp', quality: 75 } },
    ],
  ),
  createBuiltInPreset(
    'print-ready',
    'Print ready',
    'A picture for a printer: at most A4 at 300 dpi (3508 px), on white, as JPEG with full colour resolution and its rights fields.',
    [
      { op: 'resize', parameters: { width: 3508, height: 3508 } },
      { op: 'flatten', parameters: { background: '#ffffff' } },
      { op: 'sharpen', parameters: { sigma: 0.8 } },
      { op: 'convert', parameters: { format: 'jpeg', quality: 95, chroma: '4:4:4', metadata: 'copyright' } },
    ],
  ),
  createBuiltInPreset(
    'privacy-strip',
    'Privacy strip',
    'The picture upright and in its own format, without place, camera, times or any other metadata.',
    [
      { operation: 'autoOrient', params: {} },
      { operation: 'keepMetadata', params: { metadata: 'strip' } },
    ],
  ),
];

/** The built-in preset with this id, which is also its slug. */
export function findBuiltInPreset(idOrSlug: string): Preset | undefined {
  return BUILT_IN_PRESETS.find(({ _id }) => _id === idOrSlug);
}

function createBuiltInPreset(name: string, title: string, description: string, steps: PresetStep[]): Preset {
  const id = `builtin-${name}`;
  return {
    _id: id,
    slug: id,
    name: title,
    description,
    steps,
    subjects: [],
    version: 1,
    versionSavedAt: BUILT_IN_PRESETS_SAVED_AT,
    superseded: [],
    createdAt: BUILT_IN_PRESETS_SAVED_AT,
    updatedAt: BUILT_IN_PRESETS_SAVED_AT,
  };
}
