/** Requests as bytes (latin1), sorted by what RFC 9112 and RFC 9110 say of them and by how the front end refuses them. */
const HOST = "Host: gateway.test\r\n"
const chunked = "Transfer-Encoding: chunked\r\n"

export interface Message {
  readonly name: string
  readonly bytes: string
}

const all = (messages: Readonly<Record<string, string>>): ReadonlyArray<Message> =>
  Object.entries(messages).map(([name, bytes]) => ({ name, bytes }))

const post = (headers: string, rest: string): string => `POST /seen HTTP/1.1\r\n${HOST}${headers}\r\n${rest}`
const get = (headers: string): string => `GET /seen HTTP/1.1\r\n${HOST}${headers}\r\n`

/** Refused with an answer. */
export const refusedHeads = all({
  "two lengths that differ": post("Content-Length: 5\r\nContent-Length: 0\r\n", "hello"),
  "two lengths that differ, the other way": post("Content-Length: 0\r\nContent-Length: 5\r\n", ""),
  "a length twice": post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
  "a list of different lengths": post("Content-Length: 5, 6\r\n", "hello"),
  "a list of the same length": post("Content-Length: 5, 5\r\n", "hello"),
  "a negative length": post("Content-Length: -5\r\n", "hello"),
  "a length with a plus": post("Content-Length: +5\r\n", "hello"),
  "a hexadecimal length": post("Content-Length: 0x5\r\n", "hello"),
  "a length with a space inside": post("Content-Length: 5 5\r\n", "hello"),
  "a length with a point": post("Content-Length: 5.0\r\n", "hello"),
  "a length with an exponent": post("Content-Length: 5e0\r\n", "hello"),
  "an empty length": post("Content-Length:\r\n", ""),
  "an empty length before a real one": post("Content-Length: \r\nContent-Length: 5\r\n", "hello"),
  "a length of letters": post("Content-Length: five\r\n", "hello"),
  "a length past 64 bits": post("Content-Length: 18446744073709551621\r\n", "hello"),
  "a length past 53 bits": post("Content-Length: 9007199254740993\r\n", "hello"),
  "a length in full-width digits": post("Content-Length: \xef\xbc\x95\r\n", "hello"),
  "length and chunked": post(`Content-Length: 5\r\n${chunked}`, "0\r\n\r\n"),
  "chunked and length": post(`${chunked}Content-Length: 5\r\n`, "0\r\n\r\n"),
  "chunked and an empty length": post(`${chunked}Content-Length:\r\n`, "0\r\n\r\n"),
  "chunked, identity": post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
  "identity, chunked": post("Transfer-Encoding: identity, chunked\r\n", "0\r\n\r\n"),
  "gzip, chunked": post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
  "chunked twice": post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
  "chunked in two fields": post(`${chunked}${chunked}`, "0\r\n\r\n"),
  "chunked and identity in two fields": post(`${chunked}Transfer-Encoding: identity\r\n`, "0\r\n\r\n"),
  "identity": post("Transfer-Encoding: identity\r\n", "0\r\n\r\n"),
  "gzip": post("Transfer-Encoding: gzip\r\n", "0\r\n\r\n"),
  "an empty transfer encoding": post("Transfer-Encoding:\r\n", "0\r\n\r\n"),
  "an empty transfer encoding and a length": post("Transfer-Encoding:\r\nContent-Length: 5\r\n", "hello"),
  "chunked in quotes": post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"),
  "chunked with a parameter": post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"),
  "chunked behind a comma": post("Transfer-Encoding: ,chunked\r\n", "0\r\n\r\n"),
  "chunkedx": post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
  "a head with bare line feeds": "GET /seen HTTP/1.1\nHost: gateway.test\n\n",
  "no host": "GET /seen HTTP/1.1\r\nX-A: 1\r\n\r\n",
  "two hosts": get("Host: other.test\r\n"),
  "the same host twice": get("Host: gateway.test\r\n"),
  "an empty host": "GET /seen HTTP/1.1\r\nHost:\r\n\r\n",
  "a host with a space": "GET /seen HTTP/1.1\r\nHost: a b\r\n\r\n",
  "a host list": "GET /seen HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n",
  "a host with a path": "GET /seen HTTP/1.1\r\nHost: a.test/b\r\n\r\n",
  "a host with user information": "GET /seen HTTP/1.1\r\nHost: user@a.test\r\n\r\n",
  "a host with a port of letters": "GET /seen HTTP/1.1\r\nHost: a.test:http\r\n\r\n",
  "a host with an open bracket": "GET /seen HTTP/1.1\r\nHost: [::1\r\n\r\n",
  "a method with a space before it": ` GET /seen HTTP/1.1\r\n${HOST}\r\n`,
  "a method with brackets": `G(T /seen HTTP/1.1\r\n${HOST}\r\n`,
  "no method": `/seen HTTP/1.1\r\n${HOST}\r\n`,
  "two spaces before the target": `GET  /seen HTTP/1.1\r\n${HOST}\r\n`,
  "a tab before the target": `GET\t/seen HTTP/1.1\r\n${HOST}\r\n`,
  "a tab after the target": `GET /seen\tHTTP/1.1\r\n${HOST}\r\n`,
  "two spaces after the target": `GET /seen  HTTP/1.1\r\n${HOST}\r\n`,
  "a space inside the target": `GET /se en HTTP/1.1\r\n${HOST}\r\n`,
  "a control character inside the target": `GET /se\x01en HTTP/1.1\r\n${HOST}\r\n`,
  "a NUL inside the target": `GET /se\0en HTTP/1.1\r\n${HOST}\r\n`,
  "a target beyond ASCII": `GET /se\u00e9n HTTP/1.1\r\n${HOST}\r\n`,
  "a fragment in the target": `GET /seen#x HTTP/1.1\r\n${HOST}\r\n`,
  "a target without a slash": `GET seen HTTP/1.1\r\n${HOST}\r\n`,
  "an asterisk with GET": `GET * HTTP/1.1\r\n${HOST}\r\n`,
  "an authority with GET": `GET gateway.test:80 HTTP/1.1\r\n${HOST}\r\n`,
  "no target": `GET HTTP/1.1\r\n${HOST}\r\n`,
  "version 1.2": `GET /seen HTTP/1.2\r\n${HOST}\r\n`,
  "version 2.0": `GET /seen HTTP/2.0\r\n${HOST}\r\n`,
  "version 1.10": `GET /seen HTTP/1.10\r\n${HOST}\r\n`,
  "a lower-case version": `GET /seen http/1.1\r\n${HOST}\r\n`,
  "a version with a space": `GET /seen HTTP/1.1 \r\n${HOST}\r\n`,
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a tunnel": `CONNECT gateway.test:443 HTTP/1.1\r\n${HOST}\r\n`,
  "300 fields": get("X-A: 1\r\n".repeat(300)),
  "a head of 40 kB": get(`X-A: ${"a".repeat(40_000)}\r\n`),
  "a target of 40 kB": `GET /${"a".repeat(40_000)} HTTP/1.1\r\n${HOST}\r\n`
})

