// Says of each request whether it is for /login: by the path that Express takes (url.parse, in any case) on the first port,
// by that of `new URL` on the second.
import http from 'node:http';
import url from 'node:url';

const login = /^\/login(?:\/|$)/i;

function answer(read) {
  return (request, response) => {
    const { path, token } = read(request.url);
    response.setHeader('X-Reached', login.test(path) ? 'login' : 'other');
    response.setHeader('X-Read-Token', encodeURIComponent(token ?? ''));
    response.setHeader('X-Read-Key', encodeURIComponent(request.headers['x-api-key'] ?? ''));
    response.end();
  };
}

function parsed(target) {
  const { pathname, query } = url.parse(target, true);
  return { path: pathname ?? '', token: String(query.token ?? '') };
}

function standard(target) {
  try {
    const { pathname, searchParams } = new URL(target, 'http://host');
    return { path: pathname, token: searchParams.get('token') };
  } catch {
    return { path: '', token: '' };
  }
}

const [first, second] = process.argv.slice(2).map(Number);
http.createServer(answer(parsed)).listen(first, '127.0.0.1');
http.createServer(answer(standard)).listen(second, '127.0.0.1');
