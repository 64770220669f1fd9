// SPDX-License-Identifier: Apache-2.0

package httptable

import "strings"

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