/** The native parser waits for a valid head until its buffer or its time is spent, and closes. */
export const unreadableHeads = all({
  "a length with a NUL": post("Content-Length: 5\0\r\n", "hello"),
  "chunked behind a vertical tab": post("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n"),
  "a folded transfer encoding": post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
  "a space before the colon of the transfer encoding": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
  "a tab before the colon of the transfer encoding": post("Transfer-Encoding\t: chunked\r\n", "0\r\n\r\n"),
  "a space before the colon of the length": post("Content-Length : 5\r\n", "hello"),
  "a space before a field name": post(" Content-Length: 5\r\n", "hello"),
  "a folded field": get("X-A: one\r\n two\r\n"),
  "a field folded by a tab": get("X-A: one\r\n\ttwo\r\n"),
  "a fold before the first field": `GET /seen HTTP/1.1\r\n X: 1\r\n${HOST}\r\n`,
  "a field without a colon": get("X-A\r\n"),
  "a field name with a space": get("X A: 1\r\n"),
  "a field name with a control character": get("X\x01A: 1\r\n"),
  "a field name with a NUL": get("X\0A: 1\r\n"),
  "a field name with brackets": get("X(A): 1\r\n"),
  "a field name beyond ASCII": get("X\u00e9: 1\r\n"),
  "a value with a NUL": get("X-A: a\0b\r\n"),
  "a value with a bare carriage return": get("X-A: a\rb\r\n"),
  "a value with a bare line feed": get("X-A: a\nb\r\n"),
  "a value with a control character": get("X-A: a\x01b\r\n"),
  "a length hidden behind a bare line feed": post("X-A: a\nContent-Length: 5\r\n", ""),
  "a head that ends with bare line feeds": `GET /seen HTTP/1.1\r\n${HOST}\n`,
  "no fields at all": "GET /seen HTTP/1.1\r\n\r\n",
  "no version": `GET /seen\r\n${HOST}\r\n`,
  "version 0.9": "GET /seen\r\n",
  "a bare carriage return before the request": `\rGET /seen HTTP/1.1\r\n${HOST}\r\n`
})

