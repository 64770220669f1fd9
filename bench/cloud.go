// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/s3"
)

// links are the ways to the bucket: without a detour, and shaped so that the server, the
// proxy and the programs do not compete for the cores of the machine.
var links = []struct {
	name, words string
	link        link
}{
	{"far", "20 ms away at 100 MB/s", link{20 * time.Millisecond, 100e6}},
	{"near", "on this machine", link{}},
}

// cloudRows returns the rows of an object store.
func cloudRows(z size) []row {
	var all []row
	for i := range links {
		l := &links[i]
		add := func(id, title string, r row) {
			r.id, r.title, r.link = l.name+"/"+id, title+", "+l.words, &l.link
			all = append(all, r)
		}
		read := func(set string, n int) {
			add(set+"/all", fmt.Sprintf("read all of %s with %d requests at a time", set, n), row{
				set: set, request: protocol.Request{Work: protocol.ReadAll, Concurrency: n},
			})
		}
		read("zstd", 32)
		read("shard", 32)
		read("cells-raw", 128)
		add("shard/planes", "read planes of shard one by one", row{
			set: "shard", regions: "planes", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
		})
		add("tiny/some-inner", fmt.Sprintf("read %d inner chunks of one shard, 32 at a time", z.inner), row{
			set: "tiny", regions: "some-inner", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 32},
		})
		for _, set := range []string{"group", "group-consolidated"} {
			add(set, fmt.Sprintf("open all %d arrays of %s", z.arrays, set), row{set: set, request: protocol.Request{Work: protocol.Members}})
		}
		add("append", "append 10 days one by one", row{set: "bucket-days", seeded: true, request: protocol.Request{Work: protocol.Append, Count: 10}})
		add("shard/copy", "read shard by shards and write it anew, 4 at a time", row{
			set: "shard", regions: "chunks", request: protocol.Request{Work: protocol.Copy, Concurrency: 4},
		})
	}
	return all
}

// bucketDays is an array of one day in each chunk, to which all candidates can append.
func bucketDays() set {
	return set{name: "bucket-days", values: days, spec: zarr.Spec{
		Shape: []int64{30, 90, 180}, Type: dtype.Float32, Codecs: packed(), Chunks: every(1, 90, 180),
	}}
}

// cloudCandidates returns the candidates for an object store. zarrita has no client for
// one, and reads the public bucket as a web server.
func cloudCandidates(cache string) (all []candidate) {
	for _, c := range allCandidates(cache) {
		switch c.name {
		case "varve", "zarrs", "tensorstore":
		case "zarr-python":
			for _, client := range []string{"obstore", "s3fs"} {
				with := c
				with.name = "zarr-python-" + client
				with.adjust = func(q *protocol.Request) { q.Client = client }
				all = append(all, with)
			}
			continue
		case "zarrita", "limit":
			c.adjust = unsigned
		default:
			continue
		}
		all = append(all, c)
	}
	return all
}

// unsigned turns locations of the bucket into URLs.
func unsigned(q *protocol.Request) {
	q.Store = strings.Replace(q.Store, "s3://", os.Getenv("AWS_ENDPOINT_URL")+"/", 1)
	q.Target = strings.Replace(q.Target, "s3://", os.Getenv("AWS_ENDPOINT_URL")+"/", 1)
}

// cloudAll measures the rows of an object store.
func cloudAll(ctx context.Context, s settings) error {
	rows := cloudRows(s.size)
	if len(s.rows) > 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !named(r.id, s.rows) })
	}
	var found []candidate
	var missing []string
	for _, c := range cloudCandidates(s.cache) {
		switch {
		case len(s.candidates) > 0 && !slices.Contains(s.candidates, c.name):
		case c.available():
			found = append(found, c)
		default:
			missing = append(missing, c.name)
		}
	}
	if run, err := offer(s, rows, func(r row) (id, title string) { return r.id, r.title }, found, missing); !run {
		return err
	}
	b, err := newBench(s)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	b.sets["bucket-days"] = bucketDays()
	if b.bucket, err = openBucket(ctx, filepath.Join(b.scratch, "bucket")); err != nil {
		return err
	}
	defer func() { _ = b.bucket.close() }() // the folder of b goes anyway
	report := &clouded{report{Machine: describe(s, missing)}}
	for _, r := range rows {
		m, err := b.measure(ctx, r, found)
		if err != nil {
			return fmt.Errorf("row %s: %w", r.id, err)
		}
		report.Rows = append(report.Rows, m)
		fmt.Fprintln(os.Stderr, line(m))
	}
	return save(s.out, report)
}

// clouded is the results of an object store.
type clouded struct{ report }

const cloudExplanation = `
The server is versitygw on the same machine. Rows that begin with "far" reach it through a proxy in this program that delays each request
by 20 ms and lets all requests share 100 MB/s in each direction; the others reach it without a detour and compete with it for the cores.
The programs take turns on the same bucket. Each measures the seconds of its work, from opening the store on. The tables have the median
of all rounds; ± is half of the difference between the slowest and the fastest round. All answers were checked, except for "limit", which
downloads the objects with the same number of requests at a time, by Go's client for HTTP and without signatures. zarrita reads the bucket
as a web server, because it has no client for S3. Requests are those of one run; short work, as opening a group, is repeated within it
for 0.2 s.
`

