// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// faults changes what a service answers.
type faults struct {
	mu     sync.Mutex
	server http.Handler
	seen   []string // method and query of each request
	// fault is called for each request. If it returns true, it has answered.
	fault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
	fault := f.fault
	f.mu.Unlock()
	if fault == nil || !fault(w, r, f.server) {
		f.server.ServeHTTP(w, r)
	}
}

// set replaces the fault, and forgets the requests seen.
func (f *faults) set(fault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.seen = fault, nil
}

// count returns the number of requests with a method and a part of the URL.
func (f *faults) count(method, part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.HasPrefix(s, method+" ") && strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// faulty returns a service with faults, and a store in it that trusts conditions.
func faulty(t *testing.T, change func(o *s3.Options)) (*faults, *s3.Store) {
	t.Helper()
	f := &faults{}
	service := s3test.Fake(t, func(h http.Handler) http.Handler {
		f.server = h
		return f
	})
	o := service.Options()
	o.Conditions = s3.TrustConditions
	o.Read.Pause = time.Millisecond
	if change != nil {
		change(o)
	}
	s, err := s3.Open(t.Context(), service.Bucket(t), "p", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f.set(nil)
	return f, s
}

// home returns the endpoint and the bucket of a store of [faulty].
func home(s *s3.Store) (endpoint, bucket string) {
	place := strings.TrimSuffix(s.Traits().Place, "/p")
	cut := strings.LastIndexByte(place, '/')
	return place[:cut], place[cut+1:]
}

// lose lets a handler act, and drops the connection instead of the answer.
func lose(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// firstTimes applies a fault to the first requests of a kind.
func firstTimes(times int32, method, part string, fault func(http.ResponseWriter, *http.Request, http.Handler) bool) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != method || !strings.Contains(r.URL.RequestURI(), part) || n.Add(1) > times {
			return false
		}
		return fault(w, r, next)
	}
}

var key = store.MustKey("a/k")

func put(t *testing.T, s store.Store, k store.Key, text string) store.Version {
	t.Helper()
	v, err := store.Write(t.Context(), s, store.Put(k, []byte(text)), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	return v.Version
}

func holds(t *testing.T, s store.Store, k store.Key, want string) store.Version {
	t.Helper()
	got, info, err := s.Get(t.Context(), k, store.Request{}, nil)
	if err != nil || string(got) != want {
		t.Fatalf("%s holds %.40q (%v), want %.40q", k, got, err, want)
	}
	return info.Version
}

// TestLostAnswer loses the answer to a write on a condition after the service has
// written. The write must be found, and must not look like that of a rival.
func TestLostAnswer(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(firstTimes(1, http.MethodPut, "a/k", lose))
	first, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	if v := holds(t, s, key, "one"); v != first.Version {
		t.Errorf("the version is %v, want %v", v, first.Version)
	}
	f.set(firstTimes(1, http.MethodPut, "a/k", lose))
	if _, err := s.Write(t.Context(), store.PutIf(key, []byte("two"), store.IfVersion(first.Version)), store.Sync); err != nil {
		t.Fatal(err)
	}
	holds(t, s, key, "two")
}

// TestLostAnswerAndRival loses the answer, and lets a rival write before the writer
// looks. Nobody can know whose write came first.
func TestLostAnswerAndRival(t *testing.T) {
	f, s := faulty(t, nil)
	old := put(t, s, key, "old")
	f.set(firstTimes(1, http.MethodPut, "a/k", func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		next.ServeHTTP(httptest.NewRecorder(), r)
		f.set(nil)
		put(t, s, key, "rival")
		panic(http.ErrAbortHandler)
	}))
	_, err := s.Write(t.Context(), store.PutIf(key, []byte("mine"), store.IfVersion(old)), store.Sync)
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnsupported) {
		t.Errorf("error is %v, want one that says that the outcome is unknown", err)
	}
	holds(t, s, key, "rival")
}

// TestLostRequest loses a request before the service has seen it. Its repetition writes.
func TestLostRequest(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(firstTimes(2, http.MethodPut, "a/k", func(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }))
	if _, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync); err != nil {
		t.Fatal(err)
	}
	holds(t, s, key, "one")
}

