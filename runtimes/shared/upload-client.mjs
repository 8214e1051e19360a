// What the upload clients share: uploads one after another, first to warm up, then for the window,
// and what was measured as one line of JSON. The same on all runtimes; only `send` is the runtime's.

import { statSync } from 'node:fs';
import process from 'node:process';

const { HOST, PORT, UPLOAD_FILE, UPLOAD_SECONDS, UPLOAD_WARMUP_SECONDS } = process.env;

// Times are counted in steps of 0.1 %, so that memory does not grow with the run. Up to an hour.
const STEPS = 1000;
const LONGEST_US = 3.6e9;
const counts = new Uint32Array(Math.ceil(Math.log(LONGEST_US) * STEPS) + 1);
const stepOf = (us) => Math.round(Math.log(Math.min(Math.max(us, 1), LONGEST_US)) * STEPS);
const usOf = (step) => Math.exp(step / STEPS);

const result = { uploads: 0, failed: 0, failure: null, bytes: 0, elapsed_s: 0, warmup_uploads: 0 };
const timeline = [];

// Uploads `UPLOAD_FILE` again and again with `send(url, path)`, which returns the `Response`.
export async function measure(send) {
  const url = `http://${HOST}:${PORT}/`;
  const size = statSync(UPLOAD_FILE).size;
  const upload = async () => {
    const { status } = await send(url, UPLOAD_FILE);
    if (status !== 204) throw new Error(`answered ${status}, not 204 No Content`);
  };
  const failed = (error) => {
    result.failed += 1;
    result.failure ??= String(error?.cause ?? error);
  };
  const began = performance.now();
  // Whatever keeps the first upload from succeeding will keep the others from it too.
  await upload();
  result.warmup_uploads += 1;
  while (performance.now() - began < UPLOAD_WARMUP_SECONDS * 1e3) {
    try {
      await upload();
      result.warmup_uploads += 1;
    } catch (error) {
      failed(error);
    }
  }
  console.log('window opened');
  const opened = performance.now();
  const end = opened + UPLOAD_SECONDS * 1e3;
  let now = opened;
  do {
    const before = now;
    try {
      await upload();
      now = performance.now();
      result.uploads += 1;
      counts[stepOf((now - before) * 1e3)] += 1;
      const tenth = Math.floor((now - opened) / 100);
      timeline[tenth] = (timeline[tenth] ?? 0) + 1;
    } catch (error) {
      now = performance.now();
      failed(error);
    }
  } while (now < end);
  result.bytes = result.uploads * size;
  result.elapsed_s = (now - opened) / 1e3;
  console.log(JSON.stringify({ ...result, ...times(), timeline: Array.from(timeline, (n) => n ?? 0) }));
  // Who measures this process reads its counters while it still exists, then closes its input.
  if (!process.stdin.isTTY) for await (const _ of process.stdin);
  process.exit();
}

// The usual figures of the distribution, and all of it.
function times() {
  const all = Array.from(counts, (count, step) => [usOf(step), count]).filter(([, count]) => count);
  const at = (quantile) => {
    let left = quantile * result.uploads;
    return all.find(([, count]) => (left -= count) <= 0)?.[0] ?? 0;
  };
  const sum = all.reduce((sum, [us, count]) => sum + us * count, 0);
  const latency_us = {
    min: at(0),
    mean: result.uploads ? sum / result.uploads : 0,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    max: all.at(-1)?.[0] ?? 0,
  };
  return { latency_us, latency_us_counts: all };
}
