// SPDX-License-Identifier: Apache-2.0

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

// describe returns the Info of a value of size bytes from the headers of an answer.
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
	// Last-Modified and Date are by the server's clock, so their difference is the age of
	// the value. Both are in whole seconds, so the result is at most one second early.
	date, noDate := http.ParseTime(r.Header.Get("Date"))
	if err == nil && noDate == nil {
		info.Modified = time.Now().Add(-max(0, date.Sub(last)))
	}
	return info
}

// isStrong reports whether an ETag guarantees equal bytes, not only equal meaning (RFC
// 9110, section 8.8.1).
func isStrong(tag string) bool { return len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }

// plain returns an error if an answer is not the stored bytes themselves.
func plain(r *http.Response) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return fmt.Errorf("%w: the value comes with the content coding %.20q, which was not requested", store.ErrUnsupported, coding)
		}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/byteranges") {
		return fmt.Errorf("%w: the range comes in several parts", store.ErrUnsupported)
	}
	return nil
}

// delimited returns an error if a truncated body would look complete: in HTTP/1, a body
// without a length ends with the connection.
func delimited(r *http.Response) error {
	if r.ContentLength < 0 && r.ProtoMajor < 2 && len(r.TransferEncoding) == 0 {
		return fmt.Errorf("%w: the server does not send the length of the value but closes the connection at its end,"+
			" so a truncated value would look complete; it must send Content-Length or chunked encoding", store.ErrUnsupported)
	}
	return nil
}

// contentRange is the Content-Range of an answer: bytes first to last, inclusive, of
// size. If there are none, last is first-1.
type contentRange struct{ first, last, size int64 }

// parseContentRange parses the header Content-Range (RFC 9110, section 14.4). An unknown
// size is an error.
func parseContentRange(header string) (contentRange, error) {
	bad := fmt.Errorf("the header Content-Range %.60q is malformed", header)
	unit, rest, _ := strings.Cut(header, " ")
	span, total, found := strings.Cut(rest, "/")
	if !strings.EqualFold(unit, "bytes") || !found {
		return contentRange{}, bad
	}
	if total == "*" {
		return contentRange{}, fmt.Errorf("%w: the server does not send the length of the value", store.ErrUnsupported)
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

// number parses a decimal number without a sign.
func number(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// statusError returns the error for an answer without a value.
func (s *Store) statusError(r *http.Response) error {
	status := fmt.Sprintf("status %d", r.StatusCode)
	if text := http.StatusText(r.StatusCode); text != "" {
		status += " " + text
	}
	switch c := r.StatusCode; {
	case s.missing(c):
		return fmt.Errorf("%s: %w", status, fs.ErrNotExist)
	case c == http.StatusUnauthorized || c == http.StatusProxyAuthRequired:
		return fmt.Errorf("%s: %w (the server requires credentials)", status, fs.ErrPermission)
	case c == http.StatusForbidden:
		return fmt.Errorf("%s: %w (some servers answer this for a missing key: see Options.Missing)", status, fs.ErrPermission)
	case passes(c):
		return &passing{err: errors.New(status), after: retryAfter(r)}
	}
	return errors.New(status)
}

// passes reports whether a later attempt may get another status.
func passes(status int) bool {
	switch status {
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter returns the pause that the server asks for, or 0.
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

// errLonger means that the body is longer than its headers say.
var errLonger = errors.New("the body is longer than its headers say")

// atEnd returns an error if a body has more bytes. Only at its end can the connection be
// used again.
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
