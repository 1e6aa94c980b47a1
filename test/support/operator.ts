/** The operator whose commands a test gives: commands are asked for who gave them, and show their progress. */
export const OPERATOR = { by: 'a test', folder: '.', onProgress: () => undefined };
