/**
 * The answer to who is signed in. The document loads this module by itself, so that the question does not wait for the
 * other modules. `startSession` takes the answer.
 */
export const accountAnswer = fetch('/api/v1/account', { headers: { 'x-console': '1' } });
// The session handles a failure when its own module is there.
accountAnswer.catch(() => undefined);
