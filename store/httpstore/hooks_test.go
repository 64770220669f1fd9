// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/storetest"
)

// generations is a service whose versions are generations in a header. The ETag is the
// same for all, as that of a service that derives it from something else.
func generations(o *origin, pinned *atomic.Int32) http.Handler {
	var mu sync.Mutex
	seen := map[string]int{}
	return wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.TrimPrefix(r.URL.Query().Get("object"), "!")
		r.URL.Path = "/" + name
		a := record(next, r)
		tag := name + a.Header().Get("ETag")
		if _, found := seen[tag]; !found {
			seen[tag] = len(seen) + 1
		}
		a.Header().Set("X-Generation", fmt.Sprint(seen[tag]))
		a.Header().Set("ETag", `"always"`)
		if want := r.Header.Get("X-If-Generation"); want != "" {
			if pinned.Add(1); want != a.Header().Get("X-Generation") {
				w.WriteHeader(http.StatusPreconditionFailed)
				return
			}
		}
		a.send(w)
	})
}

// TestHooks runs the suite against a service with its own URLs and versions.
func TestHooks(t *testing.T) {
	var pinned atomic.Int32
	o := fixture()
	o.values["v"] = numbered(5000, 0)
	address := serve(t, generations(o, &pinned))
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	options := httpstore.Options{Part: 1000, Hooks: httpstore.Hooks{
		Locate: func(key store.Key) *url.URL {
			u := *base
			u.RawQuery = url.Values{"object": {"!" + key.String()}}.Encode()
			return &u
		},
		Name:     func(key store.Key) string { return "service: bucket b, key " + key.String() },
		Location: "service://b",
		Version:  func(h http.Header) string { return h.Get("X-Generation") },
		Pin:      func(r *http.Request, version string) { r.Header.Set("X-If-Generation", version) },
	}}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, address, options) })
	s := open(t, address, options)
	if store.TraitsOf(s).Place != "service://b" {
		t.Errorf("the place is %q", store.TraitsOf(s).Place)
	}
	if _, _, err := get(t, s, "none", store.Request{}); err == nil || !strings.HasPrefix(err.Error(), "service: bucket b, key none: status 404") {
		t.Errorf("error is %v", err)
	}
	_, first, err := get(t, s, "v", store.Request{})
	if err != nil || pinned.Load() == 0 {
		t.Fatalf("%d requests pinned, error %v", pinned.Load(), err)
	}
	o.put("v", numbered(5000, 1))
	if _, second, err := get(t, s, "v", store.Request{}); err != nil || second.Version == first.Version || second.Version.IsZero() {
		t.Errorf("version %s after %s, error %v", second.Version, first.Version, err)
	}
}

// TestExplain checks that the error of a driver is the error of a request, for every
// method and kind of answer, and that it is repeated if it says so.
func TestExplain(t *testing.T) {
	var status, asked atomic.Int32
	var body atomic.Value
	body.Store("")
	s := open(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("X-Request", "42")
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, body.Load().(string))
	})), httpstore.Options{Attempts: 3, Hooks: httpstore.Hooks{
		Explain: func(r *http.Response) error {
			b, err := io.ReadAll(r.Body)
			if err != nil || len(b) > 64<<10 {
				t.Errorf("%d bytes of a body, error %v", len(b), err)
			}
			if _, err := http.ParseTime(r.Header.Get("Date")); err != nil {
				t.Error(err)
			}
			switch text := string(b[:min(len(b), 10)]); text {
			case "NoSuchKey":
				return fmt.Errorf("no key: %w", fs.ErrNotExist)
			case "Denied":
				return fmt.Errorf("denied (request %s): %w", r.Header.Get("X-Request"), fs.ErrPermission)
			case "Busy":
				return driver.Temporary(errors.New("busy"), 0)
			case "SlowDown":
				return driver.Throttled(errors.New("slow down"), 0)
			case "Elsewhere":
				return errors.New("another region")
			case "xxxxxxxxxx":
				return errors.New("long")
			}
			return nil
		},
	}}).Limited(inflight.New(inflight.Limits{First: 8}))
	for _, c := range []struct {
		status int
		body   string
		want   error
		text   string
		asked  int
	}{
		{400, "NoSuchKey", fs.ErrNotExist, "no key", 1},
		{403, "Denied", fs.ErrPermission, "(request 42)", 1},
		{403, "", fs.ErrPermission, "status 403", 1},
		{404, "", fs.ErrNotExist, "status 404", 1},
		{400, "Busy", errAny, "busy (after 3 attempts)", 3},
		{400, "SlowDown", errAny, "slow down (after 3 attempts)", 3},
		{301, "Elsewhere", errAny, "another region", 1},
		{301, "", errAny, "Location", 1},
		{500, strings.Repeat("x", 1<<20), errAny, "long", 1},
	} {
		asked.Store(0)
		status.Store(int32(c.status))
		body.Store(c.body)
		_, _, err := get(t, s, key, store.Request{})
		if err == nil || c.want != errAny && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || asked.Load() != int32(c.asked) {
			t.Errorf("%d %.20q: error %v after %d requests", c.status, c.body, err, asked.Load())
		}
		if _, err := s.Stat(t.Context(), store.MustKey(key)); err == nil || c.want != errAny && !errors.Is(err, c.want) {
			t.Errorf("%d %.20q: Stat: %v", c.status, c.body, err)
		}
	}
	if n := s.Limiter().Limit(); n >= 8 {
		t.Errorf("the limit is %d", n)
	}
}

