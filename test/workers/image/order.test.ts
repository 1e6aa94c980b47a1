// needs: pixels
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import {
  difference,
  drawn,
  LOSSLESS,
  made,
  meanDifference,
  passOf,
  raster,
  rasterOf,
  type StepText,
} from './passes.ts';

const corpus = needsImages(t);

/** Sequences that sharp would do in another order, were they told to one pipeline. */
const SEQUENCES: StepText[][] = [
  [
    ['extract', { left: 100, top: 50, width: 400, height: 300 }],
    ['resize', { width: 200 }],
    ['extract', { left: 10, top: 10, width: 100, height: 80 }],
  ],
  [
    ['resize', { width: 300 }],
    ['extract', { left: 10, top: 10, width: 200, height: 100 }],
    ['resize', { width: 150, height: 150, fit: 'fill' }],
  ],
  [
    ['resize', { width: 200 }],
    ['blur', { sigma: 3 }],
    ['resize', { width: 100 }],
  ],
  [
    ['blur', { sigma: 3 }],
    ['resize', { width: 100 }],
  ],
  [
    ['rotate', { angle: 90 }],
    ['resize', { width: 100 }],
    ['rotate', { angle: 90 }],
  ],
  [['rotate', { angle: 90 }], ['flip']],
  [['flip'], ['rotate', { angle: 90 }], ['flop']],
  [['flip'], ['extract', { left: 0, top: 0, width: 300, height: 100 }]],
  [['flop'], ['crop', { aspect: '1:1', gravity: 'west' }], ['resize', { width: 90 }]],
  [
    ['extend', { left: 20, top: 10, background: 'red' }],
    ['resize', { width: 200 }],
  ],
  [
    ['extend', { left: 20, background: 'red' }],
    ['trim'],
    ['border', { width: 3, color: 'blue' }],
    ['rotate', { angle: 180 }],
  ],
  [
    ['rotate', { angle: 30, background: 'lime' }],
    ['crop', { aspect: '1:1' }],
    ['resize', { width: 120 }],
  ],
  [
    ['rotate', { angle: 30, background: 'lime' }],
    ['extend', { top: 20, background: 'red' }],
  ],
  [['negate'], ['greyscale'], ['negate']],
  [['greyscale'], ['opacity', { opacity: 0.5 }], ['flatten', { background: 'red' }]],
  [
    ['extractChannel', { channel: 'red' }],
    ['roundCorners', { radius: 30 }],
  ],
  [['greyscale'], ['resize', { width: 100 }], ['border', { width: 3, color: 'red', radius: 9 }]],
  [
    ['threshold', { threshold: 100 }],
    ['blur', { sigma: 2 }],
    ['threshold', { threshold: 100 }],
  ],
  [
    ['sharpen', { sigma: 2 }],
    ['blur', { sigma: 1 }],
    ['modulate', { saturation: 2 }],
  ],
  [
    ['text', { text: 'Hello', size: 60, position: 'center' }],
    ['resize', { width: 200 }],
    ['text', { text: 'again', size: 20 }],
  ],
  [
    ['tint', { color: 'red' }],
    ['linear', { a: 1.2, b: -10 }],
    ['gamma', { gamma: 2 }],
  ],
  [
    ['resize', { width: 200 }],
    ['gamma', { gamma: 2 }],
    ['resize', { width: 100 }],
  ],
  [
    ['extractChannel', { channel: 'red' }],
    ['resize', { width: 100 }],
    ['tint', { color: 'blue' }],
  ],
  [['greyscale'], ['duotone', { dark: 'navy', light: 'yellow' }], ['greyscale']],
  [
    ['roundCorners', { radius: 40 }],
    ['resize', { width: 200 }],
    ['flatten', { background: 'red' }],
  ],
  [
    ['opacity', { opacity: 0.5 }],
    ['extend', { left: 30 }],
    ['rotate', { angle: 10 }],
    ['flatten', { background: 'blue' }],
  ],
  [
    ['resize', { width: 64, height: 64, fit: 'contain' }],
    ['modulate', { brightness: 1.5 }],
    ['blur', { sigma: 1 }],
  ],
  [['pixelate', { size: 8 }], ['flip'], ['pixelate', { size: 12 }]],
  [
    ['resize', { width: 100 }],
    ['resize', { width: 300, enlarge: true }],
    ['resize', { height: 50 }],
  ],
];

const nameOf = (steps: StepText[]) => steps.map(([operation]) => operation).join(', ');

