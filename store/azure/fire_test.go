// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
)

// lossy closes the connection instead of answering.
type lossy struct {
	*httptest.ResponseRecorder
	w http.ResponseWriter
}

func (l lossy) WriteHeader(int) { l.drop() }

func (l lossy) Write(b []byte) (int, error) {
	l.drop()
	return len(b), nil
}

func (l lossy) drop() {
	if c, _, err := http.NewResponseController(l.w).Hijack(); err == nil {
		c.Close()
	}
}

// lose makes the fake carry out writes and deletions, and lose the first n answers.
func lose(f *azuretest.Fake, n int64) {
	var left atomic.Int64
	left.Store(n)
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if (r.Method == http.MethodPut || r.Method == http.MethodDelete) && left.Add(-1) >= 0 {
			return lossy{httptest.NewRecorder(), w}, false
		}
		return w, false
	})
}

// TestLostAnswers checks that conditional writes whose answers are lost are not taken for
// the write of another, also those in blocks, and that a deletion is not called a
// conflict.
func TestLostAnswers(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	for _, lost := range []int64{1, 2, 5} {
		f, endpoint := azuretest.Serve(t)
		s, key := open(t, endpoint, ""), store.MustKey("k")
		lose(f, lost)
		v, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync)
		if err != nil {
			t.Fatalf("%d answers lost: %v", lost, err)
		}
		lose(f, min(lost, 4)) // no block can be looked for
		if v, err = s.Write(t.Context(), store.PutIf(key, large, store.IfVersion(v.Version)), store.Sync); err != nil {
			t.Fatalf("%d answers lost: %v", lost, err)
		}
		got, info, err := s.Get(t.Context(), key, store.Request{}, nil)
		if err != nil || !bytes.Equal(got, large) || info.Version != v.Version {
			t.Errorf("%d answers lost: %d bytes of version %v and error %v", lost, len(got), info.Version, err)
		}
		lose(f, lost)
		if _, err := s.Write(t.Context(), store.DeleteIf(key, v.Version), store.Sync); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%d answers lost: the error of a deletion is %v", lost, err)
		}
	}
}

// TestOutcomeUnknown checks the error of a write whose answer was lost and whose value
// another writer has replaced: it may not say that nothing was written.
func TestOutcomeUnknown(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s := open(t, endpoint, "")
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if r.Method != http.MethodPut {
			return w, false
		}
		f.On(nil)
		f.Lock()
		f.Blobs["k"] = &azuretest.Blob{Tag: `"other"`}
		f.Unlock()
		lossy{nil, w}.drop()
		return w, true
	})
	_, err := s.Write(t.Context(), store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Sync)
	if err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v, want one that is no conflict", err)
	}
}

// TestErrors checks that errors name the account, the container, the blob and the
// request, say what to do, and are of their kind.
func TestErrors(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s, key := open(t, endpoint, "era5.zarr"), store.MustKey("zarr.json")
	for _, c := range []struct {
		status     int
		code, want string
		kind       error
	}{
		{403, "AuthenticationFailed", "refused or expired", fs.ErrPermission},
		{403, "AuthorizationPermissionMismatch", "Storage Blob Data", fs.ErrPermission},
		{401, "NoAuthenticationInformation", "not public", fs.ErrPermission},
		{404, "ContainerNotFound", "check the name of the container box", nil},
		{412, "ConditionNotMet", "The message.", store.ErrConflict},
		{400, "OutOfRangeInput", "The message.", nil},
	} {
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			azuretest.Fail(w, c.status, c.code)
			return w, true
		})
		_, _, getErr := s.Get(t.Context(), key, store.Request{}, nil)
		_, putErr := s.Write(t.Context(), store.Put(key, nil), store.Sync)
		for _, err := range []error{getErr, putErr} {
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: error is %v, want %v", c.code, err, c.kind)
			}
			for _, part := range []string{"account acme", "container box", "era5.zarr/zarr.json", "request-17", c.code, c.want} {
				if !strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%s: the error does not say %q: %v", c.code, part, err)
				}
			}
		}
	}
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		fmt.Fprint(w, "<html><body>Please sign in to this network")
		return w, true
	})
	if _, err := s.Write(t.Context(), store.PutIf(key, nil, store.IfAbsent()), store.Sync); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("the error of a page of HTML is %v", err)
	}
}

