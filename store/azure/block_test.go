// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
	"varve.dev/zarr/store/observed"
)

// assembled are parts of a large value and what they make: ranges that the service
// copies, short ones, and new bytes.
func assembled(large store.Key, v store.Version, value []byte) (parts []store.Part, want []byte) {
	add := func(off, n int64) {
		parts = append(parts, store.Part{Key: large, Version: v, Off: off, N: n})
		want = append(want, value[off:off+n]...)
	}
	add(5, 9<<20)
	add(5+9<<20, 3<<20) // continues the first
	parts, want = append(parts, store.Part{Data: []byte("new")}), append(want, "new"...)
	add(7, 100)
	add(0, 0)
	add(1<<20, 17<<20)
	add(3, 1)
	return parts, want
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

// TestCopiedBlocks assembles a value of which the service copies the long ranges, with
// each kind of credentials. The program reads only what is short.
func TestCopiedBlocks(t *testing.T) {
	for what, opt := range map[string]*azure.Options{
		"key": {Key: azuretest.Key}, "SAS": {SAS: "sv=1&sig=secret"}, "token": {Credential: new(fake.TokenCredential)},
	} {
		t.Run(what, func(t *testing.T) {
			f, endpoint := azuretest.Serve(t)
			opt.Endpoint, opt.Retry = endpoint, quick
			s, err := azure.Open("acme", "box", "a b+%20", opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			value, key := randomBytes(30<<20), store.MustKey("large")
			v, err := s.Write(t.Context(), store.Put(key, value), store.Sync)
			if err != nil {
				t.Fatal(err)
			}
			var copied, read atomic.Int64
			f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
				switch {
				case r.Header.Get("X-Ms-Copy-Source") != "":
					copied.Add(1)
				case r.Method == http.MethodGet:
					read.Add(1)
				}
				return w, false
			})
			parts, want := assembled(key, v.Version, value)
			for name, assemble := range map[string]func(store.Key) error{
				"assembled": func(k store.Key) error {
					_, err := s.Write(t.Context(), store.Assemble(k, parts), store.Sync)
					return err
				},
				"gathered": func(k store.Key) error {
					_, err := s.Write(t.Context(), store.Gather(k, observed.New(s, new(observe.Counter)), parts), store.Sync)
					return err
				},
			} {
				copied.Store(0)
				read.Store(0)
				if err := assemble(store.MustKey(name)); err != nil {
					t.Fatal(err)
				}
				if got := f.Blobs["a b+%20/"+name]; got == nil || !bytes.Equal(got.Value, want) {
					t.Errorf("%s: another value", name)
				}
				if copied.Load() != 2 || read.Load() > 2 {
					t.Errorf("%s: the service copied %d ranges, and %d were read", name, copied.Load(), read.Load())
				}
			}
		})
	}
}

// TestCopyOfBlockRefused assembles where the service does not copy ranges. They are read
// and uploaded, and later values without another attempt. A source that was replaced is a
// conflict.
func TestCopyOfBlockRefused(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusNotImplemented} {
		f, endpoint := azuretest.Serve(t)
		s, value, key := open(t, endpoint, ""), randomBytes(30<<20), store.MustKey("large")
		v, err := s.Write(t.Context(), store.Put(key, value), store.Sync)
		if err != nil {
			t.Fatal(err)
		}
		parts, want := assembled(key, v.Version, value)
		var asked atomic.Int64
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			if r.Header.Get("X-Ms-Copy-Source") == "" {
				return w, false
			}
			asked.Add(1)
			azuretest.Fail(w, status, "CannotVerifyCopySource")
			return w, true
		})
		for i := range 2 {
			name := fmt.Sprint("joined", i)
			if _, err := s.Write(t.Context(), store.Assemble(store.MustKey(name), parts), store.Sync); err != nil {
				t.Fatalf("status %d: %v", status, err)
			}
			if !bytes.Equal(f.Blobs[name].Value, want) {
				t.Errorf("status %d: another value", status)
			}
			// A source that is missing says nothing about others.
			if n := asked.Swap(0); (n == 0) != (i == 1 && status != http.StatusNotFound) {
				t.Errorf("status %d: value %d: %d attempts to copy", status, i, n)
			}
		}
	}
	f, endpoint := azuretest.Serve(t)
	s, value, key := open(t, endpoint, ""), randomBytes(30<<20), store.MustKey("large")
	v, err := s.Write(t.Context(), store.Put(key, value), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	parts, _ := assembled(key, v.Version, value)
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if r.Header.Get("X-Ms-Copy-Source") != "" {
			f.Lock()
			f.Blobs["large"].Tag = `"replaced"`
			f.Unlock()
		}
		return w, false
	})
	_, err = s.Write(t.Context(), store.Assemble(store.MustKey("joined"), parts), store.Sync)
	if !errors.Is(err, store.ErrConflict) || f.Blobs["joined"] != nil && f.Blobs["joined"].Tag != "" || strings.Contains(fmt.Sprint(err), "sig=") {
		t.Errorf("a source that was replaced: %v", err)
	}
}

