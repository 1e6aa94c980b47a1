import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { findForRender, type RenderTemplate } from './reading.ts';
import { type TemplateRoutesOptions, templateRoutes } from './routes.ts';
import { TemplatesStore } from './store.ts';

export interface TemplatesOptions extends Omit<TemplateRoutesOptions, 'store'> {
  documents: Documents;
}

export interface TemplatesSlice extends Slice {
  /** Finds the template that a render names; see reading.ts for the errors. */
  findForRender(accountId: string, reference: string): Promise<RenderTemplate>;
}

export async function openTemplates({ documents, gate, now }: TemplatesOptions): Promise<TemplatesSlice> {
  const store = await TemplatesStore.open(documents);
  return {
    routes: (app) => templateRoutes(app, { store, gate, now }),
    findForRender: (accountId, reference) => findForRender(store, accountId, reference),
  };
}
