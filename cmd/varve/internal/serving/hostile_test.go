// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// attack is a request, byte by byte, of somebody who means harm.
type attack struct {
	name, text string
	// want are the statuses that may come: numbers, or 2xx and so on, or "closed" for a
	// connection that ends without an answer.
	want string
	// token sends it to the server that needs a token.
	token bool
	// open leaves the request unfinished. The client then sends no more.
	open bool
	// leaves makes the client go away when it has the headers, and vanishes before that.
	leaves, vanishes bool
}

// anyRefusal are the statuses of requests that may be answered or refused.
const anyRefusal = "2xx 3xx 4xx"

// planted is in files that are not served.
const planted = "PLANTED-SECRET"

// secretToken is the token of the second server.
const secretToken = "correct-horse"

// get returns a request that ends the connection.
func get(path string, headers ...string) string {
	return raw("GET", path, append([]string{"Host: localhost"}, headers...)...)
}

func raw(method, path string, headers ...string) string {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Connection: close"}, headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// attacks returns all attacks. They are the same each time.
func attacks() []attack {
	return slices.Concat(onPaths(), onRanges(), onHosts(), onOrigins(), onFraming(), onSyntax(), onMethods(), onViews(), onValues(), onTokens(), onStreams())
}

// onPaths asks for what is not served, or for what is no path.
func onPaths() (list []attack) {
	paths := []string{
		"../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "%2e%2e%2fsecret.txt", `..\secret.txt`, "..%5csecret.txt", "..;/secret.txt",
		"a/../../secret.txt", "a/./../.././secret.txt", "%252e%252e/secret.txt", "%c0%ae%c0%ae/secret.txt", "%e0%80%ae%e0%80%ae/secret.txt",
		"%uff0e%uff0e/secret.txt", "%ef%bc%8e%ef%bc%8e/secret.txt", "\uff0e\uff0e/secret.txt", "..%00/secret.txt", "..%0d%0a/secret.txt",
		"zarr.json%00.txt", "%00", "a%00/c/0", "./zarr.json", "/secret.txt", "///etc/passwd", ".env", "%2eenv", ".%65nv", ".git/config", ".ENV",
		"__varve/x", "%5f%5fvarve/x", "__Varve/x", "a/__varve/x", "link/secret.txt", "link/", "link", "a/c/link", "file", "dotted/config",
		"~root/secret.txt", "C:/secret.txt", "C:%5csecret.txt", "zarr.json::$DATA", "zarr.json.", "zarr.json%20", "%ff%fe/zarr.json",
		"%e2%80%ae/zarr.json", strings.Repeat("x", 300), strings.Repeat("x", 6000), strings.Repeat("x/", 2400), strings.Repeat("../", 1000) + "secret.txt",
		"?/../secret.txt", "#/../secret.txt", "a;b=c", "a/c/" + strings.Repeat("9", 4000), "*", "%", "%2", "%zz",
	}
	for _, before := range []string{"/node/", "/@regular/node/", "/@values/node/", "/@events/", "/"} {
		for _, path := range paths {
			list = append(list, attack{name: "path " + before + path, text: get(before + path), want: anyRefusal})
		}
	}
	for _, path := range []string{"node", "", "//", "//evil.example/..", `\`, "/node\x00", "/node\x01", "/no de", "http://[::1", "http://localhost:99999999/node/", "ftp://localhost/node/", "javascript:alert(1)", "/@", "/@@", "/@regular@/node"} {
		list = append(list, attack{name: "target " + path, text: get(path), want: anyRefusal})
	}
	return list
}

// onRanges asks for ranges that are none, or very many.
func onRanges() (list []attack) {
	for _, ranges := range []string{
		"bytes=" + strings.Repeat("0-0,", 1000), "bytes=" + strings.Repeat("0-0,", 5000), "bytes=" + strings.Repeat("-1,", 15) + "-1", "bytes=" + strings.Repeat("0-,", 15) + "0-",
		"bytes=" + strings.Repeat(",", 9000), "bytes=-9223372036854775808", "bytes=9223372036854775807-", "bytes=0-9223372036854775807", "bytes=-9223372036854775807",
		"bytes=18446744073709551616-18446744073709551617", "bytes=0-18446744073709551615", "bytes=" + strings.Repeat("9", 20000) + "-", "bytes=-1-1", "bytes=1-2-3", "bytes=1e3-",
		"bytes=0x10-", "bytes=\u0663-", "bytes=0-0\x00", "bytes=NaN-", "bytes", "=", "bytes==0-1", strings.Repeat("bytes=", 1000), "bytes=0-1;a=b", "bytes=" + strings.Repeat("(", 5000), "none",
	} {
		for name, path := range map[string]string{"chunk": "/node/a/c/0", "view": "/@regular,chunks=3/node/a/c/0", "document": "/node/zarr.json"} {
			list = append(list, attack{name: "range " + name + " " + ranges, text: get(path, "Range: "+ranges), want: "200 206 400 416 431"})
		}
	}
	slices.SortFunc(list, func(a, b attack) int { return strings.Compare(a.name, b.name) })
	for name, condition := range map[string]string{
		"quotes": strings.Repeat(`"`, 9000), "tags": strings.Repeat(`"x",`, 7000), "weak": strings.Repeat("W/", 9000), "open": `"` + strings.Repeat("x", 20000), "stars": strings.Repeat("*,", 5000),
	} {
		for _, header := range []string{"If-Match", "If-None-Match", "If-Range", "If-Modified-Since", "If-Unmodified-Since"} {
			list = append(list, attack{name: header + " " + name, text: get("/node/a/c/0", header+": "+condition, "Range: bytes=0-1"), want: "200 206 304 412"})
		}
	}
	return list
}

// onHosts asks under names that are not those of this server.
func onHosts() (list []attack) {
	for _, host := range []string{
		"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "evil.example#localhost", "evil.example/localhost", `evil.example\localhost`,
		"[::1", "::1]", "[::1]evil.example", "0x7f.1.evil", "2130706434", "0.0.0.0", "[::]", "[::ffff:8.8.8.8]", "localhost\x00.evil", "a b", "localhost,evil.example", "", ":80", strings.Repeat("a.", 5000), "xn--localhost-evil", "localhos\u0442", "*", "%6cocalhost",
	} {
		list = append(list, attack{name: "host " + host, text: raw("GET", "/node/zarr.json", "Host: "+host), want: "400 421"})
	}
	return append(list,
		attack{name: "two hosts", text: raw("GET", "/node/zarr.json", "Host: localhost", "Host: evil.example"), want: "400"},
		attack{name: "two equal hosts", text: raw("GET", "/node/zarr.json", "Host: localhost", "Host: localhost"), want: "400"},
		attack{name: "a hundred hosts", text: raw("GET", "/node/zarr.json", slices.Repeat([]string{"Host: localhost"}, 100)...), want: "400"},
		attack{name: "no host", text: raw("GET", "/node/zarr.json"), want: "400"},
		attack{name: "another host in the address", text: get("http://evil.example/node/zarr.json"), want: "421"},
		attack{name: "the host of a proxy", text: get("/node/zarr.json", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"), want: "200"},
		attack{name: "another host, and that of a proxy", text: raw("GET", "/node/zarr.json", "Host: evil.example", "X-Forwarded-Host: localhost"), want: "421"},
		attack{name: "the address that a proxy rewrites", text: get("/node/zarr.json", "X-Original-URL: /../secret.txt", "X-Rewrite-URL: /../secret.txt"), want: "200"},
	)
}

// onOrigins asks as a page of another origin.
func onOrigins() (list []attack) {
	for _, origin := range []string{
		"null", "https://evil.example", "http://localhost", "http://localhost:1", "https://localhost", "http://127.0.0.1:1", "file://", "http://localhost.evil.example", "HTTP://EVIL.EXAMPLE",
		"http://localhost@evil.example", "http://localhost#evil", "http://localhost/", "localhost", "*", "http://*", "data:", "chrome-extension://x", " ", "http://\u0142ocalhost", strings.Repeat("http://a", 2000),
	} {
		want := "403"
		if origin == " " || origin == "http://localhost" {
			want = "200" // no origin, and that of the request itself
		}
		list = append(list, attack{name: "origin " + origin, text: get("/node/zarr.json", "Origin: "+origin), want: want})
		if want == "403" {
			list = append(list, attack{name: "question of " + origin, text: raw("OPTIONS", "/node/zarr.json", "Host: localhost", "Origin: "+origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Private-Network: true"), want: "403"})
		}
	}
	return append(list, attack{name: "two origins", text: get("/node/zarr.json", "Origin: https://evil.example", "Origin: http://localhost"), want: "403"})
}

// smuggled is a request within the body of another one.
const smuggled = "GET /node/.env HTTP/1.1\r\nHost: localhost\r\n\r\n"

// onFraming has bodies whose length is not certain, and bodies that nobody asked for.
func onFraming() (list []attack) {
	const refused, read = "400 501 closed", "200 400 405"
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled)
	length := fmt.Sprintf("Content-Length: %d", len(smuggled))
	for _, c := range []struct{ name, headers, body, want string }{
		{"a length and chunks", length + "\nTransfer-Encoding: chunked", chunk, read},
		{"chunks and a length", "Transfer-Encoding: chunked\n" + length, "0\r\n\r\n" + smuggled, read},
		{"two lengths", length + "\nContent-Length: 0", smuggled, refused},
		{"two equal lengths", length + "\n" + length, smuggled, read},
		{"a list of lengths", length + ", 0", smuggled, refused},
		{"a signed length", "Content-Length: +5", "abcde", refused},
		{"a negative length", "Content-Length: -5", "abcde", refused},
		{"a length in hexadecimal", "Content-Length: 0x5", "abcde", refused},
		{"a length of 40 digits", "Content-Length: " + strings.Repeat("9", 40), "abcde", refused},
		{"the greatest length", "Content-Length: 9223372036854775807", "abcde", read},
		{"an empty length", "Content-Length:", smuggled, "200 400 501 closed"},
		{"a length of the next line", "Content-Length:\r\n 5", "abcde", "200 400"},
		{"chunks twice", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", chunk, refused},
		{"a list of codings", "Transfer-Encoding: gzip, chunked", chunk, refused},
		{"chunks and identity", "Transfer-Encoding: chunked, identity", chunk, refused},
		{"an odd coding", "Transfer-Encoding: xchunked", chunk, refused},
		{"a space in a coding", "Transfer-Encoding : chunked", chunk, refused},
		{"a vertical tab in a coding", "Transfer-Encoding: \x0bchunked", chunk, refused},
		{"a coding in capitals", "Transfer-Encoding: CHUNKED", chunk, read},
		{"a chunk of a negative length", "Transfer-Encoding: chunked", "-1\r\nabc\r\n0\r\n\r\n", read},
		{"a chunk of 20 digits", "Transfer-Encoding: chunked", "fffffffffffffffffffff\r\nabc\r\n", read},
		{"a chunk with a long extension", "Transfer-Encoding: chunked", "1;" + strings.Repeat("a=b;", 5000) + "\r\na\r\n0\r\n\r\n", read},
		{"a trailer", "Transfer-Encoding: chunked\nTrailer: Host", "0\r\nHost: evil.example\r\n\r\n", read + " 501"},
		{"no chunks at all", "Transfer-Encoding: chunked", smuggled, read},
		{"a body", length, smuggled, read},
		{"a body in chunks", "Transfer-Encoding: chunked", chunk, read},
		{"leave for a body", "Expect: 100-continue\n" + length, smuggled, read},
		{"an upgrade", "Upgrade: h2c\nConnection: Upgrade, HTTP2-Settings\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA", smuggled, "200 405"},
		{"a web socket", "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Key: x\nSec-WebSocket-Version: 13", "", "200 405"},
		{"a compressed body", "Content-Encoding: gzip\nContent-Length: " + fmt.Sprint(len(bomb())), string(bomb()), read},
		{"a compressed body in chunks", "Content-Encoding: gzip\nTransfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(bomb()), bomb()), read},
		{"a compressed coding", "Transfer-Encoding: gzip\nContent-Length: " + fmt.Sprint(len(bomb())), string(bomb()), refused},
	} {
		for _, method := range []string{"GET", "POST"} {
			text := raw(method, "/node/zarr.json", append([]string{"Host: localhost"}, strings.Split(c.headers, "\n")...)...)
			list = append(list, attack{name: method + " with " + c.name, text: text + c.body, want: c.want})
		}
	}
	return list
}

// bomb returns 16 MiB of zeros, compressed twice.
func bomb() []byte {
	data := make([]byte, 16<<20)
	for range 2 {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data) // to memory
		_ = w.Close()
		data = b.Bytes()
	}
	return data
}

// onSyntax has what is no HTTP.
func onSyntax() (list []attack) {
	add := func(name, text, want string) {
		list = append(list, attack{name: name, text: text, want: want})
	}
	const end = "Host: localhost\r\nConnection: close\r\n\r\n"
	for _, line := range []string{
		"GET /node/zarr.json", "GET", "GET  /node/zarr.json HTTP/1.1", "GET /node/zarr.json  HTTP/1.1", " GET /node/zarr.json HTTP/1.1", "GET\t/node/zarr.json\tHTTP/1.1", "GET /node/zarr.json HTTP/1.1 x",
		"GET /node/zarr.json HTTP/1", "GET /node/zarr.json HTTP/1.10", "GET /node/zarr.json HTTP/01.1", "GET /node/zarr.json http/1.1", "GET /node/zarr.json HTTP/9.9", "GET /node/zarr.json HTTP/-1.1", "GET /node/zarr.json HTTP/1.1\x00",
		"\x16\x03\x01\x02\x00\x01\x00\x01", "PRI * HTTP/2.0", "\x00\x00\x00", "SSH-2.0-x", "{}", "G\xc3\x89T /node/zarr.json HTTP/1.1", "GET /node/zarr.json\rHTTP/1.1", strings.Repeat("G", 9000) + " / HTTP/1.1",
	} {
		add(fmt.Sprintf("line %.40q", line), line+"\r\n"+end, "2xx 400 405 505 closed")
	}
	for _, header := range []string{
		"X", ": x", " X: y", "X : y", "X\x00: y", "X: \x00", "X: a\rb", "X: \x7f", "X: \xff\xfe", "\xc3\x89: y", "X(): y", "X:\r\n folded", "X:\r\n\tfolded\r\n again", "\r\r\nX: y",
		strings.Repeat("X", 9000) + ": y", "X: " + strings.Repeat("y", 30000), strings.TrimSuffix(strings.Repeat("X: y\r\n", 3000), "\r\n"), "Cookie: " + strings.Repeat("a=b; ", 5000), strings.TrimSuffix(strings.Repeat("Cookie: a=b\r\n", 1500), "\r\n"),
		"Accept: " + strings.Repeat("a/b;q=0.5,", 2500), "Accept-Encoding: " + strings.Repeat("gzip,", 5000), "Accept-Encoding: gzip;q=999999999999", "Authorization: Basic " + strings.Repeat("A", 20000), "Connection: Host", "Connection: close, Range, Authorization",
		"Range: bytes=0-1\r\nrange: bytes=5-6\r\nRANGE: bytes=-1", "Date: never", "Content-Type: multipart/form-data; boundary=" + strings.Repeat("-", 5000), "Expect: 200-ok", "TE: trailers, deflate;q=0.5", "Max-Forwards: -1", "Via: " + strings.Repeat("1.1 x, ", 3000),
	} {
		add(fmt.Sprintf("header %.40q", header), "GET /node/zarr.json HTTP/1.1\r\n"+header+"\r\n"+end, "2xx 400 416 417 431")
	}
	add("bare line feeds", "GET /node/zarr.json HTTP/1.1\nHost: localhost\nConnection: close\n\n", "200 400")
	add("bare returns", "GET /node/zarr.json HTTP/1.1\rHost: localhost\rConnection: close\r\r", "400 closed")
	list[len(list)-1].open = true
	add("empty lines before", "\r\n\r\nGET /node/zarr.json HTTP/1.1\r\n"+end, "200 400")
	add("more than a head may have", "GET /node/zarr.json HTTP/1.1\r\n"+strings.Repeat("X: y\r\n", 20000)+end, "431")
	add("a line that has no end", "GET /"+strings.Repeat("x", 100000), "431 closed")
	for _, cut := range []int{1, 10, 30, 60} {
		list = append(list, attack{name: fmt.Sprintf("the first %d bytes", cut), text: get("/node/zarr.json", "Accept: */*")[:cut], want: "closed 400", open: true})
	}
	list = append(list, attack{name: "nothing", want: "closed", open: true})
	return list
}

// onMethods has methods that nobody serves.
func onMethods() (list []attack) {
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "TRACK", "CONNECT", "PROPFIND", "MKCOL", "COPY", "MOVE", "LOCK", "SEARCH", "QUERY", "get", "Head", "*", "-", strings.Repeat("A", 5000)} {
		for _, path := range []string{"/node/zarr.json", "/@values/node/a", "/@events/node", "/@metrics"} {
			list = append(list, attack{name: "method " + method + " of " + path, text: raw(method, path, "Host: localhost", "X-HTTP-Method-Override: GET"), want: "400 405"})
		}
	}
	return list
}

// onViews asks for views that would cost much, or that nobody can mean.
func onViews() (list []attack) {
	for _, options := range []string{
		"chunks=" + strings.Repeat("1x", 32) + "1", "chunks=" + strings.Repeat("1x", 2400) + "1", "chunks=0", "chunks=-1", "chunks=1", "chunks=1x1", "chunks=9223372036854775807", "chunks=18446744073709551617", "chunks=9223372036854775807x9223372036854775807",
		"chunks=4294967296x4294967296", "chunks=1e9", "chunks=0x10", "chunks=", "chunks=x", "chunks=1x", "chunks=%31", "chunks=1,chunks=2", "chunks=\u0661", "codec=lz4", "codec=", "codec=../gzip", "codec=gzip,codec=none", "codec=GZIP", "codec=" + strings.Repeat("z", 4000),
		"at=", "at=../..", "at=0", "at=" + strings.Repeat("a", 4000), "at=%00", "at=a,at=b", ",", ",,,", "=", "=,=", strings.Repeat("a=b,", 1000), "x", "level=9", "coarsen=", "coarsen=x", "coarsen=x:", "coarsen=x:1", "coarsen=x:0", "coarsen=x:-2", "coarsen=x:2+x:3", "coarsen=x:9223372036854775807", "coarsen=x:99999999999999999999", "coarsen=y:2", "coarsen=0:2", "coarsen=-1:2",
		"coarsen=" + strings.Repeat("x:2+", 1000), "coarsen=x:4294967296,chunks=4294967296", "coarsen=x:2,method=none", "method=mean", "coarsen=x:2,method=", "coarsen=%00:2", "coarsen=../x:2", "chunks=3;codec=gzip", "chunks=3%2ccodec=gzip", "[[[[[[[[", "{}", "chunks=3%0d%0aX: y",
	} {
		for _, path := range []string{"zarr.json", "c/0"} {
			list = append(list, attack{name: fmt.Sprintf("view %.40s of %s", options, path), text: get("/@regular," + options + "/node/a/" + path), want: "200 400 404 410 414"})
		}
	}
	for _, path := range []string{
		"c/-1", "c/00", "c/99999999999999999999", "c/9223372036854775807", "c/0/0", "c/" + strings.Repeat("0/", 1000) + "0", "c/+1", "c/1e1", "c", "c/", "c//0", "0", "0.0", "zarr.json/c/0", "c/0/zarr.json", ".zarray", ".zmetadata",
	} {
		list = append(list, attack{name: "chunk " + path, text: get("/@regular/node/a/" + path), want: "3xx 4xx"}, attack{name: "old chunk " + path, text: get("/@v2/node/a/" + path), want: anyRefusal})
	}
	for _, view := range []string{"@regular", "@v2", "@v3", "@REGULAR", "@regular@v2", "@", "@none", "@regular,chunks=3,codec=none"} {
		list = append(list, attack{name: "view " + view, text: get("/" + view + "/node/../node/zarr.json"), want: "4xx"})
	}
	return list
}

// onValues asks for values that are none, or too many.
func onValues() (list []attack) {
	for _, query := range []string{
		"select=" + strings.Repeat("(", 5000), "select=" + strings.Repeat("0,", 5000), "select=" + strings.Repeat("x=", 5000), "select=x=9223372036854775807", "select=x=-9223372036854775808", "select=x=0:9223372036854775807", "select=x=0:10:0", "select=x=0:10:-1",
		"select=x=1e309..2", "select=x=NaN", "select=x=\u0663", "select=x=%00", "select=x=%ff", "select=%zz", "select=x={" + strings.Repeat("1,", 4000), "select=../secret.txt", "select=x='", "select=;", "select=x=0&select=x=1", "select[]=x", "select=x=" + strings.Repeat("9", 5000),
		"format=exe", "format=", "format=npy&format=raw", "format=../secret.txt", "format=png&range=NaN,1", "format=png&range=1e999,2", "format=png&range=1,1", "format=png&range=,", "format=png&cmap=none", "format=png&cmap=" + strings.Repeat("x", 5000),
		"format=csv&header=2", "decode=maybe", "decode=" + strings.Repeat("1", 5000), "header=1", strings.Repeat("a=b&", 5000), strings.Repeat("&", 9000), strings.Repeat("%41", 5000), "a;b", "callback=alert(1)", "format=json&callback=<script>", "select=x=2999-99-99", "select=x=@0", "select=!x",
	} {
		query = strings.ReplaceAll(query, " ", "+")
		for _, node := range []string{"a", "many"} {
			list = append(list, attack{name: fmt.Sprintf("values of %s %.40s", node, query), text: get("/@values/node/" + node + "?" + query), want: "200 400 406 413 414 431"})
		}
	}
	return append(list,
		attack{name: "all values of a large array", text: get("/@values/node/many"), want: "413"},
		attack{name: "a picture of a large array", text: get("/@values/node/many?format=png"), want: "413"},
		attack{name: "a view of a large array in ones", text: get("/@regular,chunks=1/node/many/c/0"), want: "400"},
		attack{name: "a view of a large array in one", text: get("/@regular,chunks=1000000000000/node/many/c/0"), want: "400"},
		attack{name: "one element of a large array", text: get("/@regular,coarsen=x:1099511627776,method=mean/node/many/c/0"), want: "400 413"},
		attack{name: "a coarse view of a large array", text: get("/@regular,coarsen=x:1048576,chunks=1048576/node/many/c/0"), want: "400 413"},
	)
}

// onTokens asks a server without its token.
func onTokens() (list []attack) {
	for _, header := range []string{
		"X: y", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Bearer x", "Authorization: " + secretToken, "Authorization: Basic " + secretToken, "Authorization: Bearer  " + secretToken, "Authorization: Bearer " + secretToken + "x", "Authorization: Bearer " + secretToken[:5],
		"Authorization: Bearer " + strings.ToUpper(secretToken), "Authorization: Bearer x\r\nAuthorization: Bearer " + secretToken, "Authorization: Bearer " + strings.Repeat("x", 20000), "Authorization: Bearer \x00", "Proxy-Authorization: Bearer " + secretToken,
		"Cookie: varve=" + secretToken, "Cookie: token=" + secretToken, "Cookie: varve-80=" + secretToken, "Cookie: varve=", "Cookie: " + strings.Repeat("varve=x; ", 2000), "Cookie: varve=\"" + secretToken + "\"", "X-Token: " + secretToken, "Token: " + secretToken,
	} {
		list = append(list, attack{name: fmt.Sprintf("token %.60q", header), text: get("/node/zarr.json", header), want: "400 401", token: true})
	}
	for _, path := range []string{
		"/node/zarr.json?token=", "/node/zarr.json?token=x", "/node/zarr.json?Token=" + secretToken, "/node/zarr.json?token=x&token=" + secretToken, "/node/zarr.json;token=" + secretToken, "/@health", "/@metrics", "/@events/node", "/@values/node/a", "/@regular/node/zarr.json", "/", "/node",
		"/%3ftoken=" + secretToken, "/node/zarr.json?token=" + url.QueryEscape(secretToken+"\x00"), "/node/zarr.json?" + strings.Repeat("token=x&", 2000), "/node/.env", "/none",
	} {
		list = append(list, attack{name: fmt.Sprintf("token %.60s", path), text: get(path), want: "401", token: true})
	}
	return append(list,
		attack{name: "the token in the address of another page", text: get("/node/zarr.json?token="+secretToken, "Origin: https://a.example"), want: "401", token: true},
		attack{name: "the token for a page that may not read", text: get("/node/zarr.json", "Origin: https://evil.example", "Authorization: Bearer "+secretToken), want: "403", token: true},
		attack{name: "the token leads to another host", text: get("//evil.example/?token=" + secretToken), want: "303", token: true},
		attack{name: "the token with a line end", text: get("/node/%0d%0aX:y?token=" + secretToken), want: "303", token: true},
		attack{name: "the token under another host", text: raw("GET", "/?token="+secretToken, "Host: evil.example"), want: "421", token: true},
	)
}

// onStreams has clients that go away, and asks for streams that do not end.
func onStreams() (list []attack) {
	for i := range 6 {
		list = append(list,
			attack{name: fmt.Sprintf("events %d", i), text: get("/@events/node"), want: "200", leaves: true},
			attack{name: fmt.Sprintf("events that nobody reads %d", i), text: get("/@events/node"), want: "closed", vanishes: true},
			attack{name: fmt.Sprintf("a step that does not come %d", i), text: get("/node/next-timestep"), want: "closed", vanishes: true},
			attack{name: fmt.Sprintf("a value that nobody reads %d", i), text: get("/node/large/c/0"), want: "closed", vanishes: true},
			attack{name: fmt.Sprintf("half a value %d", i), text: get("/node/large/c/0"), want: "200", leaves: true},
			attack{name: fmt.Sprintf("half a view %d", i), text: get("/@regular,chunks=1000000,codec=none/node/large/c/0"), want: "200", leaves: true},
			attack{name: fmt.Sprintf("values that nobody reads %d", i), text: get("/@values/node/large"), want: "closed", vanishes: true},
			attack{name: fmt.Sprintf("half of the values %d", i), text: get("/@values/node/large"), want: "200", leaves: true},
		)
	}
	for _, path := range []string{"/@events/", "/@events/none", "/@events/node/a", "/@events/node?x=1&y", "/@events/../node", "/@metrics/x", "/@health?x", "/node/current-timestep", "/@health/", "/@metrics?format=x"} {
		if path == "/@events/node?x=1&y" {
			list = append(list, attack{name: path, text: get(path), want: "200", leaves: true})
			continue
		}
		list = append(list, attack{name: path, text: get(path), want: anyRefusal})
	}
	return list
}
