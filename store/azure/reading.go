// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// rangeAtOnce is the number of bytes above which a value is read by several requests.
const rangeAtOnce = 8 << 20

// newPool makes the connections, which reads and writes share.
func newPool(s *Store) *http.Transport {
	return httpstore.NewTransport(s.endpoint, s.options.Reading.PrivateRedirects)
}

// openReads opens the store of the reads.
func (s *Store) openReads() (err error) {
	o := s.options.Reading
	if o.Part == 0 {
		o.Part = rangeAtOnce
	}
	o.Header = nil
	o.Transport = &suffixes{s}
	o.Hooks = httpstore.Hooks{
		Name: s.name, Location: s.at(), Explain: s.explain, SameHost: true,
		Locate: func(key store.Key) *url.URL { return s.url(s.blob(key), nil) },
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

// suffixes is the transport of reads. The service has no ranges from the end, so suffixes
// asks for the size first, and then for the range of that version.
type suffixes struct{ s *Store }

// RoundTrip implements [http.RoundTripper].
func (x *suffixes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(plainKey{}) != nil {
		return x.s.transport.RoundTrip(r)
	}
	var answer *http.Response
	var err error
	if n, ok := suffixOf(r); ok {
		answer, err = x.end(r, n)
	} else {
		answer, err = x.s.transport.RoundTrip(r)
	}
	// Another attempt would be refused too, so the refusal becomes an answer.
	if refusal := driver.UnsentAnswer(r, err); refusal != nil {
		return refusal, nil
	}
	if err != nil {
		return nil, err
	}
	// The page of a proxy would be taken for the value.
	if answer.StatusCode/100 == 2 && !own(answer.Header) {
		defer drain(answer.Body)
		return nil, driver.Permanent(driver.Foreign(answer, serviceName))
	}
	beyond(answer)
	return answer, nil
}

// beyond corrects the answer to a range that begins at the end of a value. Azurite
// sends no bytes and the range of bytes N to N-1 of N, where the service answers with
// status 416.
func beyond(answer *http.Response) {
	var first, last, size int64
	n, _ := fmt.Sscanf(answer.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size)
	if n == 3 && answer.StatusCode == http.StatusPartialContent && first == size && last == size-1 {
		answer.StatusCode = http.StatusRequestedRangeNotSatisfiable
		answer.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
	}
}

// suffixOf returns the number of bytes that a request asks for from the end of a value.
func suffixOf(r *http.Request) (int64, bool) {
	text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// end requests the last n bytes of a value.
func (x *suffixes) end(r *http.Request, n int64) (*http.Response, error) {
	head := r.Clone(r.Context())
	head.Method = http.MethodHead
	head.Header.Del("Range")
	first, err := x.s.transport.RoundTrip(head)
	if err != nil || first.StatusCode != http.StatusOK {
		return first, err
	}
	drain(first.Body)
	get := r.Clone(r.Context())
	get.Header.Set("If-Match", first.Header.Get("ETag"))
	get.Header.Set("Range", fmt.Sprintf("bytes=%d-", max(0, first.ContentLength-n)))
	if first.ContentLength == 0 {
		get.Header.Del("Range") // no range of an empty value is valid
	}
	answer, err := x.s.transport.RoundTrip(get)
	if err == nil && answer.StatusCode == http.StatusPreconditionFailed && r.Header.Get("If-Match") == "" {
		drain(answer.Body)
		return nil, errors.New("the value was replaced between two requests")
	}
	return answer, err
}

// url returns the URL of a blob, or of the container for "".
func (s *Store) url(blob string, q url.Values) *url.URL {
	u := *s.endpoint
	u.RawQuery = q.Encode()
	u.Path += "/" + s.container
	u.RawPath = s.endpoint.EscapedPath() + "/" + s.container
	if blob != "" {
		u.Path += "/" + blob
		for segment := range strings.SplitSeq(blob, "/") {
			u.RawPath += "/" + strings.ReplaceAll(url.PathEscape(segment), "+", "%2B")
		}
	}
	return &u
}

// sees reports whether the credentials of this store may read what other reads.
func (s *Store) sees(other *Store) bool {
	// A shared access signature may be of one container.
	return s.endpoint.String() == other.endpoint.String() && (s.container == other.container || s.options.SAS == "")
}

// sourceTime is how long the service may read the source of a copy.
const sourceTime = time.Hour

// source lets the service read a blob as the source of a request: it signs the URL, or
// returns a header. A copy of a range needs this. A copy of a whole blob with a key or a
// token does not ([Store.copy]).
func (g *signer) source(ctx context.Context, u *url.URL, container, blob string) (http.Header, error) {
	h := http.Header{}
	switch {
	case g.key != nil:
		u.RawQuery = readSignature(g.key, "/blob/"+g.account+"/"+container+"/"+blob, time.Now().Add(sourceTime)).Encode()
	case g.sas != nil:
		u.RawQuery = g.sas.Encode()
	case g.token != nil:
		token, err := g.token.get(ctx)
		if err != nil {
			return nil, err
		}
		if token != "" {
			h.Set("X-Ms-Copy-Source-Authorization", "Bearer "+token)
		}
	}
	return h, nil
}

// readSignature returns the query of a URL that anybody may use to read one blob until a
// time ("Create a service SAS", the form since version 2020-12-06). The blob is named as
// /blob/account/container/name, not escaped.
func readSignature(key []byte, blob string, until time.Time) url.Values {
	q := url.Values{"sp": {"r"}, "se": {until.UTC().Format("2006-01-02T15:04:05Z")}, "sv": {apiVersion}, "sr": {"b"}}
	lines := []string{
		q.Get("sp"), "", q.Get("se"), blob,
		"", "", "", // a policy, addresses and protocols
		q.Get("sv"), q.Get("sr"),
		"", "", // a snapshot and a scope
		"", "", "", "", "", // headers of the answer
	}
	q.Set("sig", signature(key, strings.Join(lines, "\n")))
	return q
}
