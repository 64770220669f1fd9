// SPDX-License-Identifier: Apache-2.0

// Package httptable is a table of requests for files, with the answers that RFC 9110
// (HTTP semantics), RFC 9111 (caching) and RFC 9112 (HTTP/1.1) ask for. One test holds
// package serve to it, another one nginx, as a judge of the table. It uses only the
// standard library.
package httptable

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Row is a request and its answer. In its texts, {etag} is the entity tag of the value,
// and {modified} the time of its last change.
type Row struct {
	Name string
	// Method is GET if it is empty, Path is [Value], and Version is HTTP/1.1.
	Method, Path, Version string
	// Headers are lines. A line that begins with Host takes the place of the usual one,
	// and NoHost leaves it out.
	Headers []string
	NoHost  bool
	// Sent is the body of the request.
	Sent string
	// Repeat is how many times the request is sent at once. 0 is once.
	Repeat int

	Status int
	// Want are headers of the answer: "Name: value", "Name" for any value, "!Name" for
	// none. Own are those that only package serve promises.
	Want, Own []string
	// Body is the body of the answer.
	Body Body
	// Dated rows need the date of the value, which chunks of views do not have.
	Dated bool
	// Stored rows are about other keys, or about the connection, so that chunks of views
	// add nothing.
	Stored bool
	// Closes is set if the connection ends with the answer.
	Closes bool

	// Differs says why nginx answers otherwise, and may, and Nginx is its status, or 0 if
	// it does not answer.
	Differs string
	Nginx   int
}

// Body is what a body has to be. The zero value is any.
type Body struct{ spans []span }

// span is a part of the value, without its end.
type span struct{ first, end int }

// Value is the path of the value, which has [Content]. Empty is the path of one without
// bytes, Document that of a document in JSON, and Folder that of their folder.
const (
	Value    = "/n/c/0"
	Empty    = "/n/empty"
	Document = "/n/zarr.json"
	Folder   = "/n"
)

// size is the number of bytes of the value.
const size = 1000

// Content returns the bytes of the value: 250 numbers of 4 bytes, little-endian.
func Content() []byte {
	var b []byte
	for i := range uint32(size / 4) {
		b = binary.LittleEndian.AppendUint32(b, i*2654435761+7)
	}
	return b
}

// Dates that stand for the time of the value, in the usual form and in the two older ones
// (RFC 9110, section 5.6.7), and for times around it.
const (
	modified = "{modified}"
	rfc850   = "{rfc850}"
	asctime  = "{asctime}"
	before   = "{before}"
	after    = "{after}"
)

var (
	whole = Body{[]span{{0, size}}}
	none  = Body{[]span{}}
)

// bytes returns the bodies of ranges, whose ends are not within.
func bytes(bounds ...int) Body {
	var b Body
	for pair := range slices.Chunk(bounds, 2) {
		b.spans = append(b.spans, span{pair[0], pair[1]})
	}
	return b
}

// Rows returns all rows.
func Rows() []Row {
	return slices.Concat(ranges, conditionsOnTags, conditionsOnDates, ifRange, headers, methods, targets, messages, pages)
}

// lines is why nginx differs where a list comes in several lines.
const lines = "it refuses a list in several lines, which RFC 9110, section 5.3, permits"

// kept are the headers of 304 (RFC 9110, section 15.4.5), which has no others of the
// value.
var (
	kept    = []string{"ETag: {etag}", "!Content-Type", "!Content-Range", "!Transfer-Encoding"}
	keptOwn = []string{"Cache-Control: private, no-cache", "Vary: Origin", "!Content-Length"}
)

