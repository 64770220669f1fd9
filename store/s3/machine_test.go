// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// onlyMachine leaves the metadata service of the machine as the only source of
// credentials.
func onlyMachine(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	service := httptest.NewServer(handler)
	t.Cleanup(service.Close)
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_EC2_METADATA_DISABLED",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_WEB_IDENTITY_TOKEN_FILE",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.URL)
}

// tokenPath is the path of the question for a token.
const tokenPath = "/latest/api/token"

// role answers as the metadata service of a machine that has a role.
func role(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case tokenPath:
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		_, _ = io.WriteString(w, "token")
	case "/latest/meta-data/iam/security-credentials/":
		_, _ = io.WriteString(w, "role")
	case "/latest/meta-data/iam/security-credentials/role":
		_, _ = io.WriteString(w, `{"Code":"Success","AccessKeyId":"`+s3test.User+`","SecretAccessKey":"`+s3test.Secret+`","Token":"t","Expiration":"2999-01-01T00:00:00Z"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// silence answers nothing until the client gives up.
func silence(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// onMachine opens a store that finds credentials only in the metadata service.
func onMachine(t *testing.T, s *s3.Store, access store.Access) store.Store {
	t.Helper()
	endpoint, bucket := home(s)
	location := "s3://" + bucket + "/p?region=us-east-1&conditional_put=etag&endpoint=" + endpoint
	opened, _, err := s3.OpenLocation(t.Context(), location, access)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// TestSilentToken finds the role of a machine whose service is silent for tokens, as it
// is for programs in containers, and answers without one.
func TestSilentToken(t *testing.T) {
	_, s := faulty(t, nil)
	put(t, s, key, "one")
	var asked atomic.Int32
	onlyMachine(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == tokenPath {
			asked.Add(1)
			silence(w, r)
			return
		}
		role(w, r)
	})
	found := onMachine(t, s, store.ReadWrite)
	if _, err := store.Write(t.Context(), found, store.Put(key, []byte("two")), store.Sync); err != nil {
		t.Fatal(err)
	}
	holds(t, s, key, "two")
	if n := asked.Load(); n != 1 {
		t.Errorf("%d questions for a token, want 1", n)
	}
}

// TestSlowRole reads and writes while the metadata service is silent for some time. Then
// both use its role: nothing was sent unsigned, and no failure is remembered.
func TestSlowRole(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "one")
	for _, access := range []store.Access{store.ReadOnly, store.ReadWrite} {
		var slow atomic.Bool
		slow.Store(true)
		onlyMachine(t, func(w http.ResponseWriter, r *http.Request) {
			if slow.Load() {
				silence(w, r)
				return
			}
			role(w, r)
		})
		f.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Header.Get("Authorization") == "" {
				t.Errorf("%s %s is not signed", r.Method, r.URL.Path)
			}
			return false
		})
		found := onMachine(t, s, access)
		if access == store.ReadOnly {
			_, _, err := found.Get(t.Context(), key, store.Request{}, nil)
			says(t, "Get", err, "no credentials were found", "it does not answer in time")
		}
		time.AfterFunc(time.Second, func() { slow.Store(false) }) // within the first attempt
		if got, _, err := found.Get(t.Context(), key, store.Request{}, nil); err != nil || string(got) != "one" {
			t.Errorf("a read that begins before the service answers: %q, %v", got, err)
		}
	}
}

// TestMachine finds the credentials of the role of a machine.
func TestMachine(t *testing.T) {
	_, s := faulty(t, nil)
	put(t, s, key, "one")
	onlyMachine(t, role)
	endpoint, bucket := home(s)
	o := &s3.Options{Endpoint: endpoint, Region: "us-east-1", Conditions: s3.TrustConditions}
	found, err := s3.Open(t.Context(), bucket, "p", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { found.Close() })
	put(t, found, key, "two") // a write is never sent unsigned
	holds(t, found, key, "two")
}

// TestNoMachine looks for credentials where the metadata service fails. It is not asked
// for long, and the error says which ways to give credentials there are.
func TestNoMachine(t *testing.T) {
	_, s := faulty(t, nil)
	put(t, s, key, "public")
	var asked atomic.Int32
	onlyMachine(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	opened := onMachine(t, s, store.ReadWrite)
	_, _, getErr := opened.Get(t.Context(), key, store.Request{}, nil)
	// With the pauses of the SDK, the error would be that the time is over.
	if n := asked.Load(); n > 6 {
		t.Errorf("the metadata service was asked %d times", n)
	}
	_, putErr := store.Write(t.Context(), opened, store.Put(key, []byte("x")), store.Sync)
	_, bucket := home(s)
	for what, err := range map[string]error{"Get": getErr, "Put": putErr} {
		says(t, what, err, "s3://"+bucket+"/p/a/k", "no credentials were found", "metadata service of the machine (IMDS), has none: status 500", "AWS_ACCESS_KEY_ID",
			"AWS_PROFILE", "aws sso login", "access_key_id", "anon=true")
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v means that the object is missing", what, err)
		}
	}
}

// TestSilent checks which failures of a search mean that the service may answer later.
func TestSilent(t *testing.T) {
	late := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for want, errs := range map[bool][]error{
		true: {context.DeadlineExceeded, late, &smithy.CanceledError{Err: context.DeadlineExceeded}},
		false: {
			errors.New("status 404"), syscall.ECONNREFUSED,
			&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		},
	} {
		for _, err := range errs {
			if got := s3.Silent(&smithy.OperationError{ServiceID: "ec2imds", Err: err}); got != want {
				t.Errorf("%v: %t, want %t", err, got, want)
			}
		}
	}
	if s3.Silent(&smithy.OperationError{ServiceID: "STS", Err: late}) {
		t.Error("another service passes for that of the machine")
	}
}
