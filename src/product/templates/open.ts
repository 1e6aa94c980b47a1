import type { ProductSlice } from '../../platform/http/slice.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import { findTemplateToRender, type TemplateToRender } from './reading.ts';
import { type TemplateRoutesOptions, templateRoutes } from './routes.ts';
import { TemplatesStore } from './store.ts';

interface TemplatesOptions extends Omit<TemplateRoutesOptions, 'store'> {
  documents: DocumentStore;
}

export interface TemplatesSlice extends ProductSlice {
  /** Finds the template of a render. The errors are those of `findTemplateToRender`. */
  findForRender(accountId: string, reference: string): Promise<TemplateToRender>;
}

export function openTemplates({ documents, gate, now }: TemplatesOptions): TemplatesSlice {
  const store = new TemplatesStore(documents);
  return {
    routes: (app) => templateRoutes(app, { store, gate, now }),
    findForRender: (accountId, reference) => findTemplateToRender(store, accountId, reference),
  };
}
