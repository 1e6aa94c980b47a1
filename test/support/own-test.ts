import { fileTests } from './file-tests.ts';

/** In the place of `tap` for a test file that runs together with others; the query is the URL of the file. */
export default fileTests.get(new URL(import.meta.url).search.slice(1));
