// SPDX-License-Identifier: Apache-2.0

// Command virtual measures what reading through a manifest costs beside the same chunks
// stored as Zarr, and what joint requests gain. It appends its tables to a file; "run" in
// this folder starts it.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

func main() {
	out := flag.String("out", "../VIRTUAL.md", "append the tables to this `FILE`")
	data := flag.String("data", "", "make the data sets in this `FOLDER`; the default is a temporary one")
	rounds := flag.Int("rounds", 9, "measure so many rounds")
	flag.Parse()
	if err := run(context.Background(), *out, *data, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the data sets, measures, and appends the tables.
func run(ctx context.Context, out, data string, rounds int) error {
	dir, err := os.MkdirTemp(data, "varve-virtual-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := protocol.Machine()
	near, err := measureNear(ctx, dir, rounds)
	if err != nil {
		return err
	}
	far, err := measureFar(ctx, dir, rounds)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	writeNear(f, begin, rounds, near)
	writeFar(f, rounds, far)
	return f.Close()
}

// set is an array that is stored as Zarr, and as one file with a manifest.
type set struct {
	name   string
	shape  []int64
	chunk  []int64
	packed bool // with zstd
	part   selection.Box
	from   string // what is read, for the table
}

// sets are what is read from this machine.
func sets() []set {
	large, small := []int64{256, 256, 1024}, []int64{1024, 64, 1024}
	return []set{
		{"raw-large", large, []int64{16, 128, 128}, false, nil, "256 chunks of 1 MiB, not compressed"},
		{"zstd-large", large, []int64{16, 128, 128}, true, nil, "256 chunks of 1 MiB, zstd"},
		{"raw-small", small, []int64{16, 16, 16}, false, nil, "16,384 chunks of 16 KiB, not compressed"},
		{"zstd-small", small, []int64{16, 16, 16}, true, nil, "16,384 chunks of 16 KiB, zstd"},
		{"raw-plane", large, []int64{16, 128, 128}, false, selection.Box{{0, 256}, {0, 256}, {500, 501}}, "a plane across 32 chunks of 1 MiB, not compressed"},
	}
}

// spec returns the array.
func (s *set) spec() zarr.Spec {
	spec := zarr.Spec{Shape: s.shape, Type: dtype.Float32, Codecs: []metadata.Extension{codec.Bytes("little")}}
	for _, n := range s.chunk {
		spec.Chunks = append(spec.Chunks, grid.Every(n))
	}
	if s.packed {
		spec.Codecs = append(spec.Codecs, codec.ZstdChecksum(0, false))
	}
	return spec
}

// elements returns how many elements are read, and the selection.
func (s *set) elements() (n int64, sel selection.Selection) {
	n = 1
	if s.part == nil {
		for _, x := range s.shape {
			n *= x
		}
		return n, nil
	}
	for _, x := range s.part {
		n *= x[1] - x[0]
	}
	return n, s.part
}

// places of a set, in its folder.
const (
	stored = "stored.zarr" // the chunks as Zarr
	whole  = "whole.vz"    // they are in one file, one after the other
	each   = "each.vz"     // the manifest refers to the chunks of the first
)

// make stores the array in all forms.
func (s *set) make(ctx context.Context, dir string) error {
	a, err := zarr.CreateArray(ctx, filepath.Join(dir, stored), s.spec(), nil)
	if err != nil {
		return err
	}
	defer a.Close()
	n := int64(1)
	for _, x := range s.shape {
		n *= x
	}
	values, random := make([]byte, 0, 4*n), rand.New(rand.NewPCG(1, 2))
	for range n { // numbers of a few digits, which zstd makes smaller by half
		values = binary.NativeEndian.AppendUint32(values, uint32(random.IntN(1<<14))<<8|0x3f<<24)
	}
	if err := a.WriteBytes(ctx, nil, values); err != nil {
		return err
	}
	if err := s.gather(ctx, dir, a.Grid()); err != nil {
		return err
	}
	return refer(ctx, dir)
}

// gather writes the chunks into one file, as other formats have them, and a manifest of
// it.
func (s *set) gather(ctx context.Context, dir string, g *grid.Grid) error {
	spec := s.spec()
	found := &scan.Array{Path: "a", Shape: s.shape, Chunk: s.chunk, Type: spec.Type, Codecs: spec.Codecs}
	var file bytes.Buffer
	file.WriteString("a header") // so that chunks do not begin with a page
	count := g.Chunks()
	total, _ := g.NumChunks()
	for k := range total {
		i, j, l := k/(count[1]*count[2]), k/count[2]%count[1], k%count[2]
		data, err := os.ReadFile(filepath.Join(dir, stored, "c", fmt.Sprint(i), fmt.Sprint(j), fmt.Sprint(l)))
		if err != nil {
			return err
		}
		found.Chunks = append(found.Chunks, scan.Chunk{Number: k, Offset: int64(file.Len()), Length: int64(len(data))})
		file.Write(data)
	}
	if err := os.WriteFile(filepath.Join(dir, "whole.bin"), file.Bytes(), 0o666); err != nil {
		return err
	}
	at, path, err := store.OpenLocation(ctx, dir, store.Create)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, at, store.MustKey("whole.bin"))
	if err != nil {
		return err
	}
	source := virtual.Source{Location: "../whole.bin", Size: info.Size, Modified: info.FileTime.UnixNano()}
	m, _, err := virtual.New(source, &scan.Dataset{Groups: []scan.Group{{}}, Arrays: []*scan.Array{found}})
	if err == nil {
		path, err = path.Join(whole)
	}
	if err != nil {
		return err
	}
	return m.Create(ctx, at, path)
}

// refer makes a manifest of the Zarr array.
func refer(ctx context.Context, dir string) error {
	j, err := virtual.NewJoined(virtual.Join{})
	if err != nil {
		return err
	}
	c, err := virtual.NewCollector(filepath.Join(dir, each))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Collect(ctx, j, []string{filepath.Join(dir, stored)}); err != nil {
		return err
	}
	m, err := j.Finish()
	if err != nil {
		return err
	}
	at, path, err := store.OpenLocation(ctx, dir, store.Create)
	if err == nil {
		path, err = path.Join(each)
	}
	if err != nil {
		return err
	}
	return m.Create(ctx, at, path)
}

// form is where an array is stored, and how long it took to read it in each round.
type form struct {
	name    string
	path    string // below the folder of the set
	seconds []float64
	work    []float64 // processor time in seconds
}

// forms are the forms of each set. The first one is what the others are compared with.
func forms() []form {
	return []form{{name: "Zarr", path: stored}, {name: "manifest of one file", path: whole + "/a"}, {name: "manifest of the Zarr array", path: each}}
}

// measured is a set with its times.
type measured struct {
	set   set
	forms []form
}

// measureNear reads every set in each form, in turns.
func measureNear(ctx context.Context, dir string, rounds int) ([]measured, error) {
	var all []measured
	for _, s := range sets() {
		at := filepath.Join(dir, s.name)
		if err := os.Mkdir(at, 0o777); err != nil {
			return nil, err
		}
		if err := s.make(ctx, at); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		m := measured{s, forms()}
		if err := m.measure(ctx, at, rounds); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if err := os.RemoveAll(at); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// measure reads all forms of a set. The first round does not count: in it all elements
// are compared.
func (m *measured) measure(ctx context.Context, dir string, rounds int) error {
	n, sel := m.set.elements()
	want, got := make([]byte, 4*n), make([]byte, 4*n)
	for round := range rounds + 1 {
		for k := range m.forms {
			f := &m.forms[(k+round)%len(m.forms)] // no form is always the first
			runtime.GC()
			t := protocol.Start()
			seconds, err := read(ctx, filepath.Join(dir, f.path), sel, got)
			_, work := t.Stop()
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			switch {
			case round > 0:
				f.seconds, f.work = append(f.seconds, seconds), append(f.work, work)
			case k == 0:
				copy(want, got)
			case !bytes.Equal(want, got):
				return fmt.Errorf("%s: other elements", f.name)
			}
		}
	}
	return nil
}

// read opens an array, reads a part of it, and returns how long both took, in seconds.
func read(ctx context.Context, location string, sel selection.Selection, dst []byte) (float64, error) {
	begin := time.Now()
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	err = a.ReadBytes(ctx, sel, dst)
	return time.Since(begin).Seconds(), err
}

// writeNear writes the table.
func writeNear(w io.Writer, machine string, rounds int, all []measured) {
	fmt.Fprintf(w, `
## Reading through a manifest

%s

Arrays of 256 MiB on this machine, in the system's cache, are opened and read: stored as Zarr; through a manifest, from one file with the
same chunks one after the other; and through a manifest of the Zarr array itself. They take turns, %d rounds. Ratios are those of one
round, their median and the lowest and highest of the middle half. Processor time is that of this process; it depends less on what else
the machine does.

| read | | ms, median | fastest | ÷ Zarr | processor ms | ÷ Zarr |
|---|---|--:|--:|--:|--:|--:|
`, machine, rounds)
	for _, m := range all {
		for i, f := range m.forms {
			what := m.set.from
			if i > 0 {
				what = ""
			}
			base := m.forms[0]
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", what, f.name, milliseconds(protocol.Median(f.seconds)), milliseconds(slices.Min(f.seconds)), protocol.Ratios(f.seconds, base.seconds), milliseconds(protocol.Median(f.work)), protocol.Ratios(f.work, base.work))
		}
	}
}

// milliseconds returns seconds as text, with three digits that count.
func milliseconds(seconds float64) string {
	if ms := 1000 * seconds; ms < 1000 {
		return fmt.Sprintf("%.3g", ms)
	}
	return fmt.Sprintf("%.0f", math.Round(100*seconds)*10)
}

// latency is the time that the far server waits before it answers a request.
const latency = 20 * time.Millisecond

// server serves a folder of this machine, late.
type server struct {
	http     http.Server
	url      string
	requests atomic.Int64
}

func serve(dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String()}
	files := http.FileServer(http.Dir(dir))
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		time.Sleep(latency)
		files.ServeHTTP(w, r)
	})
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return s, nil
}

// unpaced is a store that does not say that it is far, so that nothing is read jointly.
type unpaced struct{ from store.Store }

// Get implements [store.Store].
func (u unpaced) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return u.from.Get(ctx, key, q, dst)
}

