// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// failing returns credentials that cannot be had as often as fails says.
func failing(fails *atomic.Int32) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		if fails.Add(-1) >= 0 {
			return aws.Credentials{}, errors.New("the service of credentials is busy")
		}
		return aws.Credentials{AccessKeyID: s3test.User, SecretAccessKey: s3test.Secret, CanExpire: true}, nil
	})
}

// TestCredentialsFail fails to find credentials for some time. Requests are never sent
// unsigned for that, and work afterwards.
func TestCredentialsFail(t *testing.T) {
	var fails atomic.Int32
	f, s := faulty(t, func(o *s3.Options) { o.Credentials = failing(&fails) })
	put(t, s, key, "one")
	var unsigned atomic.Int32
	f.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Header.Get("Authorization") == "" {
			unsigned.Add(1)
		}
		return false
	})
	fails.Store(1)
	holds(t, s, key, "one")
	fails.Store(1)
	put(t, s, key, "two")
	fails.Store(100)
	if _, _, err := s.Get(t.Context(), key, store.Request{}, nil); err == nil || errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "busy") {
		t.Errorf("without credentials: error is %v", err)
	}
	fails.Store(0)
	holds(t, s, key, "two")
	// The first request of a store whose caller gave credentials.
	f, s = faulty(t, func(o *s3.Options) { o.Credentials = failing(&fails) })
	f.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Header.Get("Authorization") == "" {
			unsigned.Add(1)
		}
		return false
	})
	fails.Store(1)
	if _, _, err := s.Get(t.Context(), key, store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing object: error is %v", err)
	}
	if n := unsigned.Load(); n != 0 {
		t.Errorf("%d requests were not signed", n)
	}
}

// TestNoCredentials opens a location where no credentials are found. For reading,
// requests are unsigned, and a refusal says why. For writing, there is an error.
func TestNoCredentials(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "public")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
	endpoint, bucket := home(s)
	location := "s3://" + bucket + "/p?region=us-east-1&endpoint=" + endpoint
	open := func(access store.Access) store.Store {
		opened, _, err := s3.OpenLocation(s3.WithOptions(t.Context(), &s3.Options{Read: httpstore.Options{Attempts: 1}}), location, access)
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	reads, writes := open(store.ReadOnly), open(store.ReadWrite)
	holds(t, reads, key, "public")
	_, _, err := writes.Get(t.Context(), key, store.Request{}, nil)
	if err == nil || !strings.Contains(err.Error(), "no credentials were found") {
		t.Errorf("opened for writing: error is %v", err)
	}
	f.set(answer(http.StatusForbidden, "AccessDenied"))
	_, _, err = reads.Get(t.Context(), key, store.Request{}, nil)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "no credentials were found") || !strings.Contains(err.Error(), "IMDS") {
		t.Errorf("a refusal: error is %v", err)
	}
}

// TestCredentialsLost finds credentials in the SDK's chain, and later no longer.
func TestCredentialsLost(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "one")
	var gone atomic.Bool
	chain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		// They are requested again for each request.
		_, _ = io.WriteString(w, `{"AccessKeyId":"`+s3test.User+`","SecretAccessKey":"`+s3test.Secret+`","Token":"t","Expiration":"2001-01-01T00:00:00Z"}`)
	}))
	defer chain.Close()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", chain.URL)
	endpoint, bucket := home(s)
	o := &s3.Options{Endpoint: endpoint, Region: "us-east-1"}
	o.Read.Attempts = 1
	found, err := s3.Open(t.Context(), bucket, "p", o)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	holds(t, found, key, "one")
	gone.Store(true)
	f.set(nil)
	_, _, err = found.Get(t.Context(), key, store.Request{}, nil)
	if n := f.count(http.MethodGet, ""); err == nil || n != 0 {
		t.Errorf("%d requests without credentials; error is %v", n, err)
	}
	gone.Store(false)
	holds(t, found, key, "one")
}

// TestWrongDates answers with dates that are hours off. All requests are signed with the
// time of this machine all the same, which the service accepts.
func TestWrongDates(t *testing.T) {
	f, s := faulty(t, nil)
	var requests atomic.Int32
	f.set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if off := time.Since(at); err != nil || off.Abs() > time.Minute {
			t.Errorf("%s %s is signed with a time that is %v off (%v)", r.Method, r.URL.Path, off, err)
		}
		wrong := 5 * time.Hour * time.Duration(1-2*(requests.Add(1)%2))
		w.Header().Set("Date", time.Now().Add(wrong).UTC().Format(http.TimeFormat))
		return false
	})
	for range 3 {
		put(t, s, key, "one")
		holds(t, s, key, "one")
		if _, err := s.Write(t.Context(), store.Delete(key), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if n := requests.Load(); n < 9 {
		t.Errorf("%d requests came", n)
	}
}

// TestNoDates removes the dates of all answers, as some proxies do. Then the times of
// objects are taken as they are, in listings too.
func TestNoDates(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "one")
	f.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.Header()["Date"] = nil // the server would set one
		return false
	})
	for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
		if err != nil || time.Since(e.Modified).Abs() > time.Minute {
			t.Errorf("List: %+v, %v", e, err)
		}
	}
	if info, err := s.Stat(t.Context(), key); err != nil || time.Since(info.Modified).Abs() > time.Minute {
		t.Errorf("Stat: %+v, %v", info, err)
	}
}

// TestSkewedOnce refuses one request of each kind because its time seems wrong. It is
// repeated, but not often: if this machine has the wrong clock, that changes nothing.
func TestSkewedOnce(t *testing.T) {
	f, s := faulty(t, nil)
	v := put(t, s, key, "one")
	ctx, skewed := t.Context(), answer(http.StatusForbidden, "RequestTimeTooSkewed")
	for what, c := range map[string]struct {
		method string
		act    func() error
	}{
		"Get": {http.MethodGet, func() error { _, _, err := s.Get(ctx, key, store.Request{}, nil); return err }},
		"Put": {http.MethodPut, func() error {
			_, err := s.Write(ctx, store.Put(store.MustKey("l"), []byte("x")), store.Sync)
			return err
		}},
		"PutIf": {http.MethodPut, func() error {
			next, err := s.Write(ctx, store.PutIf(key, []byte("two"), store.IfVersion(v)), store.Sync)
			if err == nil {
				v = next.Version
			}
			return err
		}},
		"List": {http.MethodGet, func() error {
			for _, err := range s.List(ctx, store.Path{}, store.Deep) {
				return err
			}
			return nil
		}},
	} {
		f.set(firstTimes(1, c.method, "", skewed))
		if err := c.act(); err != nil {
			t.Errorf("%s: refused once: %v", what, err)
		}
		f.set(firstTimes(100, c.method, "", skewed))
		err := c.act()
		says(t, what, err, "RequestTimeTooSkewed", "set the clock of this machine")
		if n := f.count(c.method, ""); n != 2 {
			t.Errorf("%s: %d requests, want 2", what, n)
		}
	}
}
