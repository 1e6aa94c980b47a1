import { argumentsSchema } from '../../../../workers/image/operations/arguments.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import { PALETTE_SIZE_SCHEMA } from '../../../imaging/images/image-object.ts';
import {
  DEFAULT_LANGUAGE,
  type ReadingTask,
  readInstalledLanguages,
} from '../../../imaging/readers/reading.ts';
import type { PixelOp, SyncOp } from '../op.ts';
import { JSON_OP_MEMBERS } from '../pixel-op.ts';

function readingFragment(reads: ReadingTask) {
  return { decode: {}, steps: [], encode: {}, reads };
}

export const readTextOp: PixelOp<'read_text'> = {
  ...JSON_OP_MEMBERS,
  op: 'read_text',
  description:
    'Reads printed text (OCR), also turned by quarters: JSON of text in reading order, confidence, and lines with their boxes. In steps: last, in jobs.',
  parameters: argumentsSchema({
    language: parameter.choice(readInstalledLanguages(), 'An installed language.', {
      default: DEFAULT_LANGUAGE,
    }),
  }),
  syncEndpoint: '/images/read-text',
  example: { parameters: { language: DEFAULT_LANGUAGE } },
  compile: ({ language = DEFAULT_LANGUAGE }) => readingFragment({ kind: 'text', language: String(language) }),
};

export const readCodesOp: PixelOp<'read_codes'> = {
  ...JSON_OP_MEMBERS,
  op: 'read_codes',
  description:
    'Reads QR, Data Matrix, Aztec, PDF417, EAN, UPC, Code 128 and other codes: JSON of format, text and box of each. In steps: last, in jobs.',
  parameters: argumentsSchema({}),
  syncEndpoint: '/images/read-codes',
  example: { parameters: {} },
  compile: () => readingFragment({ kind: 'codes' }),
};

export const readMetadataOp: SyncOp<'read_metadata'> = {
  op: 'read_metadata',
  runs: 'answer',
  kind: 'sync',
  description: "Reads a picture's dimensions, colours and embedded metadata without changing or storing it.",
  parameters: argumentsSchema({ palette: parameter.optional(PALETTE_SIZE_SCHEMA) }),
  fields: {},
  produces: 'json',
  requiresAssets: false,
  requiresPrompt: false,
  endpoint: '/images/metadata',
};
