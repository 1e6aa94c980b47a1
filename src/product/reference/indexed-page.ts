/** A page in the search index of the browser: address, title, first sentence, and its other words. */
export type IndexedPage = [address: string, title: string, lead: string, words: string];