// way is a way to read from the server, and what it took in each round.
type way struct {
	name     string
	path     string
	alone    bool // one request for each chunk
	seconds  []float64
	requests []float64
}

func ways() []way {
	return []way{
		{name: "Zarr, an object for each chunk", path: stored},
		{name: "manifest of one file, a request for each chunk", path: whole + "/a", alone: true},
		{name: "manifest of one file, joint requests", path: whole + "/a"},
	}
}

// farRead is what is read from afar.
type farRead struct {
	from string
	part selection.Box
	ways []way
}

// farSet is the array that is read from afar: 2,048 chunks of 64 KiB.
var farSet = set{name: "far", shape: []int64{512, 256, 256}, chunk: []int64{4, 64, 64}, packed: true}

// measureFar reads from the server, in turns.
func measureFar(ctx context.Context, dir string, rounds int) ([]farRead, error) {
	at := filepath.Join(dir, farSet.name)
	if err := os.Mkdir(at, 0o777); err != nil {
		return nil, err
	}
	defer os.RemoveAll(at)
	if err := farSet.make(ctx, at); err != nil {
		return nil, err
	}
	s, err := serve(at)
	if err != nil {
		return nil, err
	}
	defer s.http.Close()
	all := []farRead{
		{"all 2,048 chunks of 64 KiB, zstd", nil, ways()},
		{"64 chunks that follow each other", selection.Box{{100, 116}, {0, 256}, {0, 256}}, ways()},
		{"128 chunks, each 15 others from the next", selection.Box{{0, 512}, {0, 64}, {0, 64}}, ways()},
	}
	for i := range all {
		if err := all[i].measure(ctx, s, rounds); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure reads in each way. The first round does not count: in it all elements are
// compared.
func (r *farRead) measure(ctx context.Context, s *server, rounds int) error {
	part := farSet
	part.part = r.part
	n, sel := part.elements()
	want, got := make([]byte, 4*n), make([]byte, 4*n)
	for round := range rounds + 1 {
		for k := range r.ways {
			w := &r.ways[(k+round)%len(r.ways)]
			with := ctx
			if w.alone {
				with = store.WithWrapping(ctx, func(s store.Store) store.Store { return unpaced{s} })
			}
			s.requests.Store(0)
			seconds, err := read(with, s.url+"/"+w.path, sel, got)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			switch {
			case round > 0:
				w.seconds, w.requests = append(w.seconds, seconds), append(w.requests, float64(s.requests.Load()))
			case k == 0:
				copy(want, got)
			case !bytes.Equal(want, got):
				return fmt.Errorf("%s: other elements", w.name)
			}
		}
	}
	return nil
}

// writeFar writes the table.
func writeFar(w io.Writer, rounds int, all []farRead) {
	fmt.Fprintf(w, `
## Joint requests

A web server on this machine answers each request after 20 ms. An array is opened and read from it, in turns, %d rounds. Reads of one
file that are made at the same time and lie close to each other share a request of at most 4 MiB.

| read | | requests, median | milliseconds, median | fastest |
|---|---|--:|--:|--:|
`, rounds)
	for _, r := range all {
		for i, x := range r.ways {
			what := r.from
			if i > 0 {
				what = ""
			}
			fmt.Fprintf(w, "| %s | %s | %.0f | %s | %s |\n", what, x.name, protocol.Median(x.requests), milliseconds(protocol.Median(x.seconds)), milliseconds(slices.Min(x.seconds)))
		}
	}
}
