// As many processes as WORKERS says, by node:cluster: the primary only hands connections out.

import cluster from 'node:cluster';

export function onEachWorker(serve) {
  if (!cluster.isPrimary) return serve();
  for (let worker = 0; worker < Number(process.env.WORKERS); worker++) cluster.fork();
  // A server with fewer workers than asked for must not pass for one with all of them.
  cluster.on('exit', () => process.exit(1));
}
