// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
)

// TestLocationErrors checks what errors of locations say.
func TestLocationErrors(t *testing.T) {
	for location, part := range map[string]string{
		"az://":                         "a location is az://account/container/path",
		"az:///x":                       "a location is az://account/container/path",
		"az://acme/box//x":              "empty segment",
		"az://box//x?account_name=acme": "empty segment",
		"abfs://box@acme.dfs.core.windows.net//x":           "empty segment",
		"az://acme/box/x?acount_key=a2V5":                   "did you mean account_key?",
		"az://acme/box/x?account_key=a2V5&sas_token=sig%3D": "give one of them",
	} {
		_, _, err := store.OpenLocation(t.Context(), location, store.ReadOnly)
		if !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "invalid key") || strings.Contains(err.Error(), "a2V5") {
			t.Errorf("%s: %v, want %q", location, err, part)
		}
	}
}

// TestArchiveForWriting checks that no folder is made that has the name of an archive.
func TestArchiveForWriting(t *testing.T) {
	for _, access := range []store.Access{store.ReadWrite, store.Create} {
		if _, _, err := store.OpenLocation(t.Context(), "az://acme/box/x.zip/a?anon=true", access); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("access %v: the error is %v", access, err)
		}
	}
}

// TestConnectionOfAnother checks that a connection string that names its account only by
// an endpoint is used for no other account.
func TestConnectionOfAnother(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT_NAME", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT_KEY", azuretest.Key) // instead of the string of another account
	for _, c := range []struct {
		endpoint string
		own      bool
	}{
		{"https://acme.blob.core.windows.net/", true},
		{"https://acme-secondary.blob.core.windows.net", true},
		{"http://127.0.0.1:10000/acme", true},
		{"http://localhost:10000/acme", true},
		{"https://other.blob.core.windows.net", false},
		{"http://127.0.0.1:10000/other", false},
		{"", false},
	} {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint="+c.endpoint+";SharedAccessSignature=sv=1&sig=canary")
		s, err := azure.Open("acme", "box", "", &azure.Options{Endpoint: endpoint, Retry: quick})
		if err != nil {
			t.Fatal(err)
		}
		f.Requests = nil
		if _, err := s.Write(t.Context(), store.Put(store.MustKey("k"), nil), store.Sync); err != nil || len(f.Requests) != 1 {
			t.Fatalf("%s: %d requests, error %v", c.endpoint, len(f.Requests), err)
		}
		r := f.Requests[0]
		if sent := r.URL.Query().Get("sig") == "canary"; sent != c.own || r.Header.Get("Authorization") != "" == c.own {
			t.Errorf("%s: the signature was sent: %t", c.endpoint, sent)
		}
	}
}

// TestSignatureOfAnother checks that a signature of the environment is used for its own
// account only.
func TestSignatureOfAnother(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT_KEY", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT_NAME", "")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=canary")
	for account, own := range map[string]bool{"acme": true, "other": false, "": false} {
		t.Setenv("AZURE_STORAGE_ACCOUNT", account)
		s, err := azure.Open("acme", "box", "", &azure.Options{Endpoint: endpoint, Retry: quick, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		f.Requests = nil
		_, _, _ = s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil) // without credentials it may send nothing
		for _, r := range f.Requests {
			if sent := r.URL.Query().Get("sig") == "canary"; sent != own {
				t.Errorf("the account is %q: the signature was sent: %t", account, sent)
			}
		}
		if own && len(f.Requests) == 0 {
			t.Error("no request was sent")
		}
	}
}

// TestSamePage lists a container whose service sends one page again and again.
func TestSamePage(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s := open(t, endpoint, "")
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		w.Header().Set("X-Ms-Version", "1")
		fmt.Fprint(w, "<EnumerationResults><Blobs></Blobs><NextMarker>again</NextMarker></EnumerationResults>")
		return w, true
	})
	err := ends(t, "List", func() error {
		for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.Error("a listing without an end has no error")
	}
}
