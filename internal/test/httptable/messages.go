// SPDX-License-Identifier: Apache-2.0

package httptable

import "strings"

// Why nginx differs about paths and methods.
const (
	policy  = "package serve does so to be safe; HTTP leaves it open"
	noAllow = "it leaves out Allow"
	tidied  = "it makes paths tidy"
)

// refused are the headers of 405 (RFC 9110, section 15.5.6), and of 4xx in package serve.
var (
	refused  = []string{"Allow: GET, HEAD, OPTIONS"}
	problems = []string{"Content-Type: application/problem+json", "Cache-Control: no-store", "!ETag", "!Last-Modified"}
)

// headers are rows of RFC 9110, sections 8 and 12, and of RFC 9111, section 5.
var headers = []Row{
	{Name: "headers of a value", Status: 200, Body: whole,
		Want: []string{"Date", "ETag: {etag}", "Content-Length: 1000", "Content-Type: application/octet-stream", "!Transfer-Encoding", "!Set-Cookie"},
		Own:  []string{"Cache-Control: private, no-cache", "Vary: Origin", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer"}},
	{Name: "headers of a document", Path: Document, Status: 200, Want: []string{"Content-Type: application/json", "ETag"}, Own: []string{"Cache-Control: private, no-cache"}, Stored: true},
	{Name: "headers of a refusal", Path: "/n/none", Status: 404, Want: []string{"Date"}, Own: problems, Stored: true},
	{Name: "HEAD", Method: "HEAD", Status: 200, Body: none, Want: []string{"ETag: {etag}", "Content-Length: 1000", "Accept-Ranges: bytes", "Content-Type: application/octet-stream"}},
	{Name: "HEAD of an empty value", Method: "HEAD", Path: Empty, Status: 200, Body: none, Want: []string{"Content-Length: 0"}, Stored: true},
	{Name: "HEAD of a missing key", Method: "HEAD", Path: "/n/none", Status: 404, Body: none, Own: problems, Stored: true},
	{Name: "gzip is accepted", Headers: []string{"Accept-Encoding: gzip"}, Status: 200, Body: whole, Want: []string{"!Content-Encoding"}},
	{Name: "any encoding is accepted", Headers: []string{"Accept-Encoding: *"}, Status: 200, Body: whole, Want: []string{"!Content-Encoding"}},
	{Name: "plain text is not accepted", Headers: []string{"Accept-Encoding: br, zstd, identity;q=0"}, Status: 200, Body: whole, Want: []string{"!Content-Encoding"}},
	{Name: "gzip and a range", Headers: append(ask("0-9"), "Accept-Encoding: gzip"), Status: 206, Body: bytes(0, 10), Want: []string{"!Content-Encoding"}},
	{Name: "gzip for a document", Path: Document, Headers: []string{"Accept-Encoding: gzip, br"}, Status: 200, Want: []string{"!Content-Encoding", "!Transfer-Encoding"}, Stored: true},
	{Name: "another type is accepted", Headers: []string{"Accept: text/html"}, Status: 200, Body: whole},
	{Name: "a client that keeps nothing", Headers: []string{"Cache-Control: no-cache", "Pragma: no-cache"}, Status: 200, Body: whole},
	{Name: "a client that keeps nothing, and has it", Headers: []string{"Cache-Control: no-cache", "If-None-Match: {etag}"}, Status: 304, Body: none},
	{Name: "a cache that asks a cache", Headers: []string{"Cache-Control: only-if-cached"}, Status: 200, Body: whole},
	{Name: "a header that nobody knows", Headers: []string{"X-Unheard-Of: 1"}, Status: 200, Body: whole},
	{Name: "an empty header", Headers: []string{"X-Unheard-Of:"}, Status: 200, Body: whole},
	{Name: "a cookie of another server", Headers: []string{"Cookie: a=b; c=d"}, Status: 200, Body: whole, Want: []string{"!Set-Cookie"}},
}

// methods are rows of RFC 9110, section 9.
var methods = []Row{
	{Name: "POST", Method: "POST", Status: 405, Want: refused, Differs: noAllow, Nginx: 405},
	{Name: "POST with a body", Method: "POST", Headers: []string{"Content-Length: 3"}, Sent: "abc", Status: 405, Want: refused, Closes: true, Stored: true, Differs: noAllow, Nginx: 405},
	{Name: "PUT", Method: "PUT", Headers: []string{"Content-Length: 0"}, Status: 405, Want: refused, Differs: noAllow, Nginx: 405},
	{Name: "PUT with a condition", Method: "PUT", Headers: []string{"Content-Length: 0", `If-Match: "x"`}, Status: 405, Want: refused, Differs: noAllow, Nginx: 405},
	{Name: "DELETE", Method: "DELETE", Status: 405, Want: refused, Own: problems, Differs: noAllow, Nginx: 405},
	{Name: "PATCH", Method: "PATCH", Status: 405, Want: refused, Stored: true, Differs: noAllow, Nginx: 405},
	{Name: "TRACE", Method: "TRACE", Status: 405, Want: refused, Stored: true, Differs: noAllow, Nginx: 405},
	{Name: "a method that nobody knows", Method: "BREW", Status: 405, Want: refused, Stored: true, Differs: noAllow, Nginx: 405},
	{Name: "a method in small letters", Method: "get", Status: 405, Want: refused, Stored: true, Differs: "methods are capitals there", Nginx: 400},
	{Name: "POST of a range with a condition", Method: "POST", Headers: append(ask("0-1"), "If-None-Match: {etag}"), Status: 405, Stored: true},
	{Name: "DELETE of a missing key", Method: "DELETE", Path: "/n/none", Status: 405, Want: refused, Stored: true, Differs: noAllow, Nginx: 405},
	{Name: "OPTIONS", Method: "OPTIONS", Status: 204, Body: none, Want: refused, Differs: "it does not know OPTIONS", Nginx: 405},
	{Name: "OPTIONS of the server", Method: "OPTIONS", Path: "*", Status: 200, Body: none, Stored: true, Differs: "it does not know OPTIONS", Nginx: 400},
	{Name: "CONNECT", Method: "CONNECT", Path: "localhost:80", Status: 405, Stored: true, Differs: "it does not know CONNECT", Nginx: 400},
	{Name: "a page of another origin", Headers: []string{"Origin: https://a.example"}, Status: 403, Own: problems, Want: []string{"!Access-Control-Allow-Origin"}, Differs: policy, Nginx: 200},
	{Name: "a question of another origin", Method: "OPTIONS", Headers: []string{"Origin: https://a.example", "Access-Control-Request-Method: GET"}, Status: 403,
		Want: []string{"!Access-Control-Allow-Origin"}, Differs: policy, Nginx: 405},
}

// targets are rows of RFC 9110, sections 4 and 7, and of RFC 9112, section 3.
var targets = []Row{
	{Name: "a missing key", Path: "/n/none", Status: 404, Stored: true},
	{Name: "a missing node", Path: "/none/zarr.json", Status: 404, Stored: true},
	{Name: "a query", Path: Value + "?a=b", Status: 200, Body: whole, Stored: true},
	{Name: "an escaped letter", Path: "/n/%63/%30", Status: 200, Body: whole, Stored: true},
	{Name: "an escape in small letters", Path: "/n/c%2f0", Status: 400, Stored: true, Differs: "it takes the slash for a slash, which would be another key", Nginx: 200},
	{Name: "half an escape", Path: "/n/c%2", Status: 400, Stored: true, Closes: true},
	{Name: "an escape of no number", Path: "/n/%zz", Status: 400, Stored: true, Closes: true},
	{Name: "an escaped NUL", Path: "/n/a%00b", Status: 400, Stored: true},
	{Name: "dots", Path: "/n/x/../c/0", Status: 404, Stored: true, Differs: tidied, Nginx: 200},
	{Name: "escaped dots", Path: "/n/%2e%2e/n/c/0", Status: 404, Stored: true, Differs: tidied, Nginx: 200},
	{Name: "two slashes", Path: "/n//c/0", Status: 400, Stored: true, Differs: tidied, Nginx: 200},
	{Name: "a folder without its slash", Path: Folder, Status: 301, Want: []string{"Location: " + Folder + "/"}, Stored: true},
	{Name: "HEAD of a folder without its slash", Method: "HEAD", Path: Folder, Status: 301, Body: none, Want: []string{"Location: " + Folder + "/"}, Stored: true},
	{Name: "a folder", Path: Folder + "/", Status: 200, Want: []string{"!Content-Encoding"}, Own: []string{"Content-Type: text/html; charset=utf-8", "Cache-Control: no-store"}, Stored: true},
	{Name: "HEAD of a folder", Method: "HEAD", Path: Folder + "/", Status: 200, Body: none, Stored: true},
	{Name: "a slash after a file", Path: Value + "/", Status: 404, Stored: true},
	{Name: "a long path", Path: "/n/" + strings.Repeat("x", 20000), Status: 414, Stored: true, Differs: "it closes the connection", Nginx: 414},
	{Name: "an address with its host", Path: "http://localhost" + Value, Status: 200, Body: whole, Stored: true},
	{Name: "an address with its host, which counts", Path: "http://localhost" + Value, Headers: []string{"Host: evil.example"}, Status: 200, Body: whole, Stored: true},
	{Name: "an address of another host", Path: "http://evil.example" + Value, Status: 421, Stored: true, Own: problems, Differs: policy, Nginx: 200},
	{Name: "another host", Headers: []string{"Host: evil.example"}, Status: 421, Own: problems, Differs: policy, Nginx: 200},
	{Name: "the host with a port", Headers: []string{"Host: localhost:80"}, Status: 200, Body: whole, Stored: true},
	{Name: "the address of this machine", Headers: []string{"Host: 127.0.0.1"}, Status: 200, Body: whole, Stored: true},
	{Name: "the address of version 6", Headers: []string{"Host: [::1]:8000"}, Status: 200, Body: whole, Stored: true},
}

// messages are rows of RFC 9112, and of RFC 9110, sections 7.2 and 10.1.1.
var messages = []Row{
	{Name: "no host", NoHost: true, Status: 400, Closes: true, Stored: true},
	{Name: "two hosts", Headers: []string{"Host: localhost", "host: localhost"}, Status: 400, Closes: true, Stored: true},
	{Name: "a host that is none", Headers: []string{"Host: a b/c"}, Status: 400, Closes: true, Stored: true},
	{Name: "an empty host", Headers: []string{"Host:"}, Status: 421, Stored: true, Differs: policy, Nginx: 400},
	{Name: "HTTP/1.0", Version: "HTTP/1.0", Status: 200, Body: whole, Closes: true, Want: []string{"!Transfer-Encoding"}},
	{Name: "HTTP/1.0 without a host", Version: "HTTP/1.0", NoHost: true, Status: 421, Closes: true, Stored: true, Differs: policy, Nginx: 200},
	{Name: "HTTP/1.0 that keeps the connection", Version: "HTTP/1.0", Headers: []string{"Connection: keep-alive"}, Status: 200, Body: whole, Want: []string{"Connection: keep-alive"}},
	{Name: "HTTP/1.0 with a range", Version: "HTTP/1.0", Headers: ask("0-1"), Status: 206, Body: bytes(0, 2), Closes: true},
	{Name: "HTTP/1.0 has no chunks", Version: "HTTP/1.0", Path: Folder + "/", Status: 200, Want: []string{"!Transfer-Encoding"}, Closes: true, Stored: true},
	{Name: "a later HTTP/1", Version: "HTTP/1.2", Status: 200, Body: whole, Stored: true},
	{Name: "HTTP/3", Version: "HTTP/3.0", Status: 505, Closes: true, Stored: true},
	{Name: "no version", Version: "HTTP/x", Status: 400, Closes: true, Stored: true},
	{Name: "the connection is to end", Headers: []string{"Connection: close"}, Status: 200, Body: whole, Want: []string{"Connection: close"}, Closes: true},
	{Name: "the connection is to end, in capitals", Headers: []string{"Connection: CLOSE"}, Status: 200, Body: whole, Closes: true, Stored: true},
	{Name: "three requests at once", Repeat: 3, Status: 200, Body: whole},
	{Name: "three ranges at once", Repeat: 3, Headers: ask("3-4"), Status: 206, Body: bytes(3, 5)},
	{Name: "three HEAD at once", Method: "HEAD", Repeat: 3, Status: 200, Body: none},
	{Name: "three conditions at once", Repeat: 3, Headers: []string{"If-None-Match: {etag}"}, Status: 304, Body: none},
	{Name: "three missing keys at once", Path: "/n/none", Repeat: 3, Status: 404, Stored: true},
	{Name: "three refusals at once", Repeat: 3, Headers: ask("5000-"), Status: 416, Want: unsatisfied},
	{Name: "three conditions that do not hold at once", Repeat: 3, Headers: []string{`If-Match: "x"`}, Status: 412, Differs: "it closes the connection after 412"},
	{Name: "a body that a GET does not need", Headers: []string{"Content-Length: 5"}, Sent: "abcde", Status: 200, Body: whole, Closes: true, Differs: "it reads the body", Nginx: 200},
	{Name: "a body in chunks", Headers: []string{"Transfer-Encoding: chunked"}, Sent: "5\r\nabcde\r\n0\r\n\r\n", Status: 200, Body: whole, Closes: true, Stored: true, Differs: "it reads the body", Nginx: 200},
	{Name: "an empty body", Headers: []string{"Content-Length: 0"}, Status: 200, Body: whole},
	{Name: "a length that is none", Headers: []string{"Content-Length: x"}, Status: 400, Closes: true, Stored: true},
	{Name: "two lengths", Headers: []string{"Content-Length: 1", "Content-Length: 2"}, Sent: "ab", Status: 400, Closes: true, Stored: true},
	{Name: "a coding that nobody knows", Headers: []string{"Transfer-Encoding: x"}, Status: 501, Closes: true, Stored: true},
	{Name: "a client that waits for leave, without a body", Headers: []string{"Expect: 100-continue"}, Status: 200, Body: whole, Stored: true},
	{Name: "a client that waits for leave to send what is refused", Method: "PUT", Headers: []string{"Expect: 100-continue", "Content-Length: 5"}, Status: 405, Closes: true, Stored: true,
		Differs: "it keeps the connection", Nginx: 405},
	{Name: "what nobody expects", Headers: []string{"Expect: tea"}, Status: 417, Stored: true, Closes: true, Differs: "a server may ignore what it does not know", Nginx: 200},
	{Name: "a space before the colon", Headers: []string{"X : y"}, Status: 400, Closes: true, Stored: true},
	{Name: "more headers than are read", Headers: []string{"X: " + strings.Repeat("y", 50000)}, Status: 431, Closes: true, Stored: true, Differs: "it knows no 431", Nginx: 400},
	{Name: "many headers", Headers: []string{strings.Repeat("X: y\r\n", 90) + "X: z"}, Status: 200, Body: whole, Stored: true},
}

// pages are rows about addresses that only package serve has.
var pages = []Row{
	{Name: "health", Path: "/@health", Status: 200, Own: []string{"Cache-Control: no-store"}, Want: []string{"Content-Length: 3"}, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "HEAD of health", Method: "HEAD", Path: "/@health", Status: 200, Body: none, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "POST of health", Method: "POST", Path: "/@health", Status: 405, Want: refused, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "values", Path: "/@values/n?format=raw", Status: 200, Body: whole, Want: []string{"Content-Length: 1000", "Vary: Origin, Accept, Accept-Encoding"}, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "HEAD of values", Method: "HEAD", Path: "/@values/n?format=raw", Status: 200, Body: none, Want: []string{"Content-Length: 1000"}, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "a range of values", Path: "/@values/n?format=raw", Headers: ask("0-1"), Status: 200, Body: whole, Want: []string{"!Content-Range", "!Accept-Ranges"}, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "values as nobody has them", Path: "/@values/n", Headers: []string{"Accept: text/html"}, Status: 406, Own: problems, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "a view that is no more", Path: "/@regular,at=x/n/c/0", Status: 410, Own: append([]string{"Link"}, problems...), Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "a chunk beyond a view", Path: "/@regular/n/c/9", Status: 410, Own: problems, Stored: true, Differs: "it has none", Nginx: 404},
	{Name: "a chunk of a view that is kept", Path: "/@regular,chunks=250,codec=none/n/c/9", Headers: []string{"If-None-Match: *"}, Status: 410, Stored: true, Differs: "it has none", Nginx: 404},
}