// TestSameBytes writes the bytes that are there on the condition of their version. The
// version changes, by an upload in parts.
func TestSameBytes(t *testing.T) {
	f, s := faulty(t, nil)
	old := put(t, s, key, "one")
	now, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfVersion(old)), store.Sync)
	if err != nil || now.Version == old {
		t.Errorf("the version is %v, and before it was %v (%v)", now.Version, old, err)
	}
	if n := f.count(http.MethodPost, "uploadId"); n != 1 {
		t.Errorf("%d uploads, want 1", n)
	}
	holds(t, s, key, "one")
}

// TestConflictInProgress answers 409, which means that a rival writes at this moment.
func TestConflictInProgress(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(firstTimes(2, http.MethodPut, "a/k", answer(http.StatusConflict, "ConditionalRequestConflict")))
	if _, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync); err != nil {
		t.Fatal(err)
	}
	f.set(firstTimes(9, http.MethodPut, "a/k", answer(http.StatusNotFound, "NoSuchKey")))
	_, err := s.Write(t.Context(), store.PutIf(key, []byte("two"), store.IfVersion(holds(t, s, key, "one"))), store.Sync)
	if !errors.Is(err, store.ErrConflict) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("404 to If-Match: error is %v, want %v alone", err, store.ErrConflict)
	}
}

