import { Darkroom } from '../../../client/client.ts';
import { sendAsReader } from './session.ts';

/** The client of the API, which sends calls with the credential of the person who is signed in. */
export const api = new Darkroom({ baseUrl: location.origin, fetch: sendAsReader, maxRetries: 1 });