// conditionsOnTags are rows of RFC 9110, sections 13.1.1, 13.1.2 and 13.2.2.
var conditionsOnTags = []Row{
	{Name: "If-None-Match: the version", Headers: []string{"If-None-Match: {etag}"}, Status: 304, Body: none, Want: kept, Own: keptOwn},
	{Name: "If-None-Match: another one", Headers: []string{`If-None-Match: "x"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: a list that has it", Headers: []string{`If-None-Match: "x", {etag}, "y"`}, Status: 304, Body: none, Want: kept, Own: keptOwn},
	{Name: "If-None-Match: a list without spaces", Headers: []string{`If-None-Match: "x",{etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: a list of others", Headers: []string{`If-None-Match: "x", "y"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: empty elements", Headers: []string{`If-None-Match: , ,{etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: a comma in a tag", Headers: []string{`If-None-Match: "a,b", {etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: two lines", Headers: []string{`If-None-Match: "x"`, "If-None-Match: {etag}"}, Status: 304, Body: none, Differs: lines, Nginx: 400},
	{Name: "If-None-Match: any", Headers: []string{"If-None-Match: *"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match: a weak one", Headers: []string{"If-None-Match: W/{etag}"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match: no quotes", Headers: []string{"If-None-Match: x"}, Status: 200, Body: whole},
	{Name: "If-None-Match: within another tag", Headers: []string{`If-None-Match: "x{etag}"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: nothing", Headers: []string{"If-None-Match:"}, Status: 200, Body: whole},
	{Name: "If-None-Match before If-Modified-Since", Headers: []string{`If-None-Match: "x"`, "If-Modified-Since: " + after}, Status: 200, Body: whole, Dated: true},
	{Name: "If-None-Match although it was modified", Headers: []string{"If-None-Match: {etag}", "If-Modified-Since: " + before}, Status: 304, Body: none, Dated: true,
		Differs: "it wants both conditions to hold", Nginx: 200},
	{Name: "If-None-Match and a range", Headers: append(ask("0-1"), "If-None-Match: {etag}"), Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match of another one and a range", Headers: append(ask("0-1"), `If-None-Match: "x"`), Status: 206, Body: bytes(0, 2)},
	{Name: "If-None-Match of another one and no such range", Headers: append(ask("5000-"), `If-None-Match: "x"`), Status: 416, Want: unsatisfied},
	{Name: "If-None-Match of HEAD", Method: "HEAD", Headers: []string{"If-None-Match: {etag}"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match of HEAD: any", Method: "HEAD", Headers: []string{"If-None-Match: *"}, Status: 304, Body: none},
	{Name: "If-None-Match of HEAD: another one", Method: "HEAD", Headers: []string{`If-None-Match: "x"`}, Status: 200, Body: none, Want: []string{"Content-Length: 1000"}},
	{Name: "If-None-Match of a missing key", Path: "/n/none", Headers: []string{"If-None-Match: *"}, Status: 404, Stored: true},

	{Name: "If-Match: the version", Headers: []string{"If-Match: {etag}"}, Status: 200, Body: whole},
	{Name: "If-Match: another one", Headers: []string{`If-Match: "x"`}, Status: 412},
	{Name: "If-Match: a list that has it", Headers: []string{`If-Match: "x", {etag}`}, Status: 200, Body: whole},
	{Name: "If-Match: a list of others", Headers: []string{`If-Match: "x", "y"`}, Status: 412},
	{Name: "If-Match: two lines", Headers: []string{`If-Match: "x"`, "If-Match: {etag}"}, Status: 200, Body: whole, Differs: lines, Nginx: 400},
	{Name: "If-Match: any", Headers: []string{"If-Match: *"}, Status: 200, Body: whole},
	{Name: "If-Match: a weak one", Headers: []string{"If-Match: W/{etag}"}, Status: 412},
	{Name: "If-Match: no quotes", Headers: []string{"If-Match: x"}, Status: 412},
	{Name: "If-Match and a range", Headers: append(ask("0-1"), "If-Match: {etag}"), Status: 206, Body: bytes(0, 2)},
	{Name: "If-Match of another one and a range", Headers: append(ask("0-1"), `If-Match: "x"`), Status: 412, Want: []string{"!Content-Range"}},
	{Name: "If-Match before If-None-Match", Headers: []string{`If-Match: "x"`, "If-None-Match: {etag}"}, Status: 412},
	{Name: "If-Match and If-None-Match", Headers: []string{"If-Match: {etag}", "If-None-Match: {etag}"}, Status: 304, Body: none},
	{Name: "If-Match of HEAD", Method: "HEAD", Headers: []string{`If-Match: "x"`}, Status: 412, Body: none},
	{Name: "If-Match of a missing key", Path: "/n/none", Headers: []string{`If-Match: "x"`}, Status: 404, Stored: true},
}

// conditionsOnDates are rows of RFC 9110, sections 13.1.3, 13.1.4 and 13.2.2.
var conditionsOnDates = []Row{
	{Name: "Last-Modified", Status: 200, Body: whole, Want: []string{"Last-Modified: " + modified}, Dated: true},
	{Name: "If-Modified-Since: the date", Headers: []string{"If-Modified-Since: " + modified}, Status: 304, Body: none, Want: kept, Own: keptOwn, Dated: true},
	{Name: "If-Modified-Since: later", Headers: []string{"If-Modified-Since: " + after}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since: earlier", Headers: []string{"If-Modified-Since: " + before}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Modified-Since in the form of RFC 850", Headers: []string{"If-Modified-Since: " + rfc850}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since in the form of asctime", Headers: []string{"If-Modified-Since: " + asctime}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since: no date", Headers: []string{"If-Modified-Since: yesterday"}, Status: 200, Body: whole},
	{Name: "If-Modified-Since: nothing", Headers: []string{"If-Modified-Since:"}, Status: 200, Body: whole},
	{Name: "If-Modified-Since of HEAD", Method: "HEAD", Headers: []string{"If-Modified-Since: " + modified}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since and a range", Headers: append(ask("0-1"), "If-Modified-Since: "+modified), Status: 304, Body: none, Dated: true},
	{Name: "If-Unmodified-Since: the date", Headers: []string{"If-Unmodified-Since: " + modified}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Unmodified-Since: later", Headers: []string{"If-Unmodified-Since: " + after}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Unmodified-Since: earlier", Headers: []string{"If-Unmodified-Since: " + before}, Status: 412, Dated: true},
	{Name: "If-Unmodified-Since: no date", Headers: []string{"If-Unmodified-Since: tomorrow"}, Status: 200, Body: whole,
		Differs: "it takes what is no date for an early one", Nginx: 412},
	{Name: "If-Unmodified-Since after If-Match", Headers: []string{"If-Match: {etag}", "If-Unmodified-Since: " + before}, Status: 200, Body: whole, Dated: true,
		Differs: "it wants both conditions to hold", Nginx: 412},
	{Name: "If-Unmodified-Since before If-None-Match", Headers: []string{"If-Unmodified-Since: " + before, "If-None-Match: {etag}"}, Status: 412, Dated: true},
	{Name: "If-Unmodified-Since of HEAD", Method: "HEAD", Headers: []string{"If-Unmodified-Since: " + before}, Status: 412, Body: none, Dated: true},
	{Name: "If-Unmodified-Since and a range", Headers: append(ask("0-1"), "If-Unmodified-Since: "+modified), Status: 206, Body: bytes(0, 2), Dated: true},
}

// ask returns the header Range.
func ask(ranges string) []string { return []string{"Range: bytes=" + ranges} }

// invalid is why servers differ about ranges that are no ranges.
const invalid = "a server may ignore or refuse ranges that are invalid (RFC 9110, section 14.2)"

// unsatisfied are the headers of 416.
var unsatisfied = []string{"Content-Range: bytes */1000"}

// ranges are rows of RFC 9110, section 14.
var ranges = []Row{
	{Name: "no range", Status: 200, Body: whole, Want: []string{"!Content-Range", "Accept-Ranges: bytes"}},
	{Name: "the first byte", Headers: ask("0-0"), Status: 206, Body: bytes(0, 1)},
	{Name: "the last byte", Headers: ask("999-999"), Status: 206, Body: bytes(999, 1000)},
	{Name: "a middle", Headers: ask("100-199"), Status: 206, Body: bytes(100, 200)},
	{Name: "leading zeros", Headers: ask("00100-000199"), Status: 206, Body: bytes(100, 200)},
	{Name: "an open end", Headers: ask("990-"), Status: 206, Body: bytes(990, 1000)},
	{Name: "all as a range", Headers: ask("0-"), Status: 206, Body: bytes(0, 1000)},
	{Name: "an end after that of the value", Headers: ask("990-2000"), Status: 206, Body: bytes(990, 1000)},
	{Name: "an end of 30 digits", Headers: ask("990-" + strings.Repeat("9", 30)), Status: 206, Body: bytes(990, 1000),
		Differs: "it refuses numbers beyond 64 bits", Nginx: 416},
	{Name: "a suffix", Headers: ask("-7"), Status: 206, Body: bytes(993, 1000)},
	{Name: "a suffix of all", Headers: ask("-1000"), Status: 206, Body: bytes(0, 1000)},
	{Name: "a suffix longer than the value", Headers: ask("-1001"), Status: 206, Body: bytes(0, 1000)},
	{Name: "a suffix of 30 digits", Headers: ask("-" + strings.Repeat("9", 30)), Status: 206, Body: bytes(0, 1000),
		Differs: "it refuses numbers beyond 64 bits", Nginx: 416},
	{Name: "a suffix of nothing", Headers: ask("-0"), Status: 416, Want: unsatisfied},
	{Name: "from the end on", Headers: ask("1000-"), Status: 416, Want: unsatisfied},
	{Name: "after the end", Headers: ask("5000-6000"), Status: 416, Want: unsatisfied},
	{Name: "a start of 30 digits", Headers: ask(strings.Repeat("9", 30) + "-"), Status: 416, Want: unsatisfied},
	{Name: "an end before the start", Headers: ask("9-5"), Status: 416, Want: unsatisfied},
	{Name: "no numbers", Headers: ask("-"), Status: 416, Want: unsatisfied},
	{Name: "words", Headers: ask("a-b"), Status: 416, Want: unsatisfied},
	{Name: "a sign", Headers: ask("+1-2"), Status: 416, Want: unsatisfied},
	{Name: "a suffix with a sign", Headers: ask("-+5"), Status: 416, Want: unsatisfied},
	{Name: "two signs", Headers: ask("--5"), Status: 416, Want: unsatisfied},
	{Name: "spaces within a range", Headers: ask("1 - 2"), Status: 416, Want: unsatisfied,
		Differs: "it skips spaces", Nginx: 206},
	{Name: "an empty list", Headers: ask(""), Status: 200, Body: whole},
	{Name: "another unit", Headers: []string{"Range: lines=1-2"}, Status: 200, Body: whole},
	{Name: "no unit", Headers: []string{"Range: 1-2"}, Status: 200, Body: whole},
	{Name: "the unit in capitals", Headers: []string{"Range: BYTES=5-9"}, Status: 206, Body: bytes(5, 10)},
	{Name: "the header in odd letters", Headers: []string{"rAnGe: bytes=5-9"}, Status: 206, Body: bytes(5, 10)},
	{Name: "two ranges", Headers: ask("0-1,997-999"), Status: 206, Body: bytes(0, 2, 997, 1000)},
	{Name: "two ranges with spaces between", Headers: ask("0-1 , 997-"), Status: 206, Body: bytes(0, 2, 997, 1000)},
	{Name: "a range and a suffix", Headers: ask("0-1,-3"), Status: 206, Body: bytes(0, 2, 997, 1000)},
	{Name: "ranges backwards", Headers: ask("500-501,0-1"), Status: 206, Body: bytes(500, 502, 0, 2)},
	{Name: "ranges that overlap", Headers: ask("0-9,5-14"), Status: 206, Body: bytes(0, 10, 5, 15)},
	{Name: "sixteen ranges", Headers: ask(strings.Repeat("1-1,", 15) + "2-2"), Status: 206,
		Body: bytes(append(slicesRepeat(15, 1, 2), 2, 3)...)},
	{Name: "more ranges than are served", Headers: ask(strings.Repeat("1-1,", 16) + "2-2"), Status: 200, Body: whole},
	{Name: "ranges that are more than the value", Headers: ask("0-,0-"), Status: 200, Body: whole},
	{Name: "an empty element between ranges", Headers: ask("0-1,,3-4"), Status: 206, Body: bytes(0, 2, 3, 5),
		Differs: "it does not skip empty elements", Nginx: 416},
	{Name: "one of two ranges is there", Headers: ask("0-1,5000-"), Status: 206, Body: bytes(0, 2)},
	{Name: "none of two ranges is there", Headers: ask("2000-3000,5000-"), Status: 416, Want: unsatisfied},
	{Name: "one of two ranges is invalid", Headers: ask("0-1,9-5"), Status: 416, Want: unsatisfied, Differs: invalid, Nginx: 206},
	{Name: "HEAD with a range", Method: "HEAD", Headers: ask("0-9"), Status: 200, Body: none,
		Want: []string{"Content-Length: 1000", "!Content-Range"}, Differs: "it knows ranges of HEAD, which RFC 9110 does not", Nginx: 206},
	{Name: "HEAD with a range that is not there", Method: "HEAD", Headers: ask("5000-"), Status: 200, Body: none,
		Want: []string{"Content-Length: 1000"}, Differs: "it knows ranges of HEAD, which RFC 9110 does not", Nginx: 416},
	{Name: "all of an empty value", Path: Empty, Status: 200, Body: none, Want: []string{"Content-Length: 0"}, Stored: true},
	{Name: "a suffix of an empty value", Path: Empty, Headers: ask("-5"), Status: 200, Body: none, Stored: true,
		Differs: "a server may ignore ranges"},
	{Name: "a range of an empty value", Path: Empty, Headers: ask("0-0"), Status: 200, Body: none, Stored: true,
		Differs: "a server may ignore ranges"},
	{Name: "a range of a missing key", Path: "/n/none", Headers: ask("0-1"), Status: 404, Want: []string{"!Content-Range"}, Stored: true},
	{Name: "a range of a document", Path: Document, Headers: ask("0-0"), Status: 206, Stored: true},
	{Name: "a part has the headers of the whole", Headers: ask("0-1"), Status: 206,
		Want: []string{"ETag: {etag}", "Content-Length: 2", "Content-Type"}, Own: []string{"Cache-Control: private, no-cache", "Vary: Origin"}},
}

// slicesRepeat returns n pairs of bounds.
func slicesRepeat(n, first, end int) (bounds []int) {
	for range n {
		bounds = append(bounds, first, end)
	}
	return bounds
}

// dateIsWeak is why package serve ignores ranges for the version of a date.
const dateIsWeak = "it takes dates for strong validators; two versions may have one second"

// ifRange are rows of RFC 9110, section 13.1.5.
var ifRange = []Row{
	{Name: "If-Range: the version", Headers: append(ask("1-2"), "If-Range: {etag}"), Status: 206, Body: bytes(1, 3)},
	{Name: "If-Range: another version", Headers: append(ask("1-2"), `If-Range: "x"`), Status: 200, Body: whole},
	{Name: "If-Range: the version as a weak one", Headers: append(ask("1-2"), "If-Range: W/{etag}"), Status: 200, Body: whole},
	{Name: "If-Range: a list", Headers: append(ask("1-2"), `If-Range: "x", {etag}`), Status: 200, Body: whole},
	{Name: "If-Range: any", Headers: append(ask("1-2"), "If-Range: *"), Status: 200, Body: whole},
	{Name: "If-Range: a word", Headers: append(ask("1-2"), "If-Range: yes"), Status: 200, Body: whole},
	{Name: "If-Range: the date", Headers: append(ask("1-2"), "If-Range: "+modified), Status: 200, Body: whole, Dated: true, Differs: dateIsWeak, Nginx: 206},
	{Name: "If-Range: an earlier date", Headers: append(ask("1-2"), "If-Range: "+before), Status: 200, Body: whole, Dated: true},
	{Name: "If-Range: a later date", Headers: append(ask("1-2"), "If-Range: "+after), Status: 200, Body: whole, Dated: true},
	{Name: "If-Range without a range", Headers: []string{"If-Range: {etag}"}, Status: 200, Body: whole},
	{Name: "If-Range: another version, and a range that is not there", Headers: append(ask("5000-"), `If-Range: "x"`), Status: 200, Body: whole},
	{Name: "If-Range: the version, and a range that is not there", Headers: append(ask("5000-"), "If-Range: {etag}"), Status: 416, Want: unsatisfied},
	{Name: "If-Range after If-None-Match", Headers: append(ask("1-2"), "If-Range: {etag}", "If-None-Match: {etag}"), Status: 304, Body: none},
	{Name: "If-Range after If-Match", Headers: append(ask("1-2"), "If-Range: {etag}", `If-Match: "x"`), Status: 412},
}
