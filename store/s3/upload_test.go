// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // services ask for it
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// TestNoChecksums uploads in parts to a bucket of Amazon's, which the service of the test
// stands for. Neither the upload nor its parts declare a checksum, because a completion
// would need those of copied parts too.
func TestNoChecksums(t *testing.T) {
	var mu sync.Mutex
	var declared []string
	digests, completions := 0, 0
	service := s3test.Fake(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if bucket, _, ok := strings.Cut(r.Host, ".s3.us-east-1."); ok {
				r.URL.Path = "/" + bucket + r.URL.Path
				mu.Lock()
				for h := range r.Header {
					if h = strings.ToLower(h); strings.Contains(h, "checksum") || strings.Contains(h, "trailer") {
						declared = append(declared, r.Method+" "+r.URL.String()+" "+h)
					}
				}
				if r.URL.Query().Has("partNumber") && r.Header.Get("Content-Md5") != "" {
					digests++
				}
				if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
					completions++
					body, _ := io.ReadAll(r.Body)
					if strings.Contains(string(body), "Checksum") {
						declared = append(declared, string(body))
					}
					r.Body = io.NopCloser(strings.NewReader(string(body)))
				}
				mu.Unlock()
			}
			h.ServeHTTP(w, r)
		})
	})
	s := amazon(t, service)
	if _, err := s.Write(t.Context(), store.Put(key, pattern(22<<20, 1)), store.Sync); err != nil {
		t.Fatal(err)
	}
	checkValue(t, s, key, pattern(22<<20, 1))
	if len(declared) > 0 || digests != 5 || completions != 1 {
		t.Errorf("checksums: %q; %d parts with MD5, want 5; %d completions, want 1", declared, digests, completions)
	}
}

// amazon opens a bucket of Amazon's, which a service stands for.
func amazon(t *testing.T, service *s3test.Service) *s3.Store {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "")
	}
	s, err := s3.Open(t.Context(), service.Bucket(t), "p", &s3.Options{
		Region: "us-east-1", PartSize: 5 << 20, Credentials: credentials.NewStaticCredentialsProvider(s3test.User, s3test.Secret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Transport().Proxy = nil
	s.Transport().DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(service.URL, "http://"))
	}
	return s
}

// TestBodySums checks what requests declare of their bodies: to Amazon's service a
// checksum of an object, and of the names to delete, and else hashes that the signature
// covers.
func TestBodySums(t *testing.T) {
	for _, isAmazon := range []bool{true, false} {
		var mu sync.Mutex
		seen := map[string]bool{}
		service := s3test.Fake(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bucket, _, ok := strings.Cut(r.Host, ".s3.us-east-1."); ok {
					r.URL.Path = "/" + bucket + r.URL.Path
				}
				sum, md, hash := crc32.ChecksumIEEE(body), md5.Sum(body), sha256.Sum256(body)
				mu.Lock()
				defer mu.Unlock()
				for name, want := range map[string]string{
					"X-Amz-Checksum-Crc32": base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)),
					"Content-Md5":          base64.StdEncoding.EncodeToString(md[:]),
					"X-Amz-Content-Sha256": hex.EncodeToString(hash[:]),
				} {
					if got := r.Header.Get(name); got == want {
						seen[r.Method+" "+name] = true
					} else if got != "" && (got != "UNSIGNED-PAYLOAD" || !isAmazon) {
						t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, name, got, want)
					}
				}
				h.ServeHTTP(w, r)
			})
		})
		s := service.Open(t, service.Bucket(t), "p")
		want := []string{"PUT X-Amz-Content-Sha256", "POST Content-Md5", "POST X-Amz-Content-Sha256"}
		if isAmazon {
			s = amazon(t, service)
			want = []string{"PUT X-Amz-Checksum-Crc32", "POST X-Amz-Checksum-Crc32", "POST X-Amz-Content-Sha256"}
		}
		clear(seen)
		put(t, s, store.MustKey("a/b"), "one")
		put(t, s, store.MustKey("a/c"), "two")
		dir, err := store.ParsePath("a")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.DeleteTree(t.Context(), s, dir, store.TreeOrder{}, store.Sync); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for _, name := range want {
			if !seen[name] {
				t.Errorf("Amazon %v: no request has %s", isAmazon, name)
			}
		}
		mu.Unlock()
	}
}

// TestNoCopiesMeanwhile finds out that the service does not copy ranges while an upload
// with copied parts begins. Those parts are not read into memory as they are.
func TestNoCopiesMeanwhile(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.PartSize = 5 << 20 })
	value := pattern(24<<20, 1)
	if _, err := s.Write(t.Context(), store.Put(key, value), store.Sync); err != nil {
		t.Fatal(err)
	}
	parts := []store.Part{{Key: key, N: 24 << 20}, {Data: []byte("end")}}
	refuse := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		return r.Header.Get("X-Amz-Copy-Source") != "" && answer(http.StatusNotImplemented, "NotImplemented")(w, r, next)
	}
	var largest atomic.Int64
	f.set(firstTimes(1, http.MethodPost, "uploads", func(http.ResponseWriter, *http.Request, http.Handler) bool {
		f.set(refuse)
		if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("other"), parts), store.Sync); err != nil {
			t.Error(err)
		}
		f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			if r.URL.Query().Has("partNumber") {
				largest.Store(max(largest.Load(), r.ContentLength))
			}
			return refuse(w, r, next)
		})
		return false
	}))
	if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("made"), parts), store.Sync); err != nil {
		t.Fatal(err)
	}
	if n := largest.Load(); n == 0 || n > 6<<20 {
		t.Errorf("the largest part has %d bytes", n)
	}
	checkValue(t, s, store.MustKey("made"), append(value, "end"...))
}

