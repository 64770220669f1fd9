// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // see digest
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// call is one operation of the API: its name, and the object or prefix it is about.
type call struct {
	name, key string
}

// request is one request of the API.
type request struct {
	call
	method   string
	onBucket bool // the URL names the bucket; else the object with the key of the call
	query    url.Values
	header   http.Header
	data     pieces           // the body
	sending  func(body *body) // called with the reader of each body that is sent; may be nil
}

// do makes attempts of an operation.
func (s *Store) do(ctx context.Context, c call, attempt func(ctx context.Context) error) error {
	err := s.reader.Do(ctx, func(ctx context.Context) error { return s.explain(ctx, c, attempt(ctx)) })
	return s.withPlace(ctx, c, err)
}

// repeat makes attempts of a request until one succeeds. It decodes the answer into to,
// unless that is nil, and returns the answer without its body.
func (s *Store) repeat(ctx context.Context, q request, to any) (answer *http.Response, err error) {
	err = s.do(ctx, q.call, func(ctx context.Context) (err error) {
		answer, err = s.send(ctx, q, to)
		return err
	})
	return answer, err
}

// withPlace returns an error with the place of an operation, if it has none: that of an
// attempt that took too long comes from the reader.
func (s *Store) withPlace(ctx context.Context, c call, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*explained)) {
		return err
	}
	return &explained{s.name(c), err}
}

// callKey is the context key of requests of the API. Others are of the reader.
type callKey struct{}

// send makes one attempt of a request, with those that read: within the same limits, and
// on the same connections. It returns an answer that is a success, without its body.
func (s *Store) send(ctx context.Context, q request, to any) (*http.Response, error) {
	answer, err := s.reader.Send(s.request(context.WithValue(ctx, callKey{}, true), q))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch {
	// The page of a proxy must not be taken for an answer: for a write or a deletion that
	// has succeeded. Some services send the type of a page with an answer to HEAD.
	case driver.IsPage(answer.Header) && (q.method != http.MethodHead || isPageOfObject(answer)):
		return nil, pageOf(answer)
	case answer.StatusCode/100 != 2:
		return nil, failureOf(answer)
	case to != nil:
		return answer, decode(ctx, answer, to)
	}
	discard(answer.Body)
	return answer, nil
}

// request returns the request of one attempt, without a signature.
func (s *Store) request(ctx context.Context, q request) *http.Request {
	u := *s.signer.first.base
	path := u.EscapedPath() + "/"
	u.Path += "/"
	if !q.onBucket {
		u.Path, path = u.Path+q.key, path+(&url.URL{Path: q.key}).EscapedPath()
	}
	u.RawPath, u.RawQuery = path, q.query.Encode()
	r := &http.Request{
		Method: q.method, URL: &u, Host: u.Host, Header: http.Header{"User-Agent": {"varve"}},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
	for name, values := range q.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if n := q.data.size(); n > 0 || q.sending != nil {
		q.setBody(r, n)
	}
	return r.WithContext(ctx)
}

// awaited is the size in bytes above which a body waits for the service to accept the
// headers, so that a request that is refused does not send it.
const awaited = 2 << 20

// setBody gives a request its body of n bytes, and the hash that its signature covers.
func (q *request) setBody(r *http.Request, n int64) {
	r.ContentLength = n
	r.GetBody = func() (io.ReadCloser, error) {
		b := q.data.body()
		if q.sending != nil {
			q.sending(b)
		}
		return io.NopCloser(b), nil
	}
	r.Body, _ = r.GetBody() // it never fails
	if n == 0 {
		r.Body = http.NoBody
	}
	if n > awaited {
		r.Header.Set("Expect", "100-continue")
	}
	if r.Header.Get(hashHeader) == "" {
		r.Header.Set(hashHeader, q.data.hash())
	}
}

// decode reads an answer of XML into a structure with its root as XMLName. Some failures
// have the status of a success.
func decode(ctx context.Context, answer *http.Response, to any) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return driver.Network(ctx, err)
	case err != nil, len(text) > mostAnswer:
		return &failure{status: answer.StatusCode, broken: err != nil, foreign: err == nil}
	}
	value := reflect.ValueOf(to).Elem()
	value.SetZero() // an earlier attempt may have decoded a part
	if err = xml.Unmarshal(text, to); err == nil {
		return nil
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	f := failureOf(answer)
	var syntax *xml.SyntaxError
	// A part of an answer is one that broke off.
	f.broken = errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF")
	if f.foreign = f.code == "" && !f.broken; f.code != "" {
		f.status = statusOf(f.code)
	}
	return f
}

