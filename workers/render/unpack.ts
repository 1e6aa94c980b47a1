import chromium from '@sparticuz/chromium';

/**
 * Unpacks the bundled browser into TMPDIR, which takes two seconds of one core. This is a separate program, because the
 * package always unpacks into TMPDIR and takes any file there for a complete browser. The caller must therefore pass an
 * empty directory.
 */
chromium.setGraphicsMode = false;
await chromium.executablePath();
