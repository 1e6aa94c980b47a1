import { Darkroom } from '../../../client/client.ts';
import { sendAsReader } from './session.ts';

/** The interface, called by who is signed in. */
export const api = new Darkroom({ baseUrl: location.origin, fetch: sendAsReader, maxRetries: 1 });
