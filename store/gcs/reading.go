// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// connect makes the transport, which reads and writes share.
func (s *Store) connect() {
	s.pool = httpstore.NewTransport(s.endpoint, s.options.Reading.PrivateRedirects)
	s.transport = &authorized{s.pool, &tokens{options: s.options}, s.endpoint, s.options.UserProject}
}

// rangeAtOnce is the number of bytes above which a value is read by several requests.
const rangeAtOnce = 8 << 20

// openReads opens the store of the reads.
func (s *Store) openReads() (err error) {
	o := s.options.Reading
	if o.Part == 0 {
		o.Part = rangeAtOnce
	}
	o.Transport, o.Header = &media{s}, nil
	o.Hooks = httpstore.Hooks{
		Name: s.name, Location: s.at(), Explain: s.explain, SameHost: true,
		Locate: func(key store.Key) *url.URL {
			return s.url("/download"+s.objectPath(s.object(key)), url.Values{"alt": {"media"}})
		},
		Version: func(h http.Header) string { return h.Get(generationHeader) },
		Pin: func(r *http.Request, version string) {
			q := r.URL.Query()
			q.Set("ifGenerationMatch", version)
			r.URL.RawQuery = q.Encode()
		},
	}
	// All requests have one policy.
	p := s.options.Retry
	o.Attempts, o.Pause = cmp.Or(o.Attempts, p.Attempts), cmp.Or(o.Pause, p.Pause)
	o.LongestPause, o.Total = cmp.Or(o.LongestPause, p.LongestPause), cmp.Or(o.Total, p.Total)
	s.reads, err = driver.ClientOf(httpstore.Open(s.endpoint.String(), &o))
	return err
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.reads.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return s.reads.Stat(ctx, key)
}

// generationHeader is the header of a download with the generation of the object.
const generationHeader = "X-Goog-Generation"

// media is the transport of reads. The JSON API has no HEAD, so media asks for the
// description of the object instead.
type media struct{ s *Store }

// RoundTrip implements [http.RoundTripper].
func (m *media) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(plainKey{}) != nil {
		return m.s.transport.RoundTrip(r)
	}
	var answer *http.Response
	var err error
	if r.Method == http.MethodHead {
		answer, err = m.describe(r)
	} else {
		answer, err = m.s.transport.RoundTrip(r)
	}
	// Another attempt would be refused too, so the refusal becomes an answer.
	if refusal := driver.UnsentAnswer(r, err); refusal != nil {
		return refusal, nil
	}
	// The page of a proxy would be taken for the value.
	if err == nil && answer.StatusCode/100 == 2 && answer.Header.Get(generationHeader) == "" {
		defer drain(answer.Body)
		return nil, driver.Permanent(driver.Foreign(answer, serviceName))
	}
	return answer, err
}

// describe answers HEAD from the description of an object.
func (m *media) describe(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	q := r.URL.Query()
	q.Del("alt")
	q.Set("fields", described)
	r.Method, r.URL.RawQuery = http.MethodGet, q.Encode()
	r.URL.Path = strings.TrimPrefix(r.URL.Path, m.s.endpoint.Path+"/download")
	r.URL.RawPath = m.s.endpoint.EscapedPath() + strings.TrimPrefix(r.URL.RawPath, m.s.endpoint.EscapedPath()+"/download")
	r.URL.Path = m.s.endpoint.Path + r.URL.Path
	answer, err := m.s.transport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	defer answer.Body.Close()
	var d description
	if err := decode(answer.Body, &d); errors.As(err, new(*strange)) {
		return nil, driver.Permanent(driver.Foreign(answer, serviceName))
	} else if err != nil {
		return nil, err
	}
	m.s.seen.add(d)
	answer.Header.Set(generationHeader, d.Generation)
	answer.Header.Set("Last-Modified", d.Updated.UTC().Format(http.TimeFormat))
	answer.Header.Del("Content-Length")
	answer.Header.Del("Content-Encoding")
	answer.ContentLength, answer.Body, answer.TransferEncoding = d.Size, http.NoBody, nil
	return answer, nil
}

// generation returns the generation that a version is.
func generation(v store.Version) (string, bool) {
	g := v.String()
	return g, g != "" && strings.Trim(g, "0123456789") == ""
}

// described are the fields of an object that a description needs.
const described = "name,generation,size,updated,metadata,kmsKeyName"

// description is what the service says of an object.
type description struct {
	Name       string            `json:"name"`
	Generation string            `json:"generation"`
	Size       int64             `json:"size,string"`
	Updated    time.Time         `json:"updated"`
	Metadata   map[string]string `json:"metadata"`
	KMSKey     string            `json:"kmsKeyName"` // with its version, "" for the service's own keys
}

// key returns the name of the key of an object in the form that writes ask for, which has
// no version.
func (d description) key() string {
	name, _, _ := strings.Cut(d.KMSKey, "/cryptoKeyVersions/")
	return name
}

// mostAnswer is the largest number of bytes of an answer that is not a value. A page of a
// listing has at most 1000 names of at most 1024 bytes.
const mostAnswer = 16 << 20

// decode reads the JSON of an answer to its end, so that the connection can be used
// again.
func decode(body io.Reader, to any) error {
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(body, mostAnswer)); err != nil {
		return err
	}
	if err := json.Unmarshal(text.Bytes(), to); err != nil {
		return &strange{text.Len()}
	}
	return nil
}

// strange is the error of an answer of n bytes that is not JSON, or of a page if n is
// negative.
type strange struct{ n int }

func (e *strange) Error() string {
	if e.n < 0 {
		return driver.PageText + "; check the option endpoint, and proxies"
	}
	return "an answer of " + strconv.Itoa(e.n) + " bytes is not JSON of Google Cloud Storage;" +
		" a proxy may stand in between, or the endpoint is another service"
}

// url returns the URL of a request.
func (s *Store) url(path string, q url.Values) *url.URL {
	u := *s.endpoint
	u.RawQuery = q.Encode()
	u.Path, _ = url.PathUnescape(path) // escape made it, so it is well formed
	u.Path, u.RawPath = s.endpoint.Path+u.Path, s.endpoint.EscapedPath()+path
	return &u
}

// escape returns the name of an object as one segment of a path.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), "+", "%2B") }

// objectPath returns the path of an object in the JSON API.
func (s *Store) objectPath(name string) string {
	return "/storage/v1/b/" + s.bucket + "/o/" + escape(name)
}

// name returns the name of a key for messages.
func (s *Store) name(key store.Key) string {
	return "gcs: bucket " + s.bucket + ": " + s.object(key)
}
