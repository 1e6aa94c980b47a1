import chromium from '@sparticuz/chromium';

/**
 * Unpacks the bundled browser into TMPDIR. A program of its own because the package always unpacks there, and takes
 * whatever lies there already for a whole browser: the caller gives it an empty directory. Two seconds of one core.
 */
chromium.setGraphicsMode = false;
await chromium.executablePath();
