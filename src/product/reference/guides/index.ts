import type { DocumentationPage } from '../../../platform/pages/page.ts';
import { agentsGuide } from './agents.ts';
import { clusterGuide } from './cluster.ts';
import { deliveryGuide } from './delivery.ts';
import { firstPictureGuide } from './first-picture.ts';
import { jobsGuide } from './jobs.ts';
import { modelsGuide } from './models.ts';
import { presetsGuide } from './presets.ts';
import { severalResultsGuide } from './several-results.ts';
import { templatesGuide } from './templates.ts';
import { webhooksGuide } from './webhooks.ts';

/**
 * The guides by their names in addresses, in the order of reading. All commands of a guide can be run one after the
 * other, once the variables KEY, BASE and those that the guide mentions are set.
 */
export const GUIDE_PAGES: Readonly<Record<string, DocumentationPage>> = {
  'first-picture': firstPictureGuide,
  'several-results': severalResultsGuide,
  templates: templatesGuide,
  presets: presetsGuide,
  delivery: deliveryGuide,
  jobs: jobsGuide,
  webhooks: webhooksGuide,
  models: modelsGuide,
  agents: agentsGuide,
  cluster: clusterGuide,
};
