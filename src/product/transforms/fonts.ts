import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { ImagePass, TransformTaskResult } from '../../../workers/protocol.ts';
import type { DrawnText, Fonts } from '../../imaging/fonts/fonts.ts';
import { component } from '../../platform/http/documented.ts';
import { envelopeOf, success } from '../../platform/http/envelope.ts';
import type { Warning } from '../../platform/http/hooks/warnings.ts';

const FontFamily = component('FontFamily', {
  family: Type.String(),
  styles: Type.Array(Type.String(), { description: 'Such as `Bold Italic`.' }),
  scripts: Type.Array(Type.String(), {
    description:
      'The scripts that its characters cover, by their names in Unicode, such as `Latin`; `Emoji` beside them.',
  }),
});

export interface FontOptions {
  fonts: Pick<Fonts, 'list' | 'findWarnings'>;
}

/** Serves GET /fonts: the fonts with which pages and text are drawn. */
export async function fontRoutes(app: FastifyInstance, { fonts }: FontOptions): Promise<void> {
  app.get(
    '/fonts',
    {
      config: { access: 'public', compress: true },
      schema: {
        summary: 'List the fonts',
        description: 'The font families of this host, for pages and for text. Not paged.',
        response: { 200: envelopeOf(Type.Array(FontFamily)) },
      },
    },
    async () => success('Fonts listed.', await fonts.list()),
  );
}

/** The text that the steps of a pass write. */
export function drawnTextOf({ steps }: ImagePass): DrawnText {
  const written = steps.filter(({ operation }) => operation === 'text').map(({ params }) => params);
  return {
    characters: written.map(({ text }) => String(text)).join(''),
    families: written.flatMap(({ font }) => (typeof font === 'string' ? [font] : [])),
  };
}

/** The warnings about a finished pass that its steps alone do not show: about its result, and about its fonts. */
export async function findPassWarnings(
  { fonts }: { fonts: Pick<Fonts, 'findWarnings'> },
  pass: ImagePass,
  { warnings = [] }: Pick<TransformTaskResult, 'warnings'>,
): Promise<Warning[]> {
  return [...warnings, ...(await fonts.findWarnings(drawnTextOf(pass)))];
}
