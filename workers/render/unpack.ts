import chromium from '@sparticuz/chromium';

/**
 * Unpacks the bundled browser into TMPDIR, which takes two seconds of one core. It is a separate program, because the
 * package always unpacks there and takes any files that are already there for a whole browser: the caller gives it an
 * empty directory.
 */
chromium.setGraphicsMode = false;
await chromium.executablePath();
