// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// sample is a store whose bytes are to be changed.
type sample struct {
	name    string
	files   map[string][]byte
	names   []string // of the files, sorted
	archive bool     // the one file is a zip archive
}

func newSample(name string, files map[string][]byte) *sample {
	s := &sample{name: name, files: files, names: slices.Sorted(maps.Keys(files))}
	s.archive = len(s.names) == 1 && strings.HasSuffix(s.names[0], ".zip")
	return s
}

// mostSampled is the largest store that becomes a sample, in bytes.
const mostSampled = 256 << 10

// below returns the files of a folder, or the file of that name. It returns nil if they
// are too large.
func below(t *testing.T, z fs.FS, dir string) map[string][]byte {
	t.Helper()
	files, size := map[string][]byte{}, 0
	err := fs.WalkDir(z, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(z, p)
		name := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		if name == "" {
			name = path.Base(p)
		}
		if _, keyErr := store.ParseKey(name); keyErr == nil { // a store in memory accepts only keys
			files[name], size = data, size+len(data)
		}
		return err
	})
	if err != nil || size > mostSampled || len(files) == 0 {
		return nil
	}
	return files
}

// archived returns the sample as a zip archive, deflated if deflate is set.
func archived(t *testing.T, s *sample, deflate bool) *sample {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range s.names {
		h := &zip.FileHeader{Name: name}
		if deflate {
			h.Method = zip.Deflate
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(s.files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return newSample(s.name+".zip", map[string][]byte{"a.zip": out.Bytes()})
}

// contents returns all files of a store in memory.
func contents(t *testing.T, s store.Store) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name] = data
	}
	return files
}

// halfway returns a group whose writer crashed after n requests of a change of two
// arrays, with its pointers and journals and with a reservation. It returns nil if the
// writer did not crash.
func halfway(t *testing.T, n int, consolidated bool) *sample {
	t.Helper()
	ctx, m := t.Context(), memtest.New()
	h := zarr.At(stepping.Conditional(m, stepping.Hooks{}), "")
	g := fixture.Must(h.At("").CreateGroup(ctx, map[string]int{"x": 1}, nil))
	specs := []zarr.Spec{fixture.ShardsOf8(3), fixture.Edges(1, 2), fixture.Edges(3)}
	for i, name := range []string{"a", "b", "c"} {
		fixture.Must(g.At(name).CreateArray(ctx, specs[i], nil))
	}
	if consolidated {
		if err := g.Consolidate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	c := fixture.Must(h.At("c").OpenArray(ctx, &zarr.Options{Write: true}))
	fixture.Must(c.Reserve(ctx, 0, 8, 8))
	var calls atomic.Int64
	dying := zarr.At(stepping.Conditional(m, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
		if calls.Add(1) > int64(n) {
			return stepping.ErrCrashed
		}
		return nil
	}}), "")
	err := appendToBoth(ctx, dying)
	if err == nil {
		return nil
	}
	return newSample(fmt.Sprintf("crashed after %d, consolidated %v", n, consolidated), contents(t, m))
}

func appendToBoth(ctx context.Context, h *zarr.Location) error {
	g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		return err
	}
	rows := func(from int32) []byte { return fixture.LittleEndian(fixture.Numbers(from, 9)) }
	return g.Append(ctx,
		zarr.Addition{Path: "a", Data: rows(1), Type: dtype.Int32}, zarr.Addition{Path: "b", Data: rows(2), Type: dtype.Int32})
}

// samples returns all stores of the test data, some also as archives, and stores that
// crashed writers left.
func samples(t *testing.T) (all []*sample) {
	t.Helper()
	add := func(name string, files map[string][]byte) {
		if files != nil {
			all = append(all, newSample(name, files))
		}
	}
	for name, parent := range map[string]string{"stores": ".", "histories": "final", "others": ".", "selections": "arrays"} {
		z := fixture.OpenZip(t, name+".zip")
		for _, d := range fixture.Must(fs.ReadDir(z, parent)) {
			if d.IsDir() {
				add(name+"/"+d.Name(), below(t, z, path.Join(parent, d.Name())))
			}
		}
	}
	slices.SortFunc(all, func(a, b *sample) int { return strings.Compare(a.name, b.name) })
	for i, s := range all[:len(all):len(all)] {
		all = append(all, archived(t, s, i%2 == 0))
	}
	z := fixture.OpenZip(t, "hostile.zip")
	var manifest struct{ Cases []fixture.HostileCase }
	fixture.ReadJSON(t, z, "manifest.json", &manifest)
	for _, c := range manifest.Cases {
		if c.Kind != "references" {
			add("hostile/"+c.ID, below(t, z, c.Path))
		}
	}
	for _, consolidated := range []bool{false, true} {
		for n := 1; ; n++ {
			s := halfway(t, n, consolidated)
			if s == nil {
				break
			}
			all = append(all, s)
		}
	}
	return all
}