// TestLargeCopy copies an object in parts whose copy could take long.
func TestLargeCopy(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "one")
	var marks marks
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		marks.see(r)
		switch {
		case r.Method == http.MethodHead: // the answer lies about the size
			marks.show(w)
			w.Header().Set("Etag", `"x"`)
			w.Header().Set("Content-Length", fmt.Sprint(300<<20))
			w.WriteHeader(http.StatusOK)
			return true
		case r.URL.Query().Has("partNumber"):
			_, _ = io.WriteString(w, `<CopyPartResult><ETag>"p"</ETag></CopyPartResult>`)
			return true
		case r.Method == http.MethodPost && r.URL.Query().Has("uploadId"):
			_, _ = io.WriteString(w, `<CompleteMultipartUploadResult><ETag>"c-2"</ETag></CompleteMultipartUploadResult>`)
			return true
		}
		return false
	})
	made, err := s.Write(t.Context(), store.Clone(store.MustKey("copy"), key, store.Version{}), store.Sync)
	if err != nil || made.Size != 300<<20 {
		t.Fatalf("Clone: %+v, %v", made, err)
	}
	if n := f.count(http.MethodPut, "partNumber"); n != 2 {
		t.Errorf("%d parts, want 2", n)
	}
}

// TestSlowCompletion completes an upload in a longer time than other requests may take.
func TestSlowCompletion(t *testing.T) {
	f, s := faulty(t, func(o *s3.Options) { o.Read.Stall = 400 * time.Millisecond })
	v := put(t, s, key, "one")
	f.set(firstTimes(1, http.MethodPost, "uploadId", func(http.ResponseWriter, *http.Request, http.Handler) bool {
		time.Sleep(900 * time.Millisecond)
		return false
	}))
	if _, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfVersion(v)), store.Sync); err != nil {
		t.Fatal(err)
	}
	if n := f.count(http.MethodPost, "uploadId"); n != 1 {
		t.Errorf("%d completions, want 1", n)
	}
}

// marks remembers the mark of the last upload, for answers that describe its object.
type marks struct{ last atomic.Value }

const markHeader = "X-Amz-Meta-Varve-Write"

func (m *marks) see(r *http.Request) {
	if mark := r.Header.Get(markHeader); mark != "" && r.Method == http.MethodPost {
		m.last.Store(mark)
	}
}

func (m *marks) show(w http.ResponseWriter) {
	if mark, ok := m.last.Load().(string); ok {
		w.Header().Set(markHeader, mark)
	}
}

// TestProbeFails lets requests of a probe fail for some time. What that looks like is not
// remembered.
func TestProbeFails(t *testing.T) {
	drop := func(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }
	expired := answer(http.StatusBadRequest, "ExpiredToken")
	busy, broken := answer(http.StatusServiceUnavailable, "SlowDown"), answer(http.StatusInternalServerError, "InternalError")
	for what, hit := range map[string]func(r *http.Request) bool{
		"write": func(r *http.Request) bool {
			match := r.Header.Get("If-Match")
			return r.Method == http.MethodPut && match != "" && !strings.Contains(match, "0000000000")
		},
		"copy":   func(r *http.Request) bool { return r.Header.Get("X-Amz-Copy-Source") != "" },
		"look":   func(r *http.Request) bool { return r.Method == http.MethodHead },
		"delete": func(r *http.Request) bool { return r.Method == http.MethodDelete && r.Header.Get("If-Match") != "" },
	} {
		for _, fault := range []func(http.ResponseWriter, *http.Request, http.Handler) bool{drop, expired, busy, broken} {
			f, s := faulty(t, func(o *s3.Options) { o.Conditions, o.Read.Attempts = s3.ProbeConditions, 1 })
			var marks marks
			f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
				marks.see(r)
				if r.Method == http.MethodHead && what == "delete" {
					// The service of the test does not show the ETag of parts.
					marks.show(w)
					w.Header().Set("Etag", `"another"`)
					return true
				}
				return hit(r) && fault(w, r, next)
			})
			act := func() error {
				switch what {
				case "write":
					_, err := s.Write(t.Context(), store.PutIf(key, []byte("x"), store.IfAbsent()), store.Sync)
					return err
				case "copy":
					_, err := s.Write(t.Context(), store.Clone(store.MustKey("copy"), key, store.Version{}), store.Sync)
					return err
				}
				_, err := s.Write(t.Context(), store.DeleteIf(key, store.MakeVersion(`"x"`)), store.Sync)
				return err
			}
			if err := act(); err == nil || errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%s: while requests fail: error is %v", what, err)
			}
			f.set(nil)
			before := f.count(http.MethodPut, "__varve-probe")
			_ = act() // the service lacks what it needs
			if f.count(http.MethodPut, "__varve-probe") == before {
				t.Errorf("%s: the bucket was not probed again", what)
			}
		}
	}
}