func (r *clouded) markdown(w io.Writer) {
	fmt.Fprint(w, "# Object stores\n\n")
	r.Machine.markdown(w)
	fmt.Fprint(w, cloudExplanation)
	r.overview(w)
	for _, row := range r.Rows {
		row.markdown(w)
	}
}

// bucketName is the name of the only bucket. Everybody may read it, because one candidate
// and the limit do not sign their requests.
const bucketName = "varve-bench"

// account is what all candidates find in their environment.
var account = map[string]string{
	"AWS_ACCESS_KEY_ID": "varve-bench-user", "AWS_SECRET_ACCESS_KEY": "varve-bench-secret", "AWS_REGION": "us-east-1",
	"AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true",
}

// bucket is versitygw, a server with the interface of S3, with one bucket.
type bucket struct {
	url    string
	folder string // of the values
	cmd    *exec.Cmd
	stored map[string]bool // the sets that are uploaded
}

// errNoGateway says that there is no server.
var errNoGateway = errors.New("versitygw is not installed: store/servers/setup installs it")

// gateway returns the path of the program that store/servers/setup installs.
func gateway() (string, error) {
	folder := os.Getenv("VARVE_SERVERS")
	if cache, err := os.UserCacheDir(); err == nil && folder == "" {
		folder = filepath.Join(cache, "varve-servers")
	}
	if name, err := exec.LookPath(filepath.Join(folder, "versitygw")); err == nil {
		return name, nil
	}
	name, err := exec.LookPath("versitygw")
	if err != nil {
		return "", errNoGateway
	}
	return name, nil
}

// openBucket starts the server on an empty folder, for at most an hour.
func openBucket(ctx context.Context, folder string) (*bucket, error) {
	program, err := gateway()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := errors.Join(l.Close(), os.MkdirAll(folder, 0o777)); err != nil {
		return nil, err
	}
	for name, value := range account {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	b := &bucket{url: "http://" + address, folder: folder, stored: map[string]bool{}}
	b.cmd = exec.CommandContext(ctx, program, "--port", address, "--keep-alive", "--quiet", "posix", folder)
	b.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+account["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY="+account["AWS_SECRET_ACCESS_KEY"])
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("versitygw: %w", err)
	}
	time.AfterFunc(time.Hour, func() { _ = b.cmd.Process.Kill() }) // it has ended long ago
	if err := b.create(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// create waits for the server and makes the bucket.
func (b *bucket) create(ctx context.Context) error {
	for range 200 {
		if c, err := net.Dial("tcp", b.url[len("http://"):]); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	client := awss3.New(awss3.Options{
		BaseEndpoint: &b.url, Region: account["AWS_REGION"], UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: account["AWS_ACCESS_KEY_ID"], SecretAccessKey: account["AWS_SECRET_ACCESS_KEY"]}, nil
		}),
	})
	if _, err := client.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String(bucketName)}); err != nil {
		return err
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",`+
		`"Action":["s3:GetObject","s3:ListBucket"],"Resource":["arn:aws:s3:::%[1]s/*","arn:aws:s3:::%[1]s"]}]}`, bucketName)
	_, err := client.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: aws.String(bucketName), Policy: &policy})
	return err
}

func (b *bucket) close() error {
	err := b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
	return errors.Join(err, os.RemoveAll(b.folder))
}

// link is how a candidate reaches the bucket.
type link struct {
	latency   time.Duration
	bandwidth float64 // bytes per second in each direction, of all requests together, or 0
}

// through lets all programs reach the bucket by a link. It returns the proxy that shapes
// it, or nil if there is none.
func (b *bucket) through(l link) (*far, error) {
	if l.bandwidth == 0 {
		return nil, os.Setenv("AWS_ENDPOINT_URL", b.url)
	}
	to, err := url.Parse(b.url)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.DisableCompression = 1000, 1000, true
	f, err := serveAs(&httputil.ReverseProxy{Transport: transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // the signature covers it
	}}, l.latency, l.bandwidth)
	if err != nil {
		return nil, err
	}
	return f, os.Setenv("AWS_ENDPOINT_URL", f.url[:len(f.url)-1])
}

// location returns the location of a store of the bucket.
func location(name string) string { return "s3://" + bucketName + "/" + name }

// open opens the bucket without a detour.
func (b *bucket) open(ctx context.Context) (*s3.Store, error) {
	return s3.Open(ctx, bucketName, "", &s3.Options{Endpoint: b.url})
}

// upload stores a data set, unless it is there already.
func (b *bucket) upload(ctx context.Context, dir string) error {
	if name := filepath.Base(dir); !b.stored[name] {
		from, err := filestore.Open(dir, nil)
		if err != nil {
			return err
		}
		defer store.Close(from)
		b.stored[name] = true
		return b.copy(ctx, from, store.Path{}, name)
	}
	return nil
}