// isMeta reports whether a file is metadata, a pointer or a journal.
func isMeta(name string) bool {
	base := path.Base(name)
	return base == "zarr.json" || strings.HasPrefix(base, ".z") || strings.Contains(name, "__varve")
}

// extremes are numbers that valid metadata does not contain.
var extremes = []string{
	"0", "-1", "1", "2147483647", "4294967296", "9007199254740993", "1000000000000000000", "9223372036854775807", "9223372036854775808",
	"18446744073709551615", "1e18", "1e400", "4.0", "-0", "null", "[]", "{}", `""`, `"NaN"`, "true", "[[1,1000000000000]]", `"../../x"`,
}

var jsonToken = regexp.MustCompile(`-?[0-9][-+.0-9eE]*|"[^"]*"|true|false|null`)

// mutate changes bytes in one of many ways.
func mutate(r *rand.Rand, data, other []byte, meta bool) []byte {
	data = slices.Clone(data)
	n := len(data)
	if n == 0 {
		return append(data, other[:min(len(other), 8)]...)
	}
	at := r.IntN(n)
	to := min(n, at+1+r.IntN(16))
	kinds := 9
	if meta {
		kinds = 14 // mostly by tokens
	}
	switch k := r.IntN(kinds); k {
	case 0:
		data[at] ^= 1 << r.IntN(8)
	case 1:
		data[at] = []byte{0, 1, 127, 128, 255, byte(r.Uint32())}[r.IntN(6)]
	case 2:
		data = data[:at]
	case 3:
		data = slices.Delete(data, at, to)
	case 4:
		data = slices.Insert(data, at, data[at:to]...)
	case 5:
		data = slices.Insert(data, at, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()))
	case 6, 7: // lengths and offsets, in an index, a frame or a directory
		v := []uint64{0, 1, uint64(n), uint64(n - 1), 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(0) - 1, r.Uint64N(uint64(2*n + 1))}[r.IntN(12)]
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		if k == 7 {
			binary.BigEndian.PutUint64(word[:], v)
		}
		copy(data[at:], word[:1<<r.IntN(4)])
	case 8:
		if len(other) > 0 {
			from := r.IntN(len(other))
			data = slices.Concat(data[:at], other[from:min(len(other), from+1+r.IntN(64))], data[to:])
		}
	default:
		tokens := jsonToken.FindAllIndex(data, -1)
		if len(tokens) == 0 {
			return data[:at]
		}
		a, b := tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]
		with := []byte(extremes[r.IntN(len(extremes))])
		if k > 11 {
			with = data[b[0]:b[1]]
		}
		data = slices.Concat(data[:a[0]], with, data[a[1]:])
	}
	return data
}

// mutant returns a store like the sample, with at most three changes.
func (s *sample) mutant(r *rand.Rand, other *sample) memtest.Store {
	files := maps.Clone(s.files)
	for range 1 + r.IntN(3) {
		name := s.names[r.IntN(len(s.names))]
		for try := 0; try < 4 && !isMeta(name) && r.IntN(2) == 0; try++ {
			name = s.names[r.IntN(len(s.names))]
		}
		from := other.files[other.names[r.IntN(len(other.names))]]
		switch {
		case r.IntN(60) == 0 && !s.archive:
			delete(files, name)
		case r.IntN(60) == 0:
			files[name] = from
		default:
			files[name] = mutate(r, files[name], from, isMeta(name))
		}
	}
	m := memtest.New()
	for name, data := range files {
		fixture.Must(m.Write(context.Background(), store.Put(store.MustKey(name), data), store.Flush))
	}
	return m
}

// explorer uses a damaged store as programs do.
type explorer struct {
	ctx   context.Context
	write bool
	errs  int
	fine  int
}

func (e *explorer) note(err error) {
	if err != nil {
		e.errs++
	} else {
		e.fine++
	}
}

// options returns the options of a careful program.
func (e *explorer) options() *zarr.Options {
	return &zarr.Options{Write: e.write, Concurrency: 2, Limits: zarr.Limits{Chunk: 1 << 20, InnerChunks: 1 << 12, Block: 1 << 20}}
}

