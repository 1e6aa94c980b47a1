import type { Test } from 'tap';

/** The test of each file that runs in this process together with others, by the URL of the file. */
export const fileTests = new Map<string, Test>();