// mostAnswer is the largest size in bytes of an answer of XML. One with 1,000 names of
// 1,024 bytes, each written as "%xx", has some 4 MiB.
const mostAnswer = 64 << 20

// statusOf returns a status for a failure that came with that of a success. The service
// may have acted on the request, unless the code says otherwise.
func statusOf(name string) int {
	switch c, known := codes[name]; {
	case !known, c.kind == passing, c.kind == throttled:
		return http.StatusInternalServerError
	case c.kind == unmet:
		return http.StatusPreconditionFailed
	case c.kind == missing, c.kind == noBucket:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// encode returns a value as XML. The types of this package can always be encoded.
func encode(v any) pieces {
	text, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return pieces{text}
}

// hashHeader has the SHA-256 of a body, which the signature covers.
const hashHeader = "X-Amz-Content-Sha256"

// hash returns the SHA-256 of the bytes, in hexadecimal digits.
func (p pieces) hash() string {
	h := sha256.New()
	for _, b := range p {
		_, _ = h.Write(b) // it never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digest returns the MD5 of the bytes, in base64.
func (p pieces) digest() string {
	h := md5.New() //nolint:gosec // services ask for it
	for _, b := range p {
		_, _ = h.Write(b) // it never fails
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// checksum returns the CRC-32 of the bytes, in base64.
func (p pieces) checksum() string {
	var sum uint32
	for _, b := range p {
		sum = crc32.Update(sum, crc32.IEEETable, b)
	}
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// explain returns an error with the place of an operation.
func (s *Store) explain(ctx context.Context, c call, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*explained)):
		return err
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		return f.retryable(&explained{s.name(c), f})
	}
	if lacking := (*credentialError)(nil); errors.As(err, &lacking) {
		return &explained{s.name(c), lacking}
	}
	return driver.Network(ctx, &explained{s.name(c), err})
}

// explained is an error with the place where it happened.
type explained struct {
	where string
	err   error
}

func (e *explained) Error() string { return e.where + ": " + e.err.Error() }
func (e *explained) Unwrap() error { return e.err }

// name returns the text that begins errors of an operation.
func (s *Store) name(c call) string {
	where := fmt.Sprintf("s3: s3://%s/%s", s.bucket, c.key)
	if s.options.Endpoint != "" {
		where += " at " + driver.Redact(s.options.Endpoint)
	}
	if c.name != "" {
		where += ": " + c.name
	}
	return where
}

// description is what the headers of an answer say of an object.
type description struct {
	tag, id         string // ETag and version ID
	size            int64  // bytes
	mark            string // of the write, see [markName]
	class           string // storage class
	encryption, key string
}

// describe returns what an answer about an object says.
func describe(r *http.Response) *description {
	return &description{
		tag: r.Header.Get("ETag"), id: r.Header.Get(versionHeader), size: r.ContentLength, mark: r.Header.Get(markHeader),
		class: r.Header.Get(classHeader), encryption: r.Header.Get(encryptionHeader), key: r.Header.Get(encryptionKeyHeader),
	}
}

// version returns the version of the object.
func (d *description) version() store.Version { return makeVersion(d.tag, d.id) }

// Headers of objects.
const (
	markHeader          = "X-Amz-Meta-" + markName
	classHeader         = "X-Amz-Storage-Class"
	encryptionHeader    = "X-Amz-Server-Side-Encryption"
	encryptionKeyHeader = "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"
)

// set adds headers that are not empty, given as names and values in turn.
func set(h http.Header, pairs ...string) http.Header {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			h.Set(pairs[i], pairs[i+1])
		}
	}
	return h
}

// values returns the parameters of a query, given as names and values in turn. It leaves
// out values that are empty, but for the first, which names the kind of request.
func values(pairs ...string) url.Values {
	v := url.Values{pairs[0]: {pairs[1]}}
	for i := 2; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}