// copy stores all values of a folder below a name.
func (b *bucket) copy(ctx context.Context, from store.Store, folder store.Path, name string) error {
	to, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer to.Close()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for e, err := range store.List(ctx, from, folder, store.Deep) {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			source, err := folder.Key(e.Name)
			if err != nil {
				return err
			}
			key, err := store.ParseKey(name + "/" + e.Name)
			if err == nil {
				_, err = store.Write(within, to, store.Copy(key, from, source), store.Flush)
			}
			return err
		})
	}
	return group.Wait()
}

// target prepares an empty store and returns its name. With all it begins as a copy of
// the set, otherwise it has the document only.
func (b *bucket) target(ctx context.Context, set string, all bool) (string, error) {
	const name = "target.zarr"
	// The server stores values as files.
	if err := os.RemoveAll(filepath.Join(b.folder, bucketName, name)); err != nil {
		return "", err
	}
	s, err := b.open(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if all {
		at, err := store.ParsePath(set)
		if err != nil {
			return "", err
		}
		return location(name), b.copy(ctx, s, at, name)
	}
	_, err = store.Write(ctx, s, store.Copy(store.MustKey(name+"/zarr.json"), s, store.MustKey(set+"/zarr.json")), store.Flush)
	return location(name), err
}

// Properties of a far store.
const (
	latency   = 20 * time.Millisecond
	bandwidth = 200e6 // bytes per second, of all requests together
)

// far serves values like a far store: every request waits, and all share the bandwidth,
// in each direction of their own.
type far struct {
	url             string
	server          *http.Server
	requests, bytes atomic.Int64
	way, back       way // of answers, and of the bodies of requests
}

// way is the shared connection of all answers.
type way struct {
	mutex     sync.Mutex
	free      time.Time
	bandwidth float64
}

// take waits until n bytes are transferred.
func (w *way) take(n int) {
	w.mutex.Lock()
	// An idle connection does not save bandwidth for later.
	if now := time.Now(); w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.bandwidth * 1e9))
	// Sleep without the mutex, so that other answers can queue behind this one.
	until := w.free
	w.mutex.Unlock()
	time.Sleep(time.Until(until))
}

// serve starts a server of a folder on this machine.
func serve(dir string, latency time.Duration, bandwidth float64) (*far, error) {
	return serveAs(http.FileServer(http.Dir(dir)), latency, bandwidth)
}

// serveAs starts a server on this machine that answers as another handler does.
func serveAs(handler http.Handler, latency time.Duration, bandwidth float64) (*far, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &far{url: "http://" + l.Addr().String() + "/", way: way{bandwidth: bandwidth}, back: way{bandwidth: bandwidth}}
	f.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		time.Sleep(latency)
		r.Body = slowBody{r.Body, &f.back}
		handler.ServeHTTP(&slow{rw, f}, r)
	})}
	go func() { _ = f.server.Serve(l) }()
	return f, nil
}

func (f *far) close() { _ = f.server.Close() }

func (f *far) reset() {
	f.requests.Store(0)
	f.bytes.Store(0)
}

func (f *far) counts() (requests, bytes int64) { return f.requests.Load(), f.bytes.Load() }

// slow is an answer with limited bandwidth.
type slow struct {
	http.ResponseWriter
	far *far
}

// Write sends few bytes at a time, so that answers share the bandwidth.
func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), 32<<10)]
		s.far.way.take(len(part))
		var k int
		k, err = s.ResponseWriter.Write(part)
		n, p = n+k, p[k:]
		s.far.bytes.Add(int64(k))
	}
	return n, err
}

// slowBody is the body of a request with limited bandwidth.
type slowBody struct {
	io.ReadCloser
	way *way
}

func (s slowBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p[:min(len(p), 32<<10)])
	if n > 0 {
		s.way.take(n)
	}
	return n, err
}

// ideal returns the minimum time to read the document and then all chunks with n
// concurrent requests. Each request waits for the latency, and then its bytes are
// transferred one after another.
func ideal(dir string, n int, latency time.Duration, bandwidth float64) (float64, error) {
	var lengths []int64
	err := filepath.WalkDir(filepath.Join(dir, "c"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			lengths = append(lengths, info.Size())
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("chunks of %s: %w", dir, err)
	}
	document, err := os.Stat(filepath.Join(dir, "zarr.json"))
	if err != nil {
		return 0, err
	}
	begin := latency.Seconds() + float64(document.Size())/bandwidth
	return schedule(begin, lengths, n, latency.Seconds(), bandwidth), nil
}

// schedule runs n concurrent requests from begin on, and returns the time at which the
// last one ends.
func schedule(begin float64, lengths []int64, n int, latency, bandwidth float64) float64 {
	free := make([]float64, max(n, 1)) // when each of n may begin its next request
	for i := range free {
		free[i] = begin
	}
	way := begin
	for _, length := range lengths {
		next := 0
		for i := range free {
			if free[i] < free[next] {
				next = i
			}
		}
		way = max(way, free[next]+latency) + float64(length)/bandwidth
		free[next] = way
	}
	for _, t := range free {
		way = max(way, t)
	}
	return way
}
