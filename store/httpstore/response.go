package httpstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/store"
)

// describe returns what the headers of an answer tell of a value of size bytes.
//
// The time of its last change is by the server's clock, and so is the date of the answer:
// what lies between them has passed by any clock. Both are rounded to seconds, which
// makes the time come out at most a second too early.
func describe(r *http.Response, size int64) store.Info {
	info := store.Info{Size: size}
	tag, modified := r.Header.Get("ETag"), r.Header.Get("Last-Modified")
	switch {
	case isStrong(tag):
		info.Version = store.MakeVersion(tag)
	case tag != "" || modified != "":
		info.Version = store.MakeVersion(tag + " " + modified)
	}
	last, err := http.ParseTime(modified)
	date, noDate := http.ParseTime(r.Header.Get("Date"))
	if err == nil && noDate == nil {
		info.Modified = time.Now().Add(-max(0, date.Sub(last)))
	}
	return info
}

// isStrong reports whether a tag says that bytes are the same, not only what they mean
// (RFC 9110, section 8.8.1).
func isStrong(tag string) bool { return len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }

// plain refuses an answer that is not the bytes themselves.
func plain(r *http.Response) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return fmt.Errorf("%w: the value comes with the content coding %.20q, which was not asked for", store.ErrUnsupported, coding)
		}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/byteranges") {
		return fmt.Errorf("%w: the range comes in several parts", store.ErrUnsupported)
	}
	return nil
}

// delimited refuses a body that would look the same were it cut: one of HTTP/1 that ends
// when the connection does.
func delimited(r *http.Response) error {
	if r.ContentLength < 0 && r.ProtoMajor < 2 && len(r.TransferEncoding) == 0 {
		return fmt.Errorf("%w: the server does not say how long the value is and ends it by closing the connection,"+
			" so that a value that was cut would look whole; Content-Length or HTTP/1.1 with chunks is needed", store.ErrUnsupported)
	}
	return nil
}

// contentRange is what an answer says that it has: bytes first to last of size. Without
// bytes, last is first-1.
type contentRange struct{ first, last, size int64 }

// parseContentRange reads the header Content-Range (RFC 9110, section 14.4). A size that
// is not known is refused.
func parseContentRange(header string) (contentRange, error) {
	bad := fmt.Errorf("the header Content-Range %.60q makes no sense", header)
	unit, rest, _ := strings.Cut(header, " ")
	span, total, found := strings.Cut(rest, "/")
	if !strings.EqualFold(unit, "bytes") || !found {
		return contentRange{}, bad
	}
	if total == "*" {
		return contentRange{}, fmt.Errorf("%w: the server does not say how long the value is", store.ErrUnsupported)
	}
	size, ok := number(total)
	if !ok {
		return contentRange{}, bad
	}
	if span == "*" {
		return contentRange{0, -1, size}, nil
	}
	a, b, _ := strings.Cut(span, "-")
	first, ok := number(a)
	last, both := number(b)
	if !ok || !both || first > last || last >= size {
		return contentRange{}, bad
	}
	return contentRange{first, last, size}, nil
}

// number reads digits and nothing else.
func number(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// statusError returns the error of an answer that is no value.
func (s *Store) statusError(r *http.Response) error {
	status := fmt.Sprintf("status %d", r.StatusCode)
	if text := http.StatusText(r.StatusCode); text != "" {
		status += " " + text
	}
	switch c := r.StatusCode; {
	case s.missing(c):
		return fmt.Errorf("%s: %w", status, fs.ErrNotExist)
	case c == http.StatusUnauthorized || c == http.StatusProxyAuthRequired:
		return fmt.Errorf("%s: %w (the server wants credentials)", status, fs.ErrPermission)
	case c == http.StatusForbidden:
		return fmt.Errorf("%s: %w (some servers say so where nothing is: Options.Missing believes them)", status, fs.ErrPermission)
	case passes(c):
		return &passing{err: errors.New(status), after: retryAfter(r)}
	}
	return errors.New(status)
}

// passes reports whether a status may be another one soon.
func passes(status int) bool {
	switch status {
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter returns how long the server wants to be left alone, 0 where it does not say.
func retryAfter(r *http.Response) time.Duration {
	text := r.Header.Get("Retry-After")
	if seconds, ok := number(text); ok {
		return time.Duration(min(seconds, int64(time.Hour/time.Second)*24)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// errLonger says that more bytes come than were announced.
var errLonger = errors.New("the body is longer than its headers say")

// atEnd sees that a body has no further byte. Only then can its connection be used again.
func atEnd(body io.Reader) error {
	var b [1]byte
	for range 100 {
		n, err := body.Read(b[:])
		switch {
		case n > 0:
			return errLonger
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