// TestSameHost checks that a store whose transport signs follows redirections within its
// host only.
func TestSameHost(t *testing.T) {
	for target, ok := range map[string]bool{"http://one.example/l": true, "https://one.example/l": true, "http://two.example/l": false, "http://one.example:81/l": false} {
		var signed []string
		answers := answers{"http://one.example/k": target, target: "value"}
		s := open(t, "http://one.example", httpstore.Options{Hooks: httpstore.Hooks{SameHost: true}, Transport: tripper(func(r *http.Request) (*http.Response, error) {
			signed = append(signed, r.URL.Host)
			return answers.RoundTrip(r)
		})})
		got, _, err := get(t, s, "k", store.Request{})
		if (err == nil) != ok || ok && string(got) != "value" || !ok && (len(signed) != 1 || !errors.Is(err, store.ErrUnsupported)) {
			t.Errorf("%s: %q, requests to %q, error %v", target, got, signed, err)
		}
	}
}

// TestSend checks a write of a driver: a slow upload is not taken for a stalled one, a
// stalled one ends, and a lost answer is temporary.
func TestSend(t *testing.T) {
	put := func(ctx context.Context, s *httpstore.Store, body io.Reader) error {
		return s.Do(ctx, func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://upload/x", body)
			if err != nil {
				return err
			}
			answer, err := s.Send(r)
			if err != nil {
				return err
			}
			if answer.StatusCode != 201 {
				return s.StatusError(answer)
			}
			_, err = io.ReadAll(answer.Body)
			return errors.Join(err, answer.Body.Close())
		})
	}
	for name, c := range map[string]struct {
		body   io.Reader
		answer int
		text   string
	}{
		"at once": {strings.NewReader("value"), 201, ""},
		"slow":    {&trickle{20, 20 * time.Second, 1}, 201, ""},
		"stalled": {&trickle{20, time.Minute, 1}, 201, "sends nothing"},
		"busy":    {strings.NewReader("value"), 503, "503 Service Unavailable (after 5 attempts)"},
		"refused": {strings.NewReader("value"), 403, "403"},
		"lost":    {strings.NewReader("value"), 0, "lost (after 5 attempts)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, "http://upload", httpstore.Options{Transport: tripper(func(r *http.Request) (*http.Response, error) {
					var got bytes.Buffer
					for b := make([]byte, 8); ; {
						n, err := r.Body.Read(b)
						got.Write(b[:n])
						if r.Context().Err() != nil {
							return nil, r.Context().Err()
						}
						if err != nil {
							break
						}
					}
					if c.answer == 0 {
						return nil, errors.New("lost")
					}
					return &http.Response{StatusCode: c.answer, ProtoMajor: 1, Header: http.Header{}, Body: http.NoBody}, nil
				})})
				err := put(t.Context(), s, c.body)
				if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