// TestLateCopy refuses one copy while another one is in progress, which the service ends
// although the client has given it up. It does not get into the value.
func TestLateCopy(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s, value, key := open(t, endpoint, ""), randomBytes(30<<20), store.MustKey("large")
	v, err := s.Write(t.Context(), store.Put(key, value), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	var copies, uploads atomic.Int64
	var late sync.WaitGroup
	over := make(chan struct{})
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		isBlock := r.URL.Query().Get("comp") == "block"
		switch {
		case r.Header.Get("X-Ms-Copy-Source") == "":
			if isBlock && uploads.Add(1) == 3 {
				close(over) // the fallback has uploaded its first block
				late.Wait()
			}
			return w, false
		case r.Context().Value(isLate{}) != nil:
			return w, false
		case copies.Add(1) == 1:
			given := r.Clone(context.WithValue(context.Background(), isLate{}, true))
			given.Body = http.NoBody
			late.Go(func() {
				<-over
				f.ServeHTTP(httptest.NewRecorder(), given)
			})
			<-r.Context().Done()
			return w, true
		}
		time.Sleep(50 * time.Millisecond) // the first one is on its way
		azuretest.Fail(w, http.StatusForbidden, "CannotVerifyCopySource")
		return w, true
	})
	parts := []store.Part{{Key: key, Version: v.Version, N: 3 << 20}, {Data: []byte("x")}, {Key: key, Version: v.Version, Off: 10 << 20, N: 20 << 20}}
	want := append(append(bytes.Clone(value[:3<<20]), 'x'), value[10<<20:]...)
	if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("joined"), parts), store.Sync); err != nil {
		t.Fatal(err)
	}
	if got := f.Blobs["joined"].Value; !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, or others", len(got), len(want))
	}
}

// isLate marks the request that ends late.
type isLate struct{}

// TestCopiedBlocksOnAzurite assembles on the emulator of the service's makers, which
// checks the signature of the source.
func TestCopiedBlocksOnAzurite(t *testing.T) {
	endpoint := emulator(t)
	create(t, endpoint, "blocks")
	counted := new(observe.Counter)
	s, err := azure.Open(account, "blocks", "a b+%20/é", &azure.Options{Endpoint: endpoint, Key: key, Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	value, large := randomBytes(30<<20), store.MustKey("large")
	v, err := s.Write(t.Context(), store.Put(large, value), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	parts, want := assembled(large, v.Version, value)
	if _, err := s.Write(t.Context(), store.Gather(store.MustKey("joined"), observed.New(s, counted), parts), store.Sync); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Get(t.Context(), store.MustKey("joined"), store.Request{}, nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("another value: %d bytes, error %v", len(got), err)
	}
	if n := counted.Stats().Read.Bytes; n > 1<<20 {
		t.Errorf("%d bytes were read", n)
	}
}
