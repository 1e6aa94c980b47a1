import type { ProductSlice } from '../../platform/http/slice.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import { type FeedbackRoutesOptions, feedbackRoutes } from './routes.ts';
import { FeedbackStore } from './store.ts';

export interface FeedbackOptions extends Omit<FeedbackRoutesOptions, 'store'> {
  documents: DocumentStore;
}

export async function openFeedback({ documents, gate, now }: FeedbackOptions): Promise<ProductSlice> {
  const store = await FeedbackStore.open(documents);
  return { routes: (app) => feedbackRoutes(app, { store, gate, now }) };
}
