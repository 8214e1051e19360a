// As many processes as WORKERS says, this one included, which all listen on the same port.

export function startOthers(script) {
  if (process.env.STARTED_BY) return;
  const env = { ...process.env, STARTED_BY: `${process.pid}` };
  for (let other = 1; other < Number(process.env.WORKERS); other++) {
    Bun.spawn([process.execPath, script], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
      // A server with fewer workers than asked for must not pass for one with all of them.
      onExit: () => process.exit(1),
    });
  }
}
