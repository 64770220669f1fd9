// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer describes a request that was answered.
type Answer struct {
	Method string
	Path   string // of the address, without the query, which may have had the token
	// Kind is the name of a node, or @NAME for an address of the server itself. It is
	// empty for the list of nodes, and if nothing of that name is served.
	Kind     string
	Remote   string // the address of the client
	Status   int
	Bytes    int64 // of the body
	Duration time.Duration
}

// response counts what is answered, and breaks the connection of a client that takes too
// little of it.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64

	stall   time.Duration // for leastTaken bytes
	streams bool          // the connection has several (HTTP/2)
	taken   int64         // bytes since the time was last renewed
	waited  time.Duration // that writes have taken since then
	end     time.Time     // after it nothing is written; zero if there is no end
	set     time.Time     // the deadline of the connection, zero if it is not known
}

// leastTaken is the number of bytes that a client must take within [Options.Stall].
const leastTaken = 64 << 10

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (n int, err error) {
	for {
		part := p[n:min(len(p), n+leastTaken)]
		m, err := w.write(part)
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// write writes at most leastTaken bytes. The time between two writes is not that of the
// client, and does not count.
func (w *response) write(p []byte) (int, error) {
	begun := time.Now()
	w.limit(begun)
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	w.taken += int64(n)
	w.waited += time.Since(begun)
	if w.taken >= leastTaken {
		w.taken, w.waited = 0, 0
	}
	if err == nil && w.stall > 0 && w.streams {
		// A deadline would end a stream of HTTP/2 also between two writes.
		w.setDeadline(w.end)
	}
	return n, err
}

// limit sets the time until which the client has to take what is written next. Package
// net/http writes the last bytes after the handler.
func (w *response) limit(now time.Time) {
	until := w.end
	if w.stall > 0 {
		if until = now.Add(w.stall - w.waited); !w.end.IsZero() && w.end.Before(until) {
			until = w.end
		}
	}
	// A deadline costs about as much as the headers of a short answer, so one that
	// differs little stays.
	if difference := until.Sub(w.set); !until.IsZero() && (difference < 0 || difference > w.stall/32) {
		w.setDeadline(until)
	}
}

func (w *response) setDeadline(t time.Time) {
	// Writers of tests have no deadlines.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
	w.set = t
}

// ReadFrom implements [io.ReaderFrom]. [http.ServeContent] copies a value with it.
func (w *response) ReadFrom(from io.Reader) (n int64, err error) {
	if limited, ok := from.(*io.LimitedReader); ok {
		if value, is := limited.R.(*reader); is {
			n, err = value.writeTo(w, limited.N)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{w}, from)
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// kindOf returns [Answer.Kind].
func (h *Handler) kindOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if h.nodes[name] != nil {
		return name
	}
	name, _, _ = strings.Cut(name, ",") // settings follow
	if own, is := strings.CutPrefix(name, "@"); is && (h.own[name] != nil || slices.Contains(reserved, own)) {
		return name
	}
	return ""
}