/** Heads that are valid, whose chunked body is not, and is found out. */
export const refusedChunks = all({
  "a size with a minus": post(chunked, "-5\r\nhello\r\n0\r\n\r\n"),
  "a size with a plus": post(chunked, "+5\r\nhello\r\n0\r\n\r\n"),
  "a size with 0x": post(chunked, "0x5\r\nhello\r\n0\r\n\r\n"),
  "a size with an underscore": post(chunked, "0_5\r\nhello\r\n0\r\n\r\n"),
  "a size of the letter g": post(chunked, "g\r\nhello\r\n0\r\n\r\n"),
  "a size past 64 bits": post(chunked, "10000000000000005\r\nhello\r\n0\r\n\r\n"),
  "a size of 64 ones": post(chunked, "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
  "a size that ends with a bare carriage return": post(chunked, "5\rhello\r\n0\r\n\r\n"),
  "an extension with a bare line feed": post(chunked, "5;a\nhello\r\n0\r\n\r\n"),
  "data longer than its size": post(chunked, "5\r\nhello world\r\n0\r\n\r\n")
})

/** Chunked bodies that are invalid and that the native decoder takes: only what stands behind them can be refused. */
export const lenientChunks = all({
  "a size with a space before it": post(chunked, " 5\r\nhello\r\n0\r\n\r\n"),
  "an empty size": post(chunked, "\r\nhello\r\n0\r\n\r\n"),
  "a size that ends with a bare line feed": post(chunked, "5\nhello\r\n0\r\n\r\n"),
  "data without an end": post(chunked, "5\r\nhello0\r\n\r\n"),
  "data with another end": post(chunked, "5\r\nhelloXX0\r\n\r\n"),
  "data that ends with a bare line feed": post(chunked, "5\r\nhello\n0\r\n\r\n"),
  "a last chunk with a bare line feed": post(chunked, "5\r\nhello\r\n0\n\r\n"),
  "a last chunk with another end": post(chunked, "5\r\nhello\r\n0\r\nXX"),
  "a last chunk with bare line feeds": post(chunked, "5\r\nhello\r\n0\n\n")
})

export const valid = all({
  "a plain GET": get(""),
  "a POST with a length": post("Content-Length: 5\r\n", "hello"),
  "a POST of nothing": post("Content-Length: 0\r\n", ""),
  "a POST without a length": post("", ""),
  "a length with zeros before it": post("Content-Length: 0005\r\n", "hello"),
  "a length between spaces and tabs": post("Content-Length: \t5 \t\r\n", "hello"),
  "a length without a space": post("Content-Length:5\r\n", "hello"),
  "field names in capitals": post("CONTENT-LENGTH: 5\r\n", "hello"),
  "an empty value": get("X-A:\r\n"),
  "a value beyond ASCII": get("X-A: \u00e9\r\n"),
  "a value with a tab": get("X-A: a\tb\r\n"),
  "a field name of odd tokens": get("!#$%&'*+-.^_`|~1: x\r\n"),
  "a host with a port": "GET /seen HTTP/1.1\r\nHost: gateway.test:8080\r\n\r\n",
  "a host of IPv6": "GET /seen HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
  "a host with an underscore": "GET /seen HTTP/1.1\r\nHost: my_gateway.test\r\n\r\n",
  "20 fields": get("X-A: 1\r\n".repeat(20)),
  "a head of 10 kB": get(`X-A: ${"a".repeat(10_000)}\r\n`),
  "a query": `GET /seen?a=b&c=%20 HTTP/1.1\r\n${HOST}\r\n`,
  "an encoded path": `GET /%73een HTTP/1.1\r\n${HOST}\r\n`,
  "a value with DEL": get("X-A: a\x7fb\r\n")
})

export const validChunks = all({
  "chunked": post(chunked, "5\r\nhello\r\n0\r\n\r\n"),
  "chunked in capitals": post("TRANSFER-ENCODING: CHUNKED\r\n", "5\r\nhello\r\n0\r\n\r\n"),
  "chunked between spaces": post("Transfer-Encoding: \t chunked \t\r\n", "5\r\nhello\r\n0\r\n\r\n"),
  "many chunks": post(chunked, "1\r\nh\r\n1\r\ne\r\n3\r\nllo\r\n0\r\n\r\n"),
  "a size with zeros before it": post(chunked, "0000005\r\nhello\r\n0\r\n\r\n")
})

/** Valid and refused all the same: the native parser does not know them. */
export const unsupported = all({
  "a chunk extension": post(chunked, "5;name=value\r\nhello\r\n0\r\n\r\n"),
  "a quoted chunk extension": post(chunked, "5;name=\"v;x\"\r\nhello\r\n0;last\r\n\r\n"),
  "a line break before the request": `\r\nGET /seen HTTP/1.1\r\n${HOST}\r\n`,
  "the absolute form": `GET http://gateway.test/seen HTTP/1.1\r\n${HOST}\r\n`,
  "version 1.0": `GET /seen HTTP/1.0\r\n${HOST}\r\n`,
  "version 1.0 kept alive": `GET /seen HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`
})
