// A small shop: what a user's own service may look like, in another language than ours.
// GET /health, GET /items/NUMBER (asks STOCK_URL where it is set), GET /who; answers while PORT is open.
const http = require("node:http");

const port = Number(process.env.PORT || process.argv[2]);
const stock = process.env.STOCK_URL;

async function item(number) {
  if (!stock) return { item: number, left: 3 };
  const answer = await fetch(`${stock}/items/${number}`);
  return { ...(await answer.json()), shop: process.pid };
}

const routes = [
  [/^\/health$/, () => ({ up: true })],
  [/^\/who$/, () => ({ pid: process.pid, folder: process.cwd(), config: process.env.CONFIG })],
  [/^\/items\/(\d+)$/, (match) => item(Number(match[1]))],
];

let answered = 0;
const server = http.createServer(async (request, response) => {
  answered += 1;
  const path = new URL(request.url, "http://shop").pathname;
  const found = routes.map(([pattern, answer]) => [path.match(pattern), answer]).find(([match]) => match);
  try {
    const body = found ? await found[1](found[0]) : { missing: path };
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(body));
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
});

server.on("error", (error) => {
  console.error(`cannot listen: ${error.message}`);
  process.exit(1);
});
server.listen(port, "127.0.0.1", () => console.log(`listening on ${port}`));
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    console.log(`closing the till by ${signal} after ${answered} answers`);
    process.exit(0);
  });
}
