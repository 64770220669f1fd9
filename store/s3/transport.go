// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"varve.dev/zarr/internal/driver"
)

// signer signs requests, and sends them to the region of the bucket.
type signer struct {
	v       *service
	v4      *v4.Signer
	creds   aws.CredentialsProvider // nil if all requests are unsigned
	known   atomic.Bool             // credentials were found at least once
	unknown atomic.Pointer[error]   // why none were found, or nil
	first   *place                  // of the URLs that the reader makes
	current atomic.Pointer[place]
}

func newSigner(v *service, creds aws.CredentialsProvider, where *place) *signer {
	s := &signer{v: v, creds: creds, first: where}
	if v.options.Anonymous || aws.IsCredentialsProvider(creds, aws.AnonymousCredentials{}) {
		s.creds = nil
	}
	s.v4 = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	s.current.Store(where)
	return s
}

func (s *signer) place() *place { return s.current.Load() }

// move replaces the place of the bucket, unless another request has done so already.
func (s *signer) move(from, to *place) { s.current.CompareAndSwap(from, to) }

// lacking returns why there are no credentials, or nil if they were found, were not
// needed yet, or are not wanted.
func (s *signer) lacking() error {
	cause := s.unknown.Load()
	if cause == nil || s.known.Load() {
		return nil
	}
	return *cause
}

// retrieve returns the credentials, or those of nobody if requests are unsigned.
func (s *signer) retrieve(ctx context.Context) (aws.Credentials, error) {
	if s.creds == nil {
		return aws.Credentials{}, nil
	}
	creds, err := s.creds.Retrieve(ctx)
	switch {
	case err == nil:
		s.known.Store(true)
	case ctx.Err() != nil:
		return creds, ctx.Err()
	case s.known.Load():
		err = &credentialError{driver.Temporary(fmt.Errorf("renewing the credentials: %w", bare(err)), 0)}
	case silent(err):
		err = &credentialError{driver.TimedOut(noCredentials(err))}
	default:
		err = noCredentials(err)
	}
	return creds, err
}

// RoundTrip implements [http.RoundTripper]. If the answer names another region, it sends
// the request there, once.
func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	where := s.place()
	answer, err := s.send(r, where)
	if err != nil {
		return nil, err
	}
	if next := s.v.movedTo(answer.StatusCode, answer.Header, where); next != nil {
		discard(answer.Body)
		if r.GetBody != nil { // the body was read
			r = r.Clone(r.Context())
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		if answer, err = s.send(r, next); err != nil {
			return nil, err
		}
	}
	if isCall(r) {
		return answer, nil
	}
	if answer.StatusCode == http.StatusNotFound && r.Method == http.MethodHead && driver.IsPage(answer.Header) {
		discard(answer.Body)
		if answer, err = s.again(r); err != nil {
			return nil, err
		}
	}
	if isPageOfObject(answer) {
		defer answer.Body.Close()
		return nil, driver.Permanent(pageOf(answer))
	}
	s.v.versioned.learn(answer)
	return answer, nil
}

// isCall reports whether a request is one of the API, and not of the reader.
func isCall(r *http.Request) bool { return r.Context().Value(callKey{}) != nil }

// again asks by GET what an answer to HEAD leaves open: whether the service says that
// there is no object, or the page of a proxy. Only a body tells them apart.
func (s *signer) again(r *http.Request) (*http.Response, error) {
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	get.Header.Set("Range", "bytes=0-0")
	return s.send(get, s.place())
}

// CloseIdleConnections closes the connections of the transport below.
func (s *signer) CloseIdleConnections() { s.v.transport.CloseIdleConnections() }

// send signs a request and sends it to a place.
func (s *signer) send(r *http.Request, where *place) (*http.Response, error) {
	signed := r.Clone(r.Context())
	u := signed.URL
	if where != s.first {
		u.Scheme, u.Host = where.base.Scheme, where.base.Host
		signed.Host = u.Host
	}
	u.RawPath = escape(u.EscapedPath())
	if s.v.options.RequesterPays {
		signed.Header.Set("X-Amz-Request-Payer", "requester")
	}
	for name, values := range s.v.options.Header {
		signed.Header[http.CanonicalHeaderKey(name)] = values
	}
	if err := s.sign(signed, where); err != nil {
		return nil, err
	}
	return s.v.transport.RoundTrip(signed)
}

// emptyHash is the SHA-256 of no bytes.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign adds the signature to a request.
func (s *signer) sign(r *http.Request, where *place) error {
	if s.creds == nil || !isCall(r) && s.lacking() != nil {
		return nil
	}
	creds, err := s.retrieve(r.Context())
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		return r.Context().Err()
	case isCall(r): // which is never sent unsigned for lack of credentials
		return driver.Permanent(err)
	// Unsigned requests would be refused, which may look like missing objects.
	case driver.IsTemporary(err):
		return err
	case s.known.Load() || s.v.options.Credentials != nil:
		return driver.Temporary(err, 0)
	case s.v.signs:
		return driver.Permanent(err) // the chain has looked everywhere, and not only once
	default:
		// Public buckets can be read without credentials.
		s.unknown.CompareAndSwap(nil, &err)
		return nil
	}
	hash := cmp.Or(r.Header.Get(hashHeader), emptyHash)
	r.Header.Set(hashHeader, hash)
	// Some services and proxies change this header, so it is not signed.
	coding := r.Header["Accept-Encoding"]
	delete(r.Header, "Accept-Encoding")
	err = s.v4.SignHTTP(r.Context(), creds, r, hash, s.v.signingName(), where.region, time.Now())
	if coding != nil {
		r.Header["Accept-Encoding"] = coding
	}
	return err
}

// escape returns an escaped path in the form of which signatures are made: Amazon escapes
// every byte but letters, digits and "-._~/". Package url leaves some others.
func escape(path string) string {
	const left = "$&+,:;=@!*'()"
	if !strings.ContainsAny(path, left) {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; strings.IndexByte(left, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mostDiscarded is the largest number of bytes to read of an unwanted answer, so that its
// connection can be used again.
const mostDiscarded = 64 << 10

// discard reads and closes the body of an unwanted answer.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, mostDiscarded)
	_ = body.Close()
}
