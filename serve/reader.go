// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
)

// reader reads an object in pieces, for [http.ServeContent]. For several ranges that
// leaves a goroutine behind, which may still read when the client has gone.
type reader struct {
	mu     sync.Mutex // of buffer, piece, start and err
	ctx    context.Context
	object store.Object
	size   int64
	last   int64 // the end of what the request asks for
	most   int64 // bytes of a piece
	at     int64
	buffer *budget.Buffer // of piece, nil if the object has all bytes in memory
	piece  []byte
	start  int64 // of piece in the object
	err    error
}

// pieceSize is the number of bytes that are read from the store at once. A piece that was
// just read is still in the cache of the processor when it is written, unless it is long.
// A store that is not near gets longer reads, because each is a request.
const (
	pieceSize    = 256 << 10
	farPieceSize = 1 << 20
)

// complete is an object that has all its bytes in memory, which do not change.
type complete interface{ Bytes() []byte }

// errEnded is the error of a read after the answer.
var errEnded = errors.New("the answer has ended")

// end gives the buffer back, and returns the error of the reads. It waits for a read that
// is under way, which would write to the buffer of another answer. There are no further
// reads.
func (r *reader) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buffer.Put()
	r.buffer, r.piece = nil, nil
	err := r.err
	r.err = errEnded
	return err
}

// load reads the piece that begins at an offset.
func (r *reader) load(at int64) error {
	if w, ok := r.object.(complete); ok {
		r.piece, r.start = w.Bytes(), 0
		return nil
	}
	end := r.last
	if at >= end {
		end = r.size // of a range that spanOf did not see
	}
	n := min(r.most, end-at)
	if r.buffer == nil || int64(cap(r.buffer.B)) < n {
		r.buffer.Put()
		r.buffer = budget.Get(n)
	}
	ctx, cancel := patient(r.ctx)
	defer cancel()
	data, err := r.object.Read(ctx, store.Request{Range: store.Span(at, n), Limit: n}, r.buffer.B[:0])
	if err != nil {
		r.piece = nil
		return err
	}
	r.piece, r.start = data, at
	return nil
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.piece[r.at-r.start:])
	r.at += int64(n)
	return n, nil
}

// writeTo writes n bytes from the present place on, from the buffer itself.
func (r *reader) writeTo(w io.Writer, n int64) (written int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n > 0 {
		if err := r.fill(); err != nil {
			return written, err
		}
		rest := r.piece[r.at-r.start:]
		k, err := w.Write(rest[:min(int64(len(rest)), n)])
		r.at, n, written = r.at+int64(k), n-int64(k), written+int64(k)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// fill reads the piece at the present place unless the buffer has it.
func (r *reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.at >= r.size {
		return io.EOF
	}
	if r.at < r.start || r.at >= r.start+int64(len(r.piece)) {
		if r.err = r.load(r.at); r.err == nil && len(r.piece) == 0 {
			r.err = io.ErrUnexpectedEOF
		}
	}
	return r.err
}

// Seek implements [io.Seeker].
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("a place before the value")
	}
	r.at = offset
	return offset, nil
}

// mostRanges is the number of ranges that one request may have.
const mostRanges = 16

// rangesOf returns the header Range for net/http, with ranges that end within the value.
// Package net/http differs from RFC 9110: it refuses units that it does not know and
// numbers of many digits, it does not know BYTES, it takes signs and spaces within a
// range, it answers a request for the last 0 bytes with a range that ends before it
// begins, and it does not tell the size to a client whose ranges are invalid.
func rangesOf(header string, size int64) string {
	unit, list, _ := strings.Cut(header, "=")
	if !strings.EqualFold(unit, "bytes") || strings.Count(list, ",") >= mostRanges {
		return ""
	}
	var ranges []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.Trim(one, " \t"); one == "" {
			continue
		}
		first, end, ok := parseRange(one, size)
		switch {
		case !ok:
			return fmt.Sprintf("bytes=%d-", size) // none is served
		case first >= end:
			ranges = append(ranges, fmt.Sprintf("%d-", size))
		default:
			ranges = append(ranges, fmt.Sprintf("%d-%d", first, end-1))
		}
	}
	if ranges == nil {
		return ""
	}
	return "bytes=" + strings.Join(ranges, ",")
}

// parseRange returns the bytes of a range within a value, from first to before end. There
// are none if the range is not satisfiable.
func parseRange(text string, size int64) (first, end int64, ok bool) {
	from, to, ok := strings.Cut(text, "-")
	if !ok || from+to == "" || strings.Trim(from+to, "0123456789") != "" {
		return 0, 0, false
	}
	low, high := number(from), number(to)
	switch {
	case from == "":
		return size - min(high, size), size, true
	case to == "":
		return low, size, true
	}
	return low, min(high, size-1) + 1, low <= high
}

// number returns a number of digits. All beyond 64 bits are the same here.
func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// spanOf returns the bytes that the first range of a header selects, up to the end of the
// value if there are more ranges: all without a header, none if it is not understood. It
// tells only what to read first; [http.ServeContent] interprets the header.
func spanOf(header string, size int64) (first, end int64) {
	if header == "" {
		return 0, size
	}
	one, _, several := strings.Cut(strings.TrimPrefix(header, "bytes="), ",")
	from, to, _ := strings.Cut(strings.TrimSpace(one), "-")
	n, err := strconv.ParseInt(cmp.Or(from, to), 10, 64)
	switch {
	case err != nil || n < 0:
		return size, size
	case from == "":
		return max(size-n, 0), size
	}
	last, err := strconv.ParseInt(to, 10, 64)
	if err != nil || several || last >= size {
		last = size - 1
	}
	return n, last + 1
}