// TestLocation opens locations as users write them.
func TestLocation(t *testing.T) {
	for _, name := range []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")
	for _, c := range []struct{ location, place, path string }{
		{"az://acme/box", "https://acme.blob.core.windows.net/box", ""},
		{"az://acme/box/a b%/x.zarr/g/v?anon=true", "https://acme.blob.core.windows.net/box/a b%/x.zarr", "g/v"},
		{"az://box/x.zarr/v?account_name=acme&skip_signature=true", "https://acme.blob.core.windows.net/box/x.zarr", "v"},
		{"abfs://box@acme.dfs.core.windows.net/x", "https://acme.blob.core.windows.net/box/x", ""},
		{"abfss://box@acme.dfs.core.usgovcloudapi.net/x", "https://acme.blob.core.usgovcloudapi.net/box/x", ""},
		{"abfss://box@acme.z12.dfs.storage.azure.net/x", "https://acme.z12.blob.storage.azure.net/box/x", ""},
		{"abfss://space@onelake.dfs.fabric.microsoft.com/x", "https://onelake.blob.fabric.microsoft.com/space/x", ""},
		{"abfs://box@acme.dfs.evil.example/x?endpoint=http://localhost:1/acme", "http://localhost:1/acme/box/x", ""},
		{"az://devstoreaccount1/box/x", "http://127.0.0.1:10000/devstoreaccount1/box/x", ""},
	} {
		s, path, err := store.OpenLocation(t.Context(), c.location, store.ReadOnly)
		if err != nil {
			t.Errorf("%s: %v", c.location, err)
			continue
		}
		if store.TraitsOf(s).Place != c.place || path.String() != c.path {
			t.Errorf("%s is %s and %q, want %s and %q", c.location, store.TraitsOf(s).Place, path, c.place, c.path)
		}
	}
	for _, location := range []string{
		"az://", "az://acme", "az://acme/x", "az://ACME/box", "az://acme/box/../x", "az://acme/box?keys=canary", "az://acme/box?account_key=%canary",
		"az://acme/box?account_key=~canary", "az://acme/box?sas_token=canary", "az://acme/box?anon=canary", "az://acme/box?endpoint=ftp://u:canary@h",
		"abfs://box@acme.dfs.evil.example/x", "abfs://box@acme.evil.dfs.core.windows.net/x", "abfs://box@acme/x", "abfs://box@acme.dfs.core.windows.net.evil.example/x",
	} {
		_, _, err := store.OpenLocation(t.Context(), location, store.ReadOnly)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error is %v", location, err)
		}
	}
}

// TestCredentials checks that a signature is sent to the endpoint, and that neither it
// nor a key is in an error.
func TestCredentials(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s, err := azure.Open("acme", "box", "", &azure.Options{Endpoint: endpoint, SAS: "?sv=2023&sig=canary%2B", Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		azuretest.Fail(w, http.StatusForbidden, "AuthenticationFailed")
		return w, true
	})
	_, _, getErr := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	_, putErr := s.Write(t.Context(), store.Put(store.MustKey("k"), nil), store.Sync)
	_, cloneErr := s.Write(t.Context(), store.Copy(store.MustKey("k"), s, store.MustKey("l")), store.Sync)
	for i, err := range []error{getErr, putErr, cloneErr} {
		if err == nil || strings.Contains(fmt.Sprintf("%v %#v", err, err), "canary") || f.Requests[i].URL.Query().Get("sig") != "canary+" {
			t.Errorf("request %d: error is %v", i, err)
		}
	}
	if s, err = azure.Open("acme", "box", "", &azure.Options{Endpoint: "http://203.0.113.1:1", SAS: "sig=canary", Retry: quick}); err != nil {
		t.Fatal(err)
	}
	if _, _, err = s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("the error of a signature by plain http is %v", err)
	}
}
