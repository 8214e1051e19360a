// Express, hello: the same code on every runtime.

import process from 'node:process';
import express from 'express';

const app = express();

app
  .route('/')
  .get((_request, response) => response.type('text/plain').send('Hello world!'))
  .all((_request, response) => response.set('allow', 'GET, HEAD').status(405).end());

app.use((_request, response) => response.status(404).end());

app.listen(Number(process.env.PORT), process.env.HOST);
