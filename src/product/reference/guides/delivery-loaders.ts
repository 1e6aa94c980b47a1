import type { PageSample } from '../../../platform/pages/page.ts';

const NEXT = `// loader.js; in next.config.js: images: { loader: 'custom', loaderFile: './loader.js' }
export default function loader({ src, width }) {
  return \`\${src}/\${Math.min(width, 3840)}@1.auto\`;
}`;

const NUXT = `// providers/darkroom.js; in nuxt.config: image: { providers: { darkroom: { provider: '~/providers/darkroom.js' } } }
export const getImage = (src, { modifiers = {} } = {}) => {
  const width = Math.min(Number(modifiers.width ?? 1080), 3840);
  return { url: \`\${src}/\${width}@1.auto\` };
};

// Nuxt Image 2 takes the provider from here, and version 1 from above.
export default () => ({ getImage });`;

const ASTRO = `// darkroom-service.js; in astro.config.mjs: image: { service: { entrypoint: './darkroom-service.js' } }
const urlOf = (src, width = 1080) => \`\${src}/\${Math.min(width, 3840)}@1.auto\`;

export default {
  getURL: ({ src, width }) => urlOf(src, width),
  getSrcSet: ({ src, widths = [] }) =>
    widths.map((width) => ({ url: urlOf(src, width), transform: { src, width }, descriptor: \`\${width}w\` })),
  getHTMLAttributes: ({ src, widths, format, quality, ...attributes }) => ({ loading: 'lazy', ...attributes }),
};`;

const UNPIC = `// <Image transformer={transformer} src={family} width={640} height={480} /> of @unpic/react/base, /vue/base, …
export const transformer = (src, { width = 1080 }) => {
  return \`\${src}/\${Math.min(Number(width), 3840)}@1.auto\`;
};`;

/** The image loaders of web frameworks. Each adds a width to an address. */
export const LOADER_SAMPLES: readonly PageSample[] = [
  { label: 'next/image', language: 'js', code: NEXT },
  { label: 'Nuxt Image', language: 'js', code: NUXT },
  { label: 'Astro', language: 'js', code: ASTRO },
  { label: 'unpic', language: 'js', code: UNPIC },
];
