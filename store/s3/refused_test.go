// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// TestLostDeletion loses deletions on a condition of an object that another program has
// written, so it has no mark. While it is there, it is not deleted.
func TestLostDeletion(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.Read.Attempts = 2 })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.Traits().Place+"/a/k", strings.NewReader("of another program"))
	if err != nil {
		t.Fatal(err)
	}
	answered, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answered.Body.Close()
	v := holds(t, s, key, "of another program")
	drop := func(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler) bool{
		"lost":   drop,
		"failed": answer(http.StatusInternalServerError, "InternalError"),
	} {
		f.set(firstTimes(100, http.MethodDelete, "a/k", fault))
		if _, err := s.Write(t.Context(), store.DeleteIf(key, v), store.Sync); err == nil {
			t.Errorf("%s: a deletion that did not happen succeeds", name)
		}
		f.set(firstTimes(1, http.MethodDelete, "a/k", func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			f.set(firstTimes(100, http.MethodDelete, "a/k", answer(http.StatusPreconditionFailed, "PreconditionFailed")))
			return fault(w, r, next)
		}))
		if _, err := s.Write(t.Context(), store.DeleteIf(key, v), store.Sync); err == nil {
			t.Errorf("%s, then refused: a deletion that did not happen succeeds", name)
		}
		f.set(nil)
		holds(t, s, key, "of another program")
	}
}

