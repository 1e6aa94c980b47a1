/**
 * The instructions that all tools share, for the model: at most 300 tokens, because every conversation begins with
 * them. The descriptions of the tools do not repeat them.
 */
export const MCP_INSTRUCTIONS = `Darkroom edits, measures and makes pictures. Bytes never pass through you: send no base64.

An image argument is an asset id (ast_…), an http(s) URL, a link that a tool answered, or, where the server runs on your machine, a local path. Upload a file by ticket: POST it to its url (curl -F file=@photo.jpg URL), then use its asset.

A step is {op, parameters}: ops lists the ops, and with a name their parameters. Send all steps of a picture in one run: they are one pass, counted as one run. dryRun checks and prices, and does nothing. Links end after 5 minutes; save keeps results as assets, with a link of a week.

You see pixels by look alone, or by preview. AI ops (generate, edit, remove_background and the like) and many images go through job; AI ops cost credits, so send dryRun or maxCredits first. Results marked sandbox are invented.

A failure has error.code, param, and often details.fix or details.allowed: mend that argument and call again. When retryable, wait and repeat the same call.`;
