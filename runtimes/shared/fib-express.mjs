// Express, fib: the same code on every runtime.

import process from 'node:process';
import express from 'express';

const MAX_N = 45;

export function plain(n) {
  return n < 2 ? n : plain(n - 1) + plain(n - 2);
}

// The likely behaviour of the published code.
export function logging(n) {
  if (n < 2) {
    console.log(`base case ${n}`);
    return n;
  }
  return logging(n - 1) + logging(n - 2);
}

export function start(fibonacci) {
  const app = express();

  app
    .route('/fibonacci/:n')
    .get((request, response) => {
      const n = /^(0|[1-9]\d?)$/.test(request.params.n) ? Number(request.params.n) : NaN;
      if (n <= MAX_N) return response.json({ n, fibonacci: fibonacci(n) });
      response.status(400).json({ message: `n must be a decimal number from 0 to ${MAX_N}` });
    })
    .all((_request, response) => response.set('allow', 'GET, HEAD').status(405).end());

  app.use((_request, response) => response.status(404).end());

  app.listen(Number(process.env.PORT), process.env.HOST);
}