for (const steps of SEQUENCES) {
  t.test(`${nameOf(steps)}: in this order, as if each were a pass of its own`, corpus, async (t) => {
    const photo = image('photos/kodak-23.png');
    const together = await rasterOf(photo, steps);
    let file: Uint8Array = photo;
    for (const step of steps) file = (await made(file, passOf([step], LOSSLESS))).data;
    const apart = await raster(file);
    t.same([together.width, together.height], [apart.width, apart.height], 'size');
    const [mean, largest] = [meanDifference(together, apart), difference(together, apart)];
    t.ok(mean < 0.6, `mean difference ${mean}`);
    t.ok(largest <= 24, `largest difference ${largest}`);
  });
}

t.test('steps after one that mixes channels or neighbours see its result within 0 to 255', async (t) => {
  const mixes: StepText[] = [
    ['duotone', { dark: 'navy', light: 'yellow' }],
    [
      'recomb',
      {
        matrix: [
          [0.9, 0.9, 0],
          [0, 0.9, 0.9],
          [0.9, -0.9, 0],
        ],
      },
    ],
    ['convolve', { width: 3, height: 3, kernel: [-1, -1, -1, -1, 9, -1, -1, -1, -1] }],
  ];
  const next: StepText[] = [['negate'], ['linear', { a: 0.5, b: 20 }], ['tint', { color: 'red' }]];
  const opaque = await drawn(48, 32, (x, y) => [(x * 5) % 256, (y * 17) % 256, (x * y) % 256]);
  const soft = await drawn(48, 32, (x, y) => [(x * 5) % 256, (y * 17) % 256, 128, y < 16 ? 255 : 128]);
  for (const picture of [opaque, soft])
    for (const steps of mixes.flatMap((mix) => next.map((step) => [mix, step]))) {
      let file: Uint8Array = picture;
      for (const step of steps) file = (await made(file, passOf([step], LOSSLESS))).data;
      const largest = difference(await rasterOf(picture, steps), await raster(file));
      t.ok(largest <= 2, `${nameOf(steps)}: ${largest}`);
    }
});

t.test('with transparency too, where sharp would work on premultiplied colours', async (t) => {
  const soft = await drawn(96, 64, (x, y) => [(x * 5) % 256, (y * 7) % 256, 128, Math.min(255, x * 4)]);
  const sequences: StepText[][] = [
    [
      ['resize', { width: 48 }],
      ['modulate', { brightness: 1.4 }],
    ],
    [
      ['resize', { width: 48 }],
      ['median', { size: 3 }],
    ],
    [
      ['modulate', { hue: 90 }],
      ['blur', { sigma: 1 }],
    ],
    [
      ['resize', { width: 48 }],
      ['threshold', { threshold: 90, greyscale: false }],
    ],
  ];
  for (const steps of sequences) {
    const together = await rasterOf(soft, steps);
    let file: Uint8Array = soft;
    for (const step of steps) file = (await made(file, passOf([step], LOSSLESS))).data;
    const largest = difference(together, await raster(file));
    t.ok(largest <= 2, `${nameOf(steps)}: ${largest}`);
  }
});

t.test('a turned JPEG is cut, turned and scaled as it is displayed', corpus, async (t) => {
  const turned = image('orientation/landscape_6.jpg');
  const upright = (await made(turned, passOf([], LOSSLESS))).data;
  const sequences: StepText[][] = [
    [['resize', { width: 120, height: 120, fit: 'cover', gravity: 'west' }]],
    [['resize', { width: 120, height: 120, fit: 'cover', focalX: 0.1, focalY: 0.9 }]],
    [['resize', { width: 120, height: 120, fit: 'cover', gravity: 'attention' }]],
    [['resize', { width: 120, height: 200, fit: 'contain', background: 'red' }]],
    [['extract', { left: 10, top: 20, width: 200, height: 150 }]],
    [['trim', { threshold: 60 }]],
    [['flip'], ['rotate', { angle: 90 }]],
    [['flop'], ['resize', { width: 100 }]],
    [
      ['rotate', { angle: 90 }],
      ['resize', { width: 100 }],
    ],
    [['rotate', { angle: 20, background: 'red' }]],
  ];
  for (const steps of sequences) {
    const mean = meanDifference(await rasterOf(turned, steps), await rasterOf(upright, steps));
    t.ok(mean < 2, `${nameOf(steps)}: ${mean}`);
  }
});
