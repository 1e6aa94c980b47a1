import { argumentsSchema, optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import { PALETTE_SIZE } from '../../../imaging/images/image-object.ts';
import type { SyncOp } from '../op.ts';

export const readMetadataOp: SyncOp<'read_metadata'> = {
  op: 'read_metadata',
  runs: 'answer',
  kind: 'sync',
  description: "Reads a picture's dimensions, colours and embedded metadata without changing or storing it.",
  parameters: argumentsSchema({ palette: optionalParameter(PALETTE_SIZE) }),
  fields: {},
  produces: 'json',
  requiresAssets: false,
  requiresPrompt: false,
  endpoint: '/images/metadata',
};
