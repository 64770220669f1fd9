// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/httpstore"
)

// ends calls an operation, and fails the test if it does not end.
func ends(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal(what + " does not end")
		return nil
	}
}

// TestStalled calls a service that takes requests and never answers. No call waits for
// ever.
func TestStalled(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	reading := httpstore.Options{Stall: 50 * time.Millisecond}
	s, err := gcs.Open("bucket", "", &gcs.Options{Endpoint: endpoint, Anonymous: true, Retry: quick, Reading: reading})
	if err != nil {
		t.Fatal(err)
	}
	ctx, key := t.Context(), store.MustKey("k")
	if _, err := s.Write(ctx, store.Put(key, []byte("value")), store.Sync); err != nil {
		t.Fatal(err)
	}
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
		<-r.Context().Done()
		return w, true
	})
	for what, call := range map[string]func() error{
		"Put":   func() error { _, err := s.Write(ctx, store.Put(key, nil), store.Sync); return err },
		"PutIf": func() error { _, err := s.Write(ctx, store.PutIf(key, nil, store.IfAbsent()), store.Sync); return err },
		"Delete": func() error {
			_, err := s.Write(ctx, store.Delete(key), store.Sync)
			return err
		},
		"Clone": func() error {
			_, err := s.Write(ctx, store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync)
			return err
		},
		"List": func() error {
			for _, err := range s.List(ctx, store.Path{}, store.Deep) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := ends(t, what, call); err == nil || !strings.Contains(err.Error(), "Options.Stall") || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	// The session begins; then neither a piece nor the end of the session is answered.
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if !strings.HasPrefix(r.URL.Path, "/upload/session/") {
			return w, false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return w, true
	})
	err = ends(t, "a large Put", func() error {
		_, err := s.Write(ctx, store.Put(key, large(16<<20+1)), store.Sync)
		return err
	})
	if err == nil {
		t.Error("a large Put that was not answered has no error")
	}
}

// silent is a source of tokens that does not answer.
type silent struct {
	asked chan struct{}
	end   chan struct{}
}

func (s *silent) Token() (*oauth2.Token, error) {
	s.asked <- struct{}{}
	<-s.end
	return nil, errors.New("too late")
}

// TestSilentCredentials cancels requests that wait for a token. Each ends with its own
// context, and they ask for the token once.
func TestSilentCredentials(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	source := &silent{make(chan struct{}, 10), make(chan struct{})}
	defer close(source.end)
	s, err := gcs.Open("bucket", "", &gcs.Options{Endpoint: endpoint, Retry: quick, Credentials: source})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		err := ends(t, "Put", func() error {
			_, err := s.Write(ctx, store.Put(store.MustKey("k"), nil), store.Sync)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
	if n := len(source.asked); n != 1 {
		t.Errorf("the source was asked %d times, want once", n)
	}
}
