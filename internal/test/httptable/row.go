// SPDX-License-Identifier: Apache-2.0

// Package httptable is a table of requests for files, with the answers that RFC 9110
// (HTTP semantics), RFC 9111 (caching) and RFC 9112 (HTTP/1.1) ask for. One test holds
// package serve to it, another one nginx, as a judge of the table. It uses only the
// standard library.
package httptable

import (
	"encoding/binary"
	"slices"
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
