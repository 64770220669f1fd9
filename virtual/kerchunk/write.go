// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"encoding/base64"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/strictjson"
)

const (
	opening = `{"version":1,"refs":{`
	closing = "}}\n"
)

// Append appends the references as a document of version 1.
func (r *References) Append(dst []byte) []byte {
	dst = append(dst, opening...)
	for i, e := range r.list {
		dst = e.append(dst, i > 0)
	}
	return append(dst, closing...)
}

// WriteTo implements [io.WriterTo]. It writes what [References.Append] appends.
func (r *References) WriteTo(w io.Writer) (written int64, err error) {
	flush := func(b []byte) []byte {
		n := 0
		if err == nil {
			n, err = w.Write(b)
			written += int64(n)
		}
		return b[:0]
	}
	const most = 64 << 10
	b := append(make([]byte, 0, most), opening...)
	for i, e := range r.list {
		if b = e.append(b, i > 0); len(b) >= most/2 {
			b = flush(b)
		}
		if err != nil {
			return written, err
		}
	}
	flush(append(b, closing...))
	return written, err
}

// append appends a member, after a comma if it is not the first.
func (e entry) append(b []byte, comma bool) []byte {
	if comma {
		b = append(b, ',')
	}
	b = append(strictjson.AppendQuote(append(b, '\n'), e.key), ':')
	switch {
	case e.length == inline && isText(e.text):
		return strictjson.AppendQuote(b, e.text)
	case e.length == inline:
		b = base64.StdEncoding.AppendEncode(append(append(b, '"'), encoded...), []byte(e.text))
		return append(b, '"')
	}
	b = strictjson.AppendQuote(append(b, '['), e.text)
	if e.length != Whole {
		b = strconv.AppendInt(append(b, ','), e.offset, 10)
		b = strconv.AppendInt(append(b, ','), e.length, 10)
	}
	return append(b, ']')
}

// isText reports whether a value can be written as it is.
func isText(s string) bool {
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }
	return utf8.ValidString(s) && !strings.HasPrefix(s, encoded) && !strings.ContainsFunc(s, control)
}