// answer returns a fault that answers with an error.
func answer(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Amz-Request-Id", "ID-7")
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>words of the service</Message><RequestId>ID-7</RequestId></Error>`, code)
		return true
	}
}

// TestFolderGoes answers a write as a service on files does whose folder another request
// deletes. The write is repeated once.
func TestFolderGoes(t *testing.T) {
	f, s := faulty(t, nil)
	write := func(cond store.Condition) error {
		_, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), cond), store.Sync)
		return err
	}
	f.set(firstTimes(1, http.MethodPut, "", answer(http.StatusConflict, "ExistingObjectIsDirectory")))
	if err := write(store.IfAbsent()); err != nil {
		t.Errorf("a folder that goes: %v", err)
	}
	f.set(firstTimes(100, http.MethodPut, "", answer(http.StatusConflict, "ExistingObjectIsDirectory")))
	if _, err := s.Write(t.Context(), store.Put(key, []byte("two")), store.Sync); err == nil || errors.Is(err, store.ErrConflict) || f.count(http.MethodPut, "") != 2 {
		t.Errorf("a folder that stays: %v after %d attempts", err, f.count(http.MethodPut, ""))
	}
	holds(t, s, key, "one")
}

// TestErrorIn200 answers copies and completions with success and an error in the body.
func TestErrorIn200(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.PartSize = 5 << 20 })
	v := put(t, s, key, "one")
	f.set(firstTimes(100, http.MethodPut, "copy", answer(http.StatusOK, "InternalError")))
	if _, err := s.Write(t.Context(), store.Clone(store.MustKey("copy"), key, v), store.Sync); err == nil {
		t.Error("a copy with an error in its answer succeeds")
	}
	f.set(firstTimes(100, http.MethodPost, "uploadId", answer(http.StatusOK, "InternalError")))
	if _, err := s.Write(t.Context(), store.Put(key, make([]byte, 24<<20)), store.Sync); err == nil {
		t.Error("a completion with an error in its answer succeeds")
	}
	if n := f.count(http.MethodDelete, "uploadId"); n == 0 {
		t.Error("the upload was not aborted")
	}
	holds(t, s, key, "one")
}

// TestBrokenListing breaks off answers of a listing, which is repeated. Every object is
// listed once.
func TestBrokenListing(t *testing.T) {
	f, s := faulty(t, nil)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("k%d", i))
		put(t, s, store.MustKey(want[i]), "one")
	}
	for name, declare := range map[string]bool{"the connection ends": true, "the text ends": false} {
		f.set(firstTimes(2, http.MethodGet, "list-type", func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			whole := httptest.NewRecorder()
			next.ServeHTTP(whole, r)
			text := whole.Body.Bytes()
			if declare {
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			}
			_, _ = w.Write(text[:len(text)*2/3])
			return true
		}))
		var got []string
		for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, e.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: listed %q, want %q", name, got, want)
		}
	}
}

// TestErrors checks what errors say, and what they wrap.
func TestErrors(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.Read.Attempts = 2 })
	_, bucket := home(s)
	for _, c := range []struct {
		status     int
		code, says string
		wraps      error
	}{
		{http.StatusNotFound, "NoSuchKey", "", fs.ErrNotExist},
		{http.StatusNotFound, "NoSuchBucket", "check the name of the bucket", store.ErrNoBucket},
		{http.StatusForbidden, "AccessDenied", "anon=true", fs.ErrPermission},
		{http.StatusBadRequest, "KMS.DisabledException", "enable it", fs.ErrPermission},
		{http.StatusForbidden, "RequestTimeTooSkewed", "set the clock of this machine: it shows", nil},
		{http.StatusBadRequest, "ExpiredToken", "expired", nil},
		{http.StatusForbidden, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID", fs.ErrPermission},
		{http.StatusForbidden, "InvalidObjectState", "archive class", fs.ErrPermission},
		{http.StatusBadRequest, "AuthorizationHeaderMalformed", "option region", nil},
		{http.StatusServiceUnavailable, "SlowDown", "2 attempts", nil},
	} {
		f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			return answer(c.status, c.code)(w, r, next)
		})
		_, _, readErr := s.Get(t.Context(), key, store.Request{}, nil)
		_, writeErr := s.Write(t.Context(), store.Put(key, []byte("x")), store.Sync)
		var listErr error
		for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			listErr = err
		}
		for what, err := range map[string]error{"Get": readErr, "Put": writeErr, "List": listErr} {
			if err == nil {
				t.Errorf("%s with %s succeeds", what, c.code)
				continue
			}
			for _, part := range []string{c.code, "ID-7", c.says, "s3://" + bucket + "/p", "words of the service"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s with %s: %v does not say %q", what, c.code, err, part)
				}
			}
			if strings.Contains(err.Error(), s3test.Secret) {
				t.Errorf("%s with %s: the error has the secret", what, c.code)
			}
			for _, wrapped := range []error{fs.ErrNotExist, fs.ErrPermission, store.ErrNoBucket} {
				if errors.Is(err, wrapped) != (wrapped == c.wraps) {
					t.Errorf("%s with %s: %v, is it %v?", what, c.code, err, wrapped)
				}
			}
		}
	}
}

// TestUnrelatedErrors gives reasons that say nothing about what a service can do. Neither
// a deletion of many nor a probe takes them for an answer that it cannot.
func TestUnrelatedErrors(t *testing.T) {
	for _, code := range []string{"ExpiredToken", "KMS.DisabledException", "RequestTimeout", "SlowDown"} {
		f, s := faulty(t, func(o *s3.Options) { o.Conditions, o.Read.Attempts = s3.ProbeConditions, 1 })
		f.set(answer(http.StatusBadRequest, code))
		if _, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync); err == nil {
			t.Errorf("%s: a write succeeds", code)
		}
		f.set(nil)
		if _, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync); err != nil {
			t.Errorf("%s: it is remembered for a service without conditions: %v", code, err)
		}
		many := func() int {
			put(t, s, store.MustKey("d/a"), "one")
			put(t, s, store.MustKey("d/b"), "two")
			before := f.count(http.MethodPost, "delete")
			_ = store.DeleteTree(t.Context(), s, store.MustKey("d/x").Dir(), store.TreeOrder{}, store.Sync)
			return f.count(http.MethodPost, "delete") - before
		}
		f.set(firstTimes(1, http.MethodPost, "delete", answer(http.StatusBadRequest, code)))
		many()
		if n := many(); n != 1 {
			t.Errorf("%s: %d deletions of many, want 1: it is remembered for a service without them", code, n)
		}
	}
}

// TestForeign answers with a page, as proxies and captive networks do.
func TestForeign(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html>sign in to the network</html>")
		return true
	})
	_, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "does not look like S3") {
		t.Errorf("a page instead of an object: error is %v", err)
	}
}

// TestEarlyAnswerLost writes long values to a service that cuts the connection of a write
// before it has read the body, as one does that has answered early that the condition
// does not hold. The answer is lost each time, and the object tells.
func TestEarlyAnswerLost(t *testing.T) {
	f, s := faulty(t, nil)
	one := put(t, s, key, "one")
	two := put(t, s, key, "two")
	f.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodPut {
			return false
		}
		panic(http.ErrAbortHandler) // cuts the connection
	})
	long, other := make([]byte, 16<<20), store.MustKey("other")
	for name, c := range map[string]struct {
		key  store.Key
		cond store.Condition
		want bool
	}{
		"absent, and there is one": {key, store.IfAbsent(), true},
		"another version":          {key, store.IfVersion(one), true},
		"a version of nothing":     {other, store.IfVersion(two), true},
		"the version":              {key, store.IfVersion(two), false},
		"absent":                   {other, store.IfAbsent(), false},
	} {
		if _, err := s.Write(t.Context(), store.PutIf(c.key, long, c.cond), store.Sync); err == nil || errors.Is(err, store.ErrConflict) != c.want {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestRedirection checks that no request leaves for another host.
func TestRedirection(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	f, s := faulty(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		f.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			w.Header().Set("Location", other.URL+"/a/k")
			w.WriteHeader(status)
			return true
		})
		if _, _, err := s.Get(t.Context(), key, store.Request{}, nil); err == nil {
			t.Errorf("Get follows %d", status)
		}
		if _, err := s.Write(t.Context(), store.Put(key, []byte("x")), store.Sync); err == nil {
			t.Errorf("Put follows %d", status)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

// TestRegion answers requests signed for a wrong region with the right one, once.
func TestRegion(t *testing.T) {
	f, s := faulty(t, nil)
	wrong := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if strings.Contains(r.Header.Get("Authorization"), "/eu-west-9/s3/") {
			return false
		}
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-9")
		return answer(http.StatusBadRequest, "AuthorizationHeaderMalformed")(w, r, next)
	}
	f.set(wrong)
	put(t, s, key, "one")
	holds(t, s, key, "one")
	if n := f.count(http.MethodPut, ""); n != 2 {
		t.Errorf("%d requests to put, want 2", n)
	}
	if n := f.count(http.MethodGet, ""); n != 1 {
		t.Errorf("%d requests to get, want 1: the region is known by then", n)
	}
	f, s = faulty(t, nil)
	put(t, s, key, "one")
	f.set(wrong)
	holds(t, s, key, "one")
	if n := f.count(http.MethodGet, ""); n != 2 {
		t.Errorf("%d requests to get, want 2", n)
	}
}

// writes are the times of the last writes, by path.
var writes sync.Map

// recently reports whether there was a write of a path within 3 ms.
func recently(path string) bool {
	at, _ := writes.Swap(path, time.Now())
	last, ok := at.(time.Time)
	return ok && time.Since(last) < 3*time.Millisecond
}

// TestProbe probes services that ignore conditions, or do not know them.
func TestProbe(t *testing.T) {
	ignore := func(headers ...string) func(http.ResponseWriter, *http.Request, http.Handler) bool {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			for _, h := range headers {
				r.Header.Del(h)
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		fault  func(http.ResponseWriter, *http.Request, http.Handler) bool
		writes bool
	}{
		"honest":       {ignore(), true},
		"none match":   {ignore("If-None-Match"), false},
		"match":        {ignore("If-Match"), false},
		"no condition": {ignore("If-None-Match", "If-Match"), false},
		"busy": {func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			// One write a key in 3 ms.
			return r.Method == http.MethodPut && recently(r.URL.Path) && answer(http.StatusTooManyRequests, "TooManyRequests")(w, r, next)
		}, true},
		"too late": {func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			// It writes, and then finds that the condition does not hold.
			if !strings.Contains(r.Header.Get("If-Match"), "00000000") {
				return false
			}
			r.Header.Del("If-Match")
			next.ServeHTTP(httptest.NewRecorder(), r)
			return answer(http.StatusPreconditionFailed, "PreconditionFailed")(w, r, next)
		}, false},
		"refused": {func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			return r.Header.Get("If-None-Match") != "" && answer(http.StatusNotImplemented, "NotImplemented")(w, r, next)
		}, false},
	} {
		f, s := faulty(t, func(o *s3.Options) { o.Conditions = s3.ProbeConditions })
		f.set(c.fault)
		for range 2 {
			_, err := s.Write(t.Context(), store.PutIf(store.MustKey(name+"/k"), []byte("x"), store.IfAbsent()), store.Sync)
			if c.writes != !errors.Is(err, store.ErrUnsupported) || c.writes && err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: error is %v", name, err)
			}
			if n := f.count(http.MethodPut, "__varve-probe"); n > 6 && name != "busy" {
				t.Errorf("%s: %d writes of probes, so it was probed twice", name, n)
			}
		}
		f.set(nil)
		for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil || !c.writes || e.Name != name+"/k" {
				t.Errorf("%s: after a probe there is %q, and error %v", name, e.Name, err)
			}
		}
		// gofakes3 ignores the conditions of deletions.
		if _, err := s.Write(t.Context(), store.DeleteIf(key, store.MakeVersion(`"x"`)), store.Sync); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: DeleteIf: error is %v, want %v", name, err, store.ErrUnsupported)
		}
	}
}

// TestUpload uploads in parts, with failures of parts and of the completion.
func TestUpload(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.PartSize = 5 << 20 })
	value := make([]byte, 23<<20)
	for i := range value {
		value[i] = byte(i * 7 >> 3)
	}
	f.set(firstTimes(2, http.MethodPut, "partNumber=3", answer(http.StatusInternalServerError, "InternalError")))
	if _, err := s.Write(t.Context(), store.PutIf(key, value, store.IfAbsent()), store.Sync); err != nil {
		t.Fatal(err)
	}
	if n := f.count(http.MethodPut, "partNumber"); n != 7 {
		t.Errorf("%d requests for 5 parts of which one fails twice", n)
	}
	got, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err != nil || !bytes.Equal(got, value) {
		t.Fatalf("the object has other bytes (%v)", err)
	}
	f.set(firstTimes(1, http.MethodPost, "uploadId", lose))
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("lost"), value), store.Sync); err != nil {
		t.Errorf("a completion without an answer: %v", err)
	}
	f.set(firstTimes(100, http.MethodPut, "partNumber=2", answer(http.StatusForbidden, "AccessDenied")))
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("denied"), value), store.Sync); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a part that is denied: %v", err)
	}
	if n := f.count(http.MethodDelete, "uploadId"); n != 1 {
		t.Errorf("%d uploads were aborted, want 1", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.set(firstTimes(100, http.MethodPut, "partNumber=2", func(http.ResponseWriter, *http.Request, http.Handler) bool {
		cancel()
		panic(http.ErrAbortHandler)
	}))
	if _, err := s.Write(ctx, store.Put(store.MustKey("cancelled"), value), store.Sync); !errors.Is(err, context.Canceled) {
		t.Errorf("an upload that is cancelled: %v", err)
	}
	if n := f.count(http.MethodDelete, "uploadId"); n != 1 {
		t.Errorf("%d cancelled uploads were aborted, want 1", n)
	}
}

// TestSweep aborts uploads that a crash left.
func TestSweep(t *testing.T) {
	var opt *s3.Options
	f, s := faulty(t, func(o *s3.Options) { o.PartSize, opt = 5<<20, o })
	bucket := ""
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		bucket, _, _ = strings.Cut(r.URL.Path[1:], "/")
		return r.Method == http.MethodDelete && answer(http.StatusForbidden, "AccessDenied")(w, r, next) ||
			strings.Contains(r.URL.RawQuery, "partNumber=2") && answer(http.StatusForbidden, "AccessDenied")(w, r, next)
	})
	if _, err := s.Write(t.Context(), store.Put(key, make([]byte, 21<<20)), store.Sync); err == nil {
		t.Fatal("an upload without one part succeeds")
	}
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		// A service that ignores the prefix lists the uploads of others.
		if q := r.URL.Query(); q.Has("uploads") {
			q.Del("prefix")
			r.URL.RawQuery = q.Encode()
		}
		return false
	})
	if n, err := s.SweepUploads(t.Context(), time.Hour, false); n != 0 || err != nil {
		t.Errorf("%d young uploads were swept (%v)", n, err)
	}
	for _, prefix := range []string{"", "q", "p/b"} {
		other, err := s3.Open(t.Context(), bucket, prefix, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if n, err := other.SweepUploads(t.Context(), 0, false); n != 0 || err != nil {
			t.Errorf("%d uploads of others were swept from the prefix %q (%v)", n, prefix, err)
		}
	}
	for _, dry := range []bool{true, true} {
		if n, err := s.SweepUploads(t.Context(), 0, dry); n != 1 || err != nil {
			t.Errorf("a dry run aborts %d uploads, want 1 (%v)", n, err)
		}
	}
	if n, err := s.SweepUploads(t.Context(), 0, false); n != 1 || err != nil {
		t.Errorf("%d uploads were swept (%v), want 1", n, err)
	}
}

// TestDeleteSome deletes a directory with one request, and alone what that leaves.
func TestDeleteSome(t *testing.T) {
	f, s := faulty(t, nil)
	for i := range 30 {
		put(t, s, store.MustKey(fmt.Sprintf("d/%d", i)), "x")
	}
	put(t, s, key, "one")
	d, err := store.ParsePath("d")
	if err != nil {
		t.Fatal(err)
	}
	f.set(firstTimes(1, http.MethodPost, "delete", func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `<DeleteResult><Error><Key>p/d/3</Key><Code>InternalError</Code><Message>m</Message></Error></DeleteResult>`)
		return true
	}))
	if err := store.DeleteTree(t.Context(), s, d, store.TreeOrder{}, store.Sync); err != nil {
		t.Fatal(err)
	}
	if n := f.count(http.MethodDelete, "p/d/3"); n != 1 {
		t.Errorf("%d requests for the object that was left", n)
	}
	for i := range 2 {
		put(t, s, store.MustKey(fmt.Sprintf("d/%d", i)), "x")
	}
	f.set(firstTimes(100, http.MethodPost, "delete", answer(http.StatusBadRequest, "ExpiredToken")))
	if err := store.DeleteTree(t.Context(), s, d, store.TreeOrder{}, store.Sync); err == nil || f.count(http.MethodDelete, "p/d/") > 0 {
		t.Errorf("with refused credentials: error is %v", err)
	}
	f.set(firstTimes(100, http.MethodPost, "delete", answer(http.StatusBadRequest, "MalformedXML")))
	if err := store.DeleteTree(t.Context(), s, d, store.TreeOrder{}, store.Sync); err != nil {
		t.Fatal(err)
	}
	for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
		if err != nil || e.Name != "a/k" {
			t.Errorf("there is %q (%v)", e.Name, err)
		}
	}
}

// TestAnonymous reads without credentials: by option, and where none are found.
func TestAnonymous(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "public")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
	signed := false
	f.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		signed = signed || r.Header.Get("Authorization") != ""
		return false
	})
	for _, o := range []*s3.Options{{Anonymous: true}, {}} {
		endpoint, bucket := home(s)
		o.Endpoint, o.Region = endpoint, "us-east-1"
		anon, err := s3.Open(t.Context(), bucket, "p", o)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, anon, key, "public")
		if o.Anonymous { // this service would accept a write
			continue
		}
		if _, err := anon.Write(t.Context(), store.Put(key, []byte("x")), store.Sync); err == nil {
			t.Error("a write without credentials succeeds")
		}
	}
	if signed {
		t.Error("a request was signed")
	}
}
