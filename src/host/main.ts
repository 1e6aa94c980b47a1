// Without a listener, SIGHUP ends the process, and systemd takes that for a wanted end. A reload during the start has
// nothing to replace, so it is ignored, also in the seconds in which the code is loaded.
process.on('SIGHUP', () => undefined);
await import('./primary.ts');