// TestRefused refuses writes for lack of permission. That is certain, and one request is
// enough, unless the answer to an earlier attempt was lost.
func TestRefused(t *testing.T) {
	f, s := faulty(t, nil)
	a, err := zarr.At(s, "b").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for code, status := range map[string]int{"AccessDenied": http.StatusForbidden, "ExpiredToken": http.StatusBadRequest} {
		for _, method := range []string{http.MethodPut, http.MethodPost} { // of parts
			f.set(firstTimes(100, method, "/", answer(status, code)))
			value := []byte("x")
			if method == http.MethodPost {
				value = make([]byte, 80<<20)
			}
			if _, err := s.Write(t.Context(), store.PutIf(key, value, store.IfAbsent()), store.Sync); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s of %d bytes: %v", code, len(value), err)
			}
		}
		f.set(firstTimes(100, http.MethodPut, "/", answer(status, code)))
		err := a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"n": 1}`), nil })
		if n := f.count(http.MethodPut, "") + f.count(http.MethodGet, "") + f.count(http.MethodHead, ""); err == nil || !strings.Contains(err.Error(), code) || errors.Is(err, zarr.ErrOutcomeUnknown) || n > 5 {
			t.Errorf("%s: a change takes %d requests: %v", code, n, err)
		}
		f.set(firstTimes(1, http.MethodPut, "a/k", func(http.ResponseWriter, *http.Request, http.Handler) bool {
			f.set(firstTimes(100, http.MethodPut, "a/k", answer(status, code)))
			panic(http.ErrAbortHandler)
		}))
		if _, err := s.Write(t.Context(), store.PutIf(key, []byte("x"), store.IfAbsent()), store.Sync); err == nil || errors.Is(err, store.ErrRefused) {
			t.Errorf("%s after a lost answer: %v", code, err)
		}
	}
}

// TestUnsentWrite writes while there are no credentials. They are searched once, and the
// error says what is missing, not that the outcome is unknown.
func TestUnsentWrite(t *testing.T) {
	var searches atomic.Int32
	missing := errors.New("the service of credentials is busy")
	_, s := faulty(t, func(o *s3.Options) {
		o.Read.Attempts = 1
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			searches.Add(1)
			return aws.Credentials{}, missing
		})
	})
	_, err := s.Write(t.Context(), store.PutIf(key, []byte("x"), store.IfAbsent()), store.Sync)
	if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), missing.Error()) || strings.Contains(err.Error(), "unknown") {
		t.Errorf("error is %v", err)
	}
	if n := searches.Load(); n != 1 {
		t.Errorf("credentials are searched %d times, want once", n)
	}
}

// TestDenied reads where 403 means that an object is missing. Only the answer that denies
// access means that.
func TestDenied(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		absent bool
	}{
		"AccessDenied":          {http.StatusForbidden, true},
		"":                      {http.StatusForbidden, true},
		"RequestTimeTooSkewed":  {http.StatusForbidden, false},
		"SignatureDoesNotMatch": {http.StatusForbidden, false},
		"InvalidAccessKeyId":    {http.StatusForbidden, false},
		"ExpiredToken":          {http.StatusForbidden, false},
		"InvalidToken":          {http.StatusUnauthorized, false},
		"page":                  {http.StatusForbidden, false},
		"AllAccessDisabled":     {http.StatusForbidden, false},
	} {
		f, s := faulty(t, func(o *s3.Options) { o.Read.Missing = []int{c.status} })
		f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			switch name {
			case "":
				w.WriteHeader(http.StatusForbidden)
				return true
			case "page":
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, "<html>sign in to the network</html>")
				return true
			}
			return answer(c.status, name)(w, r, next)
		})
		_, _, getErr := s.Get(t.Context(), key, store.Request{}, nil)
		_, statErr := s.Stat(t.Context(), key)
		for what, err := range map[string]error{"Get": getErr, "Stat": statErr} {
			if err == nil || errors.Is(err, fs.ErrNotExist) != c.absent {
				t.Errorf("%s with %q: error is %v; is it missing: %v", what, name, err, c.absent)
			}
			if c.absent && errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s with %q: %v is %v too", what, name, err, fs.ErrPermission)
			}
		}
	}
}

// TestArchiveOpenedForWriting checks that no folder is made with the name of an archive.
func TestArchiveOpenedForWriting(t *testing.T) {
	for _, path := range []string{"x.zip", "a/x.zip/t2m"} {
		_, _, err := s3.OpenLocation(t.Context(), "s3://bucket/"+path+"?anon=true", store.ReadWrite)
		if !errors.Is(err, store.ErrUnsupported) || err != nil && !strings.Contains(err.Error(), "copy it") {
			t.Errorf("%s: error is %v, want %v", path, err, store.ErrUnsupported)
		}
	}
}

// TestPrivateRegion connects to the host of another region, which has a private address.
func TestPrivateRegion(t *testing.T) {
	_, s := faulty(t, nil)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	u, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	if c, err = s.Transport().DialContext(t.Context(), "tcp", u.Host); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// TestProbeName checks the name of the object that a probe copies. It is escaped.
func TestProbeName(t *testing.T) {
	var from atomic.Value
	service := s3test.Fake(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text := r.Header.Get("X-Amz-Copy-Source"); text != "" {
				from.Store(text)
			}
			h.ServeHTTP(w, r)
		})
	})
	bucket := service.Bucket(t)
	s := service.Open(t, bucket, "a b%41ü")
	put(t, s, key, "x")
	if _, err := s.Write(t.Context(), store.Clone(store.MustKey("copy"), key, store.Version{}), store.Sync); err != nil {
		t.Fatal(err)
	}
	text, _ := from.Load().(string)
	if name, err := url.PathUnescape(text); err != nil || !strings.HasPrefix(name, bucket+"/a b%41ü/__varve-probe-") || strings.Contains(text, " ") {
		t.Errorf("the source is %q", text)
	}
}

// TestSamePage lists a bucket whose service cuts its answers off. Entries that are not
// listed must not be taken for missing ones.
func TestSamePage(t *testing.T) {
	f, s := faulty(t, nil)
	for _, token := range []string{"", "<NextContinuationToken>again</NextContinuationToken>"} {
		f.set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if !r.URL.Query().Has("list-type") {
				return false
			}
			_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated>`+token+`<Contents><Key>p/a</Key><Size>1</Size></Contents></ListBucketResult>`)
			return true
		})
		var failed error
		for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), "more objects") {
			t.Errorf("with %q: the listing ends with %v", token, failed)
		}
	}
}

// TestLongestStall checks that a stall without an end stays one where services are slow.
func TestLongestStall(t *testing.T) {
	if d := s3.Slower(math.MaxInt64); d != math.MaxInt64 {
		t.Errorf("the longest stall becomes %v", d)
	}
}
