/**
 * The response that says who is signed in. This module imports no other module, so the request is sent before the
 * others are loaded. `startSession` reads the response.
 */
export const accountResponse = fetch('/api/v1/account', { headers: { 'x-console': '1' } });
// A rejection is handled later, by the session. This handler only prevents the report of an unhandled rejection.
accountResponse.catch(() => undefined);
