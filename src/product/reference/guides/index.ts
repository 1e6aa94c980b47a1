import type { DocumentationPage } from '../../../platform/pages/page.ts';
import { agents } from './agents.ts';
import { cluster } from './cluster.ts';
import { delivery } from './delivery.ts';
import { firstPicture } from './first-picture.ts';
import { jobs } from './jobs.ts';
import { models } from './models.ts';
import { presets } from './presets.ts';
import { severalResults } from './several-results.ts';
import { templates } from './templates.ts';
import { webhooks } from './webhooks.ts';

/**
 * The guides by their names in the address, in the order of reading. Every command in them runs as it stands, one after
 * the other, once KEY, BASE and what the guide names are set.
 */
export const GUIDES: Readonly<Record<string, DocumentationPage>> = {
  'first-picture': firstPicture,
  'several-results': severalResults,
  templates,
  presets,
  delivery,
  jobs,
  webhooks,
  models,
  agents,
  cluster,
};
