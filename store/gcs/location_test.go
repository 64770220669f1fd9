// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestLocation opens locations as users write them.
func TestLocation(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	for _, c := range []struct{ location, place, path string }{
		{"gs://bucket", "gs://bucket", ""},
		{"gs://bucket/", "gs://bucket", ""},
		{"gcs://my_bucket.example.com/era5.zarr/t2m", "gs://my_bucket.example.com/era5.zarr", "t2m"},
		{"gs://bucket/a b%/x.zarr/g/v?token=anon", "gs://bucket/a b%/x.zarr", "g/v"},
		{"gs://bucket/plain/dir?requester_pays=p&google_skip_signature=true", "gs://bucket/plain/dir", ""},
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
		"gs://", "gs:///x", "gs://b", "gs://bucket/../x", "gs://user:secret@bucket/x", "gs://bucket?tokens=secret",
		"gs://bucket/x?endpoint=ftp://secret", "gs://bucket?anon=secret", "gs://bucket?a=%zzsecret", "gs://buc ket/x",
	} {
		_, _, err := store.OpenLocation(t.Context(), location, store.ReadOnly)
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "ftp://secret", ""), "=secret") {
			t.Errorf("%s: error is %v", location, err)
		}
	}
}

// TestLocationErrors checks what errors of locations say.
func TestLocationErrors(t *testing.T) {
	for location, part := range map[string]string{
		"gs://":                        "names no bucket; its form is gs://bucket/path",
		"gs:///x":                      "names no bucket; its form is gs://bucket/path",
		"gs://bucket//x":               "empty segment",
		"gs://bucket/a//x":             "empty segment",
		"gs://bucket/x?storage_clas=a": "did you mean storage_class?",
		"gs://bucket/x?token=anon&service_account=f":     "give one of them",
		"gs://bucket/x?google_service_account=f&token=g": "give one of them",
	} {
		_, _, err := store.OpenLocation(t.Context(), location, store.ReadOnly)
		if !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "invalid key") {
			t.Errorf("%s: %v, want %q", location, err, part)
		}
	}
}

// TestArchiveForWriting checks that no folder is made that has the name of an archive.
func TestArchiveForWriting(t *testing.T) {
	for _, access := range []store.Access{store.ReadWrite, store.Create} {
		if _, _, err := store.OpenLocation(t.Context(), "gs://bucket/x.zip/a?anon=true", access); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("access %v: the error is %v", access, err)
		}
	}
}

// TestReading checks that a store for reading refuses writes.
func TestReading(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	f.Objects["x.zarr/k"] = &gcstest.Object{Value: []byte("v"), Generation: 7}
	s, _, err := store.OpenLocation(t.Context(), "gs://bucket/x.zarr?anon=true&endpoint_url="+endpoint, store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	if err != nil || string(got) != "v" {
		t.Errorf("%q and error %v", got, err)
	}
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("k"), nil), store.Sync); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the error of a write is %v", err)
	}
	if len(f.Requests) != 1 {
		t.Errorf("the requests are %q, want one", f.Requests)
	}
}

// secret is a token that may appear nowhere.
const secret = "ya29.canary-of-a-token"

// TestCredentials checks that tokens are sent, to the endpoint only, and not by plain
// http to another machine.
func TestCredentials(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	var seen []string
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		seen = append(seen, r.Header.Get("Authorization")+" "+r.Header.Get("X-Goog-User-Project"))
		gcstest.Fail(w, http.StatusForbidden, "no")
		return w, true
	})
	o := gcs.Options{Endpoint: endpoint, Retry: quick, UserProject: "payer", Credentials: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret})}
	s, err := gcs.Open("bucket", "", &o)
	if err != nil {
		t.Fatal(err)
	}
	key := store.MustKey("k")
	_, _, getErr := s.Get(t.Context(), key, store.Request{}, nil)
	_, putErr := s.Write(t.Context(), store.Put(key, nil), store.Sync)
	if len(seen) != 2 || seen[0] != "Bearer "+secret+" payer" || seen[1] != seen[0] {
		t.Errorf("the credentials are %q", seen)
	}
	o.Endpoint = "http://203.0.113.1:1"
	if s, err = gcs.Open("bucket", "", &o); err != nil {
		t.Fatal(err)
	}
	_, _, plainGet := s.Get(t.Context(), key, store.Request{}, nil)
	_, plainPut := s.Write(t.Context(), store.Put(key, nil), store.Sync)
	for i, err := range []error{getErr, putErr, plainGet, plainPut} {
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) || i > 1 && !strings.Contains(err.Error(), "https") {
			t.Errorf("error %d is %v", i, err)
		}
	}
}

// TestRefusedCredentials checks that a failure to get a token is not repeated, and that
// errors do not quote the credentials.
func TestRefusedCredentials(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, []byte(`{"type":"service_account","private_key":"`+secret+`","client_email":"a@b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing", secret} {
		s, err := gcs.Open("bucket", "", &gcs.Options{Endpoint: endpoint, Retry: quick, CredentialsFile: name})
		if err != nil {
			t.Fatal(err)
		}
		_, _, getErr := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
		_, putErr := s.Write(t.Context(), store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Sync)
		_, deleteErr := s.Write(t.Context(), store.Delete(store.MustKey("k")), store.Sync)
		_, ifErr := s.Write(t.Context(), store.DeleteIf(store.MustKey("k"), store.MakeVersion("1")), store.Sync)
		for _, err := range []error{getErr, putErr, deleteErr, ifErr} {
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrConflict) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "attempts") {
				t.Errorf("the error is %v", err)
			}
		}
	}
	if len(f.Requests) != 0 {
		t.Errorf("requests were sent: %q", f.Requests)
	}
}