// all opens the root and all nodes below it.
func (e *explorer) all(s store.Store) {
	h := zarr.At(s, "")
	n, err := h.At("").Open(e.ctx, e.options())
	if e.note(err); err != nil {
		_, err = h.At("").Metadata(e.ctx, e.options())
		e.note(err)
		return
	}
	defer n.Close()
	if a, ok := n.(*zarr.Array); ok {
		e.array(a)
		return
	}
	g := n.(*zarr.Group)
	members, arrays := 0, 0
	for m, err := range g.Members(e.ctx, true) {
		if e.note(errors.Join(err, m.Err)); err != nil {
			break
		}
		if members++; members > 100 {
			break
		}
		if a, err := g.At(m.Path).OpenArray(e.ctx, nil); err == nil && arrays < 4 {
			arrays++
			e.array(a)
		}
	}
	e.note(g.CheckDimensions(e.ctx))
	if e.write {
		e.note(g.Consolidate(e.ctx))
	}
}

// array reads an array: its description, its first elements and its shards.
func (e *explorer) array(a *zarr.Array) {
	_, _, _ = a.Notes(), a.DimensionNames(), a.Grid().AppendConfiguration(nil)
	_, err := a.Metadata().Marshal(metadata.Limits{})
	e.note(err)
	seen := 0
	for c := range a.Chunks() {
		_, err := a.ChunkInfo(e.ctx, c.Index)
		e.note(err)
		if seen++; seen == 2 {
			break
		}
	}
	for _, err := range a.StoredChunks(e.ctx) {
		if seen++; err != nil || seen > 200 {
			break
		}
	}
	for _, err := range a.CheckShards(e.ctx, &zarr.CheckOptions{IndexOnly: !e.write}) {
		if seen++; err != nil || seen > 400 {
			break
		}
	}
	box, n := make(selection.Box, a.Rank()), int64(1)
	for i, length := range a.Shape() {
		box[i][1] = min(length, max(1, fixture.FuzzElements/max(1, n)))
		n *= box[i][1]
	}
	if n > fixture.FuzzElements || a.Type().Size() > 1<<10 {
		return
	}
	if a.Type().Variable() {
		_, err := zarr.Read[[]byte](e.ctx, a, box)
		e.note(err)
	} else {
		data := make([]byte, n*int64(a.Type().Size()))
		e.note(a.ReadBytes(e.ctx, box, data))
		if e.write {
			e.note(a.WriteBytes(e.ctx, box, data))
		}
	}
	if e.write {
		e.change(a)
	}
}

// change makes changes that every array permits.
func (e *explorer) change(a *zarr.Array) {
	_, err := a.Reservation(e.ctx)
	e.note(err)
	e.note(a.UpdateAttributes(e.ctx, func([]byte) ([]byte, error) { return []byte(`{"a":1}`), nil }))
	shape := a.Shape()
	for i, n := range shape {
		shape[i] = n + 1 - n>>62
	}
	e.note(a.Resize(e.ctx, shape, nil))
}

// TestSoakMutants changes bytes of stores: in documents, consolidated metadata, chunks,
// shard indexes, archives, and pointers and journals of crashed writers. Opening,
// reading, checking and changing the result gives elements or an error, without a delay,
// without much memory, and never a panic.
func TestSoakMutants(t *testing.T) {
	racing.Skip(t) // other tests must not run: their memory would count
	all := samples(t)
	if len(all) < 815 {
		t.Errorf("only %d stores", len(all))
	}
	count, fine, errs := fixture.Soaked(t, 3*len(all)/2, 200_000), 0, 0
	for i := range count {
		s := all[i%len(all)]
		label := fmt.Sprintf("mutant %d of %s", i, s.name)
		late := time.AfterFunc(time.Minute, func() { panic(label + " hangs") })
		r := rand.New(rand.NewPCG(uint64(i), 815))
		m := s.mutant(r, all[r.IntN(len(all))])
		e := &explorer{ctx: t.Context(), write: i%4 == 3}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exploreOne(t, label, e, s, m)
		runtime.ReadMemStats(&after)
		most := uint64(fixture.FuzzMemory)
		if e.write {
			most *= 4 // an encoder of zstd takes 36 MiB at its highest level
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: %d MiB were allocated", label, used>>20)
		}
		late.Stop()
		fine, errs = fine+e.fine, errs+e.errs
		if (i+1)%20_000 == 0 {
			t.Logf("%d of %d mutants", i+1, count)
		}
	}
	t.Logf("%d mutants of %d stores: %d calls succeeded, %d failed, none panicked", count, len(all), fine, errs)
}

// exploreOne explores a mutant, and reports its label if that panics.
func exploreOne(t *testing.T, label string, e *explorer, s *sample, m memtest.Store) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v", label, p)
			panic(p)
		}
	}()
	if !s.archive {
		e.all(m)
		return
	}
	e.write = false
	z, err := zipstore.Open(e.ctx, m, store.MustKey(s.names[0]), nil)
	if e.note(err); err == nil {
		e.all(z)
		e.note(store.Close(z))
	}
}
