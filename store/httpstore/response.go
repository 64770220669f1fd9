// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// describe returns the Info of a value of size bytes from the headers of an answer.
func (s *web) describe(r *http.Response, size int64) store.Info {
	info := store.Info{Size: size}
	modified := r.Header.Get("Last-Modified")
	if version, _ := s.version(r.Header); version != "" {
		info.Version = store.MakeVersion(version)
	}
	if last, err := http.ParseTime(modified); err == nil {
		info.Modified = s.Local(r.Header)(last)
	}
	return info
}

// version returns the text of the version of a value, and whether it guarantees equal
// bytes.
func (s *web) version(h http.Header) (text string, strong bool) {
	if s.options.Version != nil {
		text = s.options.Version(h)
		return text, text != ""
	}
	tag, modified := h.Get("ETag"), h.Get("Last-Modified")
	switch {
	case isStrong(tag):
		return tag, true
	// A weak ETag may stay the same when bytes change, so the time is added to it.
	case tag != "" || modified != "":
		return "W/" + strings.TrimPrefix(tag, "W/") + " " + modified, false // see Version.IsWeak
	}
	return "", false
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
	// The answer 416 has this form.
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

// mostExplained is the largest number of bytes of an error's body to read.
const mostExplained = 64 << 10

// explain returns the error of Hooks.Explain, or nil.
func (s *web) explain(r *http.Response) error {
	if s.options.Explain == nil {
		return nil
	}
	c := *r
	c.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r.Body, mostExplained), r.Body}
	return s.options.Explain(&c)
}

// statusError returns the error for an answer without a value. It closes the body.
func (s *web) statusError(r *http.Response) error {
	defer drain(r.Body)
	if err := s.explain(r); err != nil {
		return err
	}
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
		return fmt.Errorf("%s: %w (some servers answer this for a missing key: see "+remedy.Missing+")", status, fs.ErrPermission)
	case c == http.StatusGone:
		return fmt.Errorf("%s: the array is no longer what it was when it was opened; open it again", status)
	// A server that says when to come back is busy. Without that, 503 may mean a restart.
	case c == http.StatusTooManyRequests, c == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "":
		return driver.Throttled(errors.New(status), driver.RetryAfter(r.Header))
	case passes(c):
		return driver.Temporary(errors.New(status), driver.RetryAfter(r.Header))
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

// errLonger means that the body is longer than its headers say.
var errLonger = errors.New("the body is longer than its headers say")

// atEnd returns an error if a body has more bytes. Only at its end can the connection be
// used again.
func atEnd(body io.Reader) error {
	var b [1]byte
	// Do not wait forever for a reader that returns neither bytes nor an error.
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

// These functions read what the answers of services have in common. They are for drivers,
// in [Hooks.Explain] and for their own requests.

// unanswered is the error of a request without a whole answer. It names the host, because
// errors of connections show addresses at most.
type unanswered struct {
	method string // "" if it is not known
	host   string
	err    error
	advice string
}

func (u *unanswered) Error() string {
	text := "host " + u.host + ": " + u.err.Error() + "; " + u.advice
	if u.method != "" {
		text = u.method + " to " + text
	}
	return text
}

func (u *unanswered) Unwrap() error { return u.err }

// lost is [driver.Network] for errors of the store's own too. It adds what was asked of
// which host, and what to do.
func (s *web) lost(ctx context.Context, method, host string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && (errors.Is(err, errLonger) || errors.Is(err, errPrivate)):
		// The server would send the same body, or redirection, again.
		var u *url.Error
		if errors.As(err, &u) {
			return u.Err
		}
		return err
	case driver.IsTemporary(err):
		return driver.Network(ctx, err) // a transport has explained it
	}
	advice := networkAdvice(err)
	if err = driver.Network(ctx, err); advice == "" || ctx.Err() != nil {
		return err
	}
	return &unanswered{method, host, err, advice}
}

// networkAdvice says what to do about an error of a connection. It returns "" for other
// errors.
func networkAdvice(err error) string {
	var (
		dns       *net.DNSError
		verify    *tls.CertificateVerificationError
		unknown   x509.UnknownAuthorityError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		operation *net.OpError
		network   net.Error
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "check the name of the host, which the location or its option endpoint gives, and the network"
	case errors.As(err, &dns):
		return "the name server does not answer; check the network"
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &hostname):
		return "the certificate of the server is not trusted; check the endpoint, and add the authority of a private service or proxy to those of the system (SSL_CERT_FILE)"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "the server does not speak TLS at this port; check the endpoint, which may begin with http://"
	case errors.As(err, &operation) && operation.Op == "remote error":
		return "the server refuses this TLS connection; check the endpoint and proxies"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there; check the endpoint and its port, and whether the service runs"
	case errors.As(err, &network) && network.Timeout():
		return "the host does not answer; check the network, firewalls and proxies, and try again"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was cut; check the network and proxies, and try again"
	case errors.As(err, &operation):
		return "check the network and the endpoint"
	}
	return ""
}
