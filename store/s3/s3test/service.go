// SPDX-License-Identifier: Apache-2.0

// Package s3test starts services with the interface of S3 for tests: one in the process,
// and versitygw, where it is installed (store/servers/setup).
package s3test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"varve.dev/zarr/store/s3"
)

// Credentials of every service.
const (
	User   = "varve-test-user"
	Secret = "varve-test-secret"
)

// Service is a service with the interface of S3.
type Service struct {
	URL string
}

// buckets counts the buckets of all services of this process. A bucket with the address
// and the name of one of an ended service would be known by what that one's probe found.
var buckets atomic.Int64

// Fake returns a service in this process, which ends with the test. It ignores If-Match
// of requests that read or delete. After an upload in parts, it answers the completion
// with one ETag and reads with another. Version IDs, which only some of its answers have,
// are left out. A nil wrap changes nothing; else it wraps the handler.
func Fake(t testing.TB, wrap func(http.Handler) http.Handler) *Service {
	t.Helper()
	handler := gofakes3.New(s3mem.New(), gofakes3.WithoutVersioning(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &plain{ResponseWriter: w}
		handler.ServeHTTP(p, r)
		p.begin() // an answer to HEAD may have had no call yet
	}))
	t.Cleanup(server.Close)
	return &Service{URL: server.URL}
}

// plain leaves out version IDs.
type plain struct {
	http.ResponseWriter
	began bool
}

func (p *plain) WriteHeader(status int) {
	p.begin()
	p.ResponseWriter.WriteHeader(status)
}

func (p *plain) Write(b []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(b)
}

func (p *plain) begin() {
	for name := range p.Header() {
		if !p.began && strings.EqualFold(name, "X-Amz-Version-Id") {
			delete(p.Header(), name)
		}
	}
	p.began = true
}

// life is the longest life of a server, if the test does not end it.
const life = 20 * time.Minute

// Gateway starts versitygw on an empty directory, and ends it with the test. Without the
// program it skips the test. It has a bucket with versioning if versioned is set.
func Gateway(t testing.TB, versioned bool) *Service {
	t.Helper()
	program := Program()
	if program == "" {
		t.Skip("versitygw is not installed: store/servers/setup installs it")
	}
	dir := t.TempDir()
	data, old := filepath.Join(dir, "data"), filepath.Join(dir, "old")
	for _, d := range []string{data, old} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	port := free(t)
	ctx, cancel := context.WithTimeout(context.Background(), life)
	args := []string{"--port", port, "--keep-alive", "--quiet", "posix"}
	if versioned {
		args = append(args, "--versioning-dir", old)
	}
	cmd := exec.CommandContext(ctx, program, append(args, data)...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+User, "ROOT_SECRET_KEY="+Secret)
	bind(cmd)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	s := &Service{URL: "http://" + port}
	for range 200 {
		if c, err := net.Dial("tcp", port); err == nil {
			_ = c.Close()
			return s
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("versitygw does not accept connections")
	return nil
}

// Program returns the path of versitygw, or "" if it is not installed.
func Program() string {
	cache := os.Getenv("VARVE_SERVERS")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(dir, "varve-servers")
	}
	path := filepath.Join(cache, "versitygw")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// free returns an address that nobody listens on.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Client returns a client of the SDK.
func (s *Service) Client() *awss3.Client {
	return awss3.New(awss3.Options{
		BaseEndpoint: &s.URL, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(User, Secret, ""),
	})
}

// Bucket makes an empty bucket and returns its name.
func (s *Service) Bucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", buckets.Add(1))
	if _, err := s.Client().CreateBucket(context.Background(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// Versioned makes an empty bucket with versioning.
func (s *Service) Versioned(t testing.TB) string {
	t.Helper()
	name := s.Bucket(t)
	_, err := s.Client().PutBucketVersioning(context.Background(), &awss3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Publish lets everybody read a bucket.
func (s *Service) Publish(t testing.TB, bucket string) {
	t.Helper()
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",`+
		`"Action":["s3:GetObject","s3:ListBucket"],"Resource":["arn:aws:s3:::%[1]s/*","arn:aws:s3:::%[1]s"]}]}`, bucket)
	if _, err := s.Client().PutBucketPolicy(context.Background(), &awss3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// Options returns the options of a store of the service.
func (s *Service) Options() *s3.Options {
	return &s3.Options{
		Endpoint: s.URL, Region: "us-east-1",
		Credentials: aws.CredentialsProvider(credentials.NewStaticCredentialsProvider(User, Secret, "")),
	}
}

// Open opens a store in a bucket.
func (s *Service) Open(t testing.TB, bucket, prefix string) *s3.Store {
	t.Helper()
	st, err := s3.Open(context.Background(), bucket, prefix, s.Options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// Location returns the location of a path, with the options of the service.
func (s *Service) Location(bucket, path string) string {
	q := url.Values{
		"endpoint": {s.URL}, "region": {"us-east-1"}, "access_key_id": {User}, "secret_access_key": {Secret},
	}
	return "s3://" + bucket + "/" + path + "?" + q.Encode()
}
