import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { ImagePass, TransformTaskResult } from '../../../workers/protocol.ts';
import type { InstalledFonts, RequestedText } from '../../imaging/fonts/fonts.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { componentSchema } from '../../platform/http/fields.ts';
import type { CallWarning } from '../../platform/http/hooks/warnings.ts';

const FontFamily = componentSchema('FontFamily', {
  family: Type.String(),
  styles: Type.Array(Type.String(), { description: 'Such as `Bold Italic`.' }),
  scripts: Type.Array(Type.String(), {
    description:
      'The scripts that its characters cover, by their names in Unicode, such as `Latin`; `Emoji` beside them.',
  }),
});

export interface FontRoutesOptions {
  fonts: Pick<InstalledFonts, 'list' | 'findWarnings'>;
}

/** Serves GET /fonts: the fonts that are available for pages and text. */
export async function fontRoutes(app: FastifyInstance, { fonts }: FontRoutesOptions): Promise<void> {
  app.get(
    '/fonts',
    {
      config: { access: 'public', compress: true },
      schema: {
        summary: 'List the fonts',
        description: 'The font families of this host, for pages and for text. Not paged.',
        response: { 200: envelopeSchemaOf(Type.Array(FontFamily)) },
      },
    },
    async () => successEnvelope('Fonts listed.', await fonts.list()),
  );
}

export function requestedTextOf({ steps }: ImagePass): RequestedText {
  const written = steps.filter(({ operation }) => operation === 'text').map(({ params }) => params);
  return {
    characters: written.map(({ text }) => String(text)).join(''),
    families: written.flatMap(({ font }) => (typeof font === 'string' ? [font] : [])),
  };
}

/**
 * The warnings about a finished pass that depend on its result or on the fonts. Warnings about the steps alone are not
 * included.
 */
export async function findPassWarnings(
  { fonts }: { fonts: Pick<InstalledFonts, 'findWarnings'> },
  pass: ImagePass,
  { warnings = [] }: Pick<TransformTaskResult, 'warnings'>,
): Promise<CallWarning[]> {
  return [...warnings, ...(await fonts.findWarnings(requestedTextOf(pass)))];
}
