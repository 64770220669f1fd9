// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// text is the body of an answer that is text. It is compressed if the client accepts that
// and the first write has many bytes. Stored values and chunks are sent as they are.
type text struct {
	to      http.ResponseWriter
	accepts bool
	begun   bool
	zip     *gzip.Writer // nil if the text is not compressed
}

// leastZipped is the number of bytes from which on compression is worth it. Writers hand
// over more at once, unless the text is shorter.
const leastZipped = 1 << 10

// newText returns the body of the answer to a request. The caller closes it if the text
// is whole.
func newText(w http.ResponseWriter, r *http.Request) *text {
	w.Header().Add("Vary", "Accept-Encoding")
	return &text{to: w, accepts: acceptsGzip(r.Header.Values("Accept-Encoding"))}
}

// Write implements [io.Writer].
func (t *text) Write(p []byte) (int, error) {
	if !t.begun && t.accepts && len(p) >= leastZipped {
		t.to.Header().Set("Content-Encoding", "gzip")
		t.zip = zippers.Get().(*gzip.Writer)
		t.zip.Reset(t.to)
	}
	t.begun = true
	if t.zip != nil {
		return t.zip.Write(p)
	}
	return t.to.Write(p)
}

// Close ends the text. Without it, the client sees that the text is not whole.
func (t *text) Close() error {
	if t.zip == nil {
		return nil
	}
	defer zippers.Put(t.zip)
	return t.zip.Close()
}

// zippers are writers, which have tables of much memory.
var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one
	return w
}}

// acceptsGzip reports whether a client prefers gzip to what is not compressed (RFC 9110,
// section 12.5.3).
func acceptsGzip(headers []string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, weight, weighted := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return !weighted || err == nil && q > 0
	}
	return false
}
