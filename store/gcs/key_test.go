// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestKMSKey writes objects in all ways with a key of the user. The service gets it with
// each write. A copy without a key of its own keeps that of its source.
func TestKMSKey(t *testing.T) {
	const mine, other = "projects/p/locations/l/keyRings/r/cryptoKeys/mine", "projects/p/locations/l/keyRings/r/cryptoKeys/other"
	f, endpoint := gcstest.Serve(t)
	keyed, _, err := store.OpenLocation(t.Context(), "gs://bucket/p?anon=true&kms_key_name="+mine+"&endpoint="+endpoint, store.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	s := store.Driver(keyed).(*gcs.Store)
	ctx, value := t.Context(), large(20<<20)
	key := store.MustKey
	_, small := s.Write(ctx, store.Put(key("small"), []byte("v")), store.Sync)
	_, conditional := s.Write(ctx, store.PutIf(key("conditional"), []byte("v"), store.IfAbsent()), store.Sync)
	_, pieces := s.Write(ctx, store.Put(key("pieces"), value), store.Sync)
	_, composed := s.Write(ctx, store.Assemble(key("composed"), []store.Part{{Key: key("pieces"), N: 20 << 20}, {Key: key("small"), N: 1}}), store.Sync)
	f.Lock()
	f.Objects["p/source"] = &gcstest.Object{Value: []byte("v"), Generation: 1000, KMSKey: other}
	f.Last = 1000
	f.Unlock()
	_, clone := s.Write(ctx, store.Clone(key("clone"), key("source"), store.MakeVersion("1000")), store.Sync)
	plain := open(t, endpoint, "p")
	_, kept := plain.Write(ctx, store.Clone(key("kept"), key("source"), store.MakeVersion("1000")), store.Sync)
	_, any := plain.Write(ctx, store.Clone(key("any"), key("source"), store.Version{}), store.Sync)
	_, copied := plain.Write(ctx, store.Copy(key("copied"), plain, key("source")), store.Sync)
	_, unkeyed := plain.Write(ctx, store.Put(key("unkeyed"), []byte("v")), store.Sync)
	for what, err := range map[string]error{
		"small": small, "conditional": conditional, "pieces": pieces, "composed": composed, "clone": clone, "kept": kept, "any": any,
		"copied": copied, "unkeyed": unkeyed,
	} {
		want := map[string]string{"kept": other, "any": other, "copied": other, "unkeyed": ""}
		expected, isOther := want[what]
		if !isOther {
			expected = mine
		}
		if err != nil || f.Objects["p/"+what].KMSKey != expected {
			t.Errorf("%s has the key %q, want %q (%v)", what, f.Objects["p/"+what].KMSKey, expected, err)
		}
	}
}

// TestCopiesAtOnce copies objects that were listed or described before. Each copy keeps
// the key of its source, also if that was replaced since, and no request looks for it.
func TestCopiesAtOnce(t *testing.T) {
	const old, other = "projects/p/locations/l/keyRings/r/cryptoKeys/old", "projects/p/locations/l/keyRings/r/cryptoKeys/other"
	f, endpoint := gcstest.Serve(t)
	ctx, s, key := t.Context(), open(t, endpoint, "p"), store.MustKey
	place := func(name string, generation int64, kms string) {
		f.Lock()
		defer f.Unlock()
		f.Objects["p/"+name] = &gcstest.Object{Value: []byte("v"), Generation: generation, KMSKey: kms}
		f.Last = max(f.Last, generation)
	}
	place("plain", 1000, "")
	place("keyed", 1001, other)
	place("replaced", 1002, old)
	for _, err := range s.List(ctx, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
	}
	place("described", 1003, other)
	if _, err := s.Stat(ctx, key("described")); err != nil {
		t.Fatal(err)
	}
	place("unknown", 1004, other)
	place("replaced", 1005, other)
	looks := func() (n int) {
		for _, request := range f.Requests {
			if strings.HasPrefix(request, "GET ") {
				n++
			}
		}
		f.Requests = nil
		return n
	}
	for _, c := range []struct {
		name, version, kms string
		looks              int
	}{
		{"plain", "1000", "", 0},
		{"keyed", "1001", other, 0},
		{"described", "1003", other, 0},
		{"unknown", "1004", other, 1},
		{"replaced", "1005", other, 1},
	} {
		looks()
		_, err := s.Write(ctx, store.Copy(key("copy"), s, key(c.name)), store.Sync)
		if n := looks(); err != nil || f.Objects["p/copy"].KMSKey != c.kms || n != c.looks {
			t.Errorf("a copy of %s has the key %q after %d looks, want %q after %d (%v)", c.name, f.Objects["p/copy"].KMSKey, n, c.kms, c.looks, err)
		}
		_, err = s.Write(ctx, store.Clone(key("clone"), key(c.name), store.MakeVersion(c.version)), store.Sync)
		if n := looks(); err != nil || f.Objects["p/clone"].KMSKey != c.kms || n != c.looks {
			t.Errorf("a clone of %s has the key %q after %d looks, want %q after %d (%v)", c.name, f.Objects["p/clone"].KMSKey, n, c.kms, c.looks, err)
		}
	}
	// A clone of any generation looks for it, whatever was known.
	place("plain", 1006, other)
	if _, err := s.Write(ctx, store.Clone(key("clone"), key("plain"), store.Version{}), store.Sync); err != nil || f.Objects["p/clone"].KMSKey != other {
		t.Errorf("a clone of any generation has the key %q (%v)", f.Objects["p/clone"].KMSKey, err)
	}
}

// TestUploadsEnd checks that the fake takes no upload ID again after the upload was
// finished or deleted.
func TestUploadsEnd(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	begin := func() string {
		r := ask(t, "POST", endpoint+"/upload/storage/v1/b/bucket/o?uploadType=resumable&name=k", map[string]string{"X-Upload-Content-Length": "3"}, "{}")
		if r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
		return r.Header.Get("Location")
	}
	whole := map[string]string{"Content-Range": "bytes 0-2/3"}
	question := map[string]string{"Content-Range": "bytes */3"}
	deleted := begin()
	if r := ask(t, "DELETE", deleted, nil, ""); r.StatusCode != 499 {
		t.Errorf("a deletion: %s", r.Status)
	}
	finished := begin()
	if finished == deleted {
		t.Error("an ID is used again")
	}
	if r := ask(t, "PUT", deleted, whole, "abc"); r.StatusCode != 499 {
		t.Errorf("bytes of a deleted upload: %s", r.Status)
	}
	if r := ask(t, "PUT", finished, whole, "abc"); r.StatusCode != 200 {
		t.Errorf("all bytes: %s", r.Status)
	}
	if r := ask(t, "PUT", finished, question, ""); r.StatusCode != 200 {
		t.Errorf("a question: %s", r.Status)
	}
	if r := ask(t, "PUT", finished, whole, "xyz"); r.StatusCode != 400 || string(f.Objects["k"].Value) != "abc" || f.Last != 1 {
		t.Errorf("bytes of a finished upload: %s, and generation %d is %q", r.Status, f.Last, f.Objects["k"].Value)
	}
}

// ask sends a request, and reads the answer.
func ask(t *testing.T, method, url string, header map[string]string, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer
}
