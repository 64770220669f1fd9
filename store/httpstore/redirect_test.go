// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// TestPrivateRedirects checks that a redirection from a loopback address to another
// service there is followed only if the caller permits it, with any transport.
func TestPrivateRedirects(t *testing.T) {
	other := serve(t, fixture())
	base := serve(t, wrap(fixture(), redirect(other+"/"+key)))
	for _, transport := range []http.RoundTripper{nil, &http.Transport{DisableKeepAlives: true}} {
		opt := httpstore.Options{Attempts: 1, Transport: transport}
		_, _, err := get(t, open(t, base, opt), key, store.Request{})
		if err == nil || !strings.Contains(err.Error(), "Options.PrivateRedirects") || strings.Contains(err.Error(), "attempts") {
			t.Errorf("a redirection to another port of this machine: %v", err)
		}
		opt.PrivateRedirects = true
		if _, _, err := get(t, open(t, base, opt), key, store.Request{}); err != nil {
			t.Errorf("a redirection that is allowed: %v", err)
		}
	}
}

// answers replies to requests by their URLs. If the text is a URL, it answers a
// redirection.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	text, found := a[r.URL.String()]
	if !found {
		return nil, errors.New("not asked for: " + r.URL.String())
	}
	w := &http.Response{StatusCode: 200, ProtoMajor: 1, Header: http.Header{}, Request: r}
	if strings.Contains(text, "://") {
		w.StatusCode, text = 302, ""
		w.Header.Set("Location", a[r.URL.String()])
	}
	w.ContentLength, w.Body = int64(len(text)), io.NopCloser(strings.NewReader(text))
	return w, nil
}

// TestDowngrade checks that no redirection, first or later, from https to http is
// followed, and that one from http to https is followed.
func TestDowngrade(t *testing.T) {
	for base, answers := range map[string]answers{
		"https://safe.example":  {"https://safe.example/k": "http://plain.example/k", "http://plain.example/k": "value"},
		"https://same.example":  {"https://same.example/k": "http://same.example/k", "http://same.example/k": "value"},
		"http://second.example": {"http://second.example/k": "https://second.example/k", "https://second.example/k": "http://second.example/l", "http://second.example/l": "value"},
	} {
		got, _, err := get(t, open(t, base, httpstore.Options{Transport: answers}), "k", store.Request{})
		if !errors.Is(err, store.ErrUnsupported) || got != nil {
			t.Errorf("%s: %q, error %v", base, got, err)
		}
	}
	up := answers{"http://up.example/k": "https://up.example/k", "https://up.example/k": "value"}
	if got, _, err := get(t, open(t, "http://up.example", httpstore.Options{Transport: up}), "k", store.Request{}); string(got) != "value" || err != nil {
		t.Errorf("from http to https: %q, error %v", got, err)
	}
}
