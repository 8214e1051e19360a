// Pieces of the contenders on web-standard Request and Response (Deno, Bun).

// The path of an absolute http(s) URL, without its query.
export function pathOf(url) {
  const start = url.indexOf('/', 8);
  const end = url.indexOf('?', start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

export const notFound = () => new Response(null, { status: 404 });

export const methodNotAllowed = (allow) => new Response(null, { status: 405, headers: { allow } });

export const message = (status, text) => Response.json({ message: text }, { status });
