// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
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
		case c.there():
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
