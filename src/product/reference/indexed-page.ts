/** A page as the search in the browser reads it: address, title, first sentence, and its other words. */
export type IndexedPage = [address: string, title: string, lead: string, words: string];
