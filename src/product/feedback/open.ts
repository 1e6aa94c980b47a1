import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { type FeedbackRoutesOptions, feedbackRoutes } from './routes.ts';
import { FeedbackStore } from './store.ts';

export interface FeedbackOptions extends Omit<FeedbackRoutesOptions, 'store'> {
  documents: Documents;
}

export async function openFeedback({ documents, gate, now }: FeedbackOptions): Promise<Slice> {
  const store = await FeedbackStore.open(documents);
  return { routes: (app) => feedbackRoutes(app, { store, gate, now }) };
}
