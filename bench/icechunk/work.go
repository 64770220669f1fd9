// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// measureOne makes one measurement by Varve: ROW FOLDER NUMBER UNSYNCED.
func measureOne(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("want four arguments")
	}
	number, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	w := &work{folder: args[1], number: number, unsynced: args[3] == "true"}
	do := map[string]func(context.Context) (float64, error){
		"listing": w.listing, "arrays": w.arrays, "first": w.first, "lookup": w.lookup, "cube": w.cube,
		"commit": w.commit, "append": w.append, "log": w.log, "gc": w.gc,
	}[args[0]]
	if do == nil {
		return fmt.Errorf("no row %q", args[0])
	}
	w.start = time.Now()
	done, err := do(ctx)
	if err != nil {
		return err
	}
	seconds := time.Since(w.start).Seconds()
	if w.repeats > 0 {
		seconds /= float64(w.repeats)
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer{seconds, float64(usage.Maxrss) * 1024, done})
}

// work is one measurement.
type work struct {
	folder   string
	number   int
	unsynced bool
	start    time.Time // of what is measured
	repeats  int       // what is measured is done so often
}

func (w *work) open(ctx context.Context) (*icechunk.Repository, error) {
	s, err := filestore.Open(w.folder, nil)
	if err != nil {
		return nil, err
	}
	opt := &icechunk.Options{}
	if w.unsynced {
		opt.Durability = store.Flush
	}
	return icechunk.Open(ctx, s, store.Path{}, opt)
}

func (w *work) main(ctx context.Context) (*icechunk.Snapshot, error) {
	r, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	return r.Snapshot(ctx, "main")
}

// array opens an array of the branch main.
func (w *work) array(ctx context.Context, name string) (*zarr.Array, error) {
	s, err := w.main(ctx)
	if err != nil {
		return nil, err
	}
	return zarr.At(s, name).OpenArray(ctx, nil)
}

// session begins a session at the branch main.
func (w *work) session(ctx context.Context) (*icechunk.Session, error) {
	r, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	return r.Session(ctx, "main")
}

func (w *work) listing(ctx context.Context) (n float64, err error) {
	s, err := w.main(ctx)
	if err != nil {
		return 0, err
	}
	for _, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (w *work) arrays(ctx context.Context) (n float64, err error) {
	s, err := w.main(ctx)
	if err != nil {
		return 0, err
	}
	g, err := zarr.At(s, "").OpenGroup(ctx, nil)
	if err != nil {
		return 0, err
	}
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			return 0, err
		}
		if _, ok := m.Node.(*zarr.Array); ok {
			n++
		}
	}
	return n, nil
}

func element(ctx context.Context, a *zarr.Array, i int64) (float64, error) {
	b, err := zarr.Read[int32](ctx, a, selection.Box{{i, i + 1}})
	if err != nil {
		return 0, err
	}
	return float64(b.Data[0]), nil
}

func (w *work) first(ctx context.Context) (float64, error) {
	a, err := w.array(ctx, "a")
	if err != nil {
		return 0, err
	}
	return element(ctx, a, int64(w.number))
}

func (w *work) lookup(ctx context.Context) (total float64, err error) {
	a, err := w.array(ctx, "a")
	if err != nil {
		return 0, err
	}
	for i := int64(0); i < a.Shape()[0]; i += 1000 {
		if _, err := element(ctx, a, i); err != nil {
			return 0, err
		}
	}
	const places = 200
	random := rand.New(rand.NewPCG(1, 1))
	w.start, w.repeats = time.Now(), places
	for range places {
		if _, err := element(ctx, a, random.Int64N(a.Shape()[0])); err != nil {
			return 0, err
		}
	}
	return places, nil
}

func (w *work) cube(ctx context.Context) (float64, error) {
	a, err := w.array(ctx, "cube")
	if err != nil {
		return 0, err
	}
	w.start = time.Now()
	b, err := zarr.Read[float32](ctx, a, nil)
	if err != nil {
		return 0, err
	}
	return math.Trunc(float64(b.Data[len(b.Data)-1])), nil
}

func (w *work) commit(ctx context.Context) (float64, error) {
	s, err := w.session(ctx)
	if err != nil {
		return 0, err
	}
	a, err := zarr.At(s, "v").OpenArray(ctx, nil)
	if err != nil {
		return 0, err
	}
	if err := refer(s, "v", int(a.Shape()[0]), w.number); err != nil {
		return 0, err
	}
	w.start = time.Now()
	_, err = s.Commit(ctx, "change")
	return float64(w.number), err
}

// refer makes the last n chunks of an array virtual ones.
func refer(s *icechunk.Session, name string, chunks, n int) error {
	salt := rand.IntN(1 << 30)
	for i := chunks - n; i < chunks; i++ {
		v := icechunk.Virtual{Location: fmt.Sprintf("file:///elsewhere/%d/%d", salt, i), Length: 4}
		if err := s.SetVirtual(store.Path{}.MustKey(fmt.Sprintf("%s/c/%d", name, i)), v); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) append(ctx context.Context) (n float64, err error) {
	s, err := w.session(ctx)
	if err != nil {
		return 0, err
	}
	g, err := zarr.At(s, "").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		return 0, err
	}
	day := make([]float32, 100*100)
	for i := range day {
		day[i] = float32(i)
	}
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			return 0, err
		}
		if err := zarr.Append(ctx, m.Node.(*zarr.Array), 0, day, nil); err != nil {
			return 0, err
		}
		n++
	}
	_, err = s.Commit(ctx, "a day")
	return n, err
}

func (w *work) log(ctx context.Context) (n float64, err error) {
	r, err := w.open(ctx)
	if err != nil {
		return 0, err
	}
	for _, err := range r.Log(ctx, "main") {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (w *work) gc(ctx context.Context) (float64, error) {
	r, err := w.open(ctx)
	if err != nil {
		return 0, err
	}
	report, err := r.CollectGarbage(ctx, &icechunk.GarbageOptions{OlderThan: -1})
	if err != nil {
		return 0, err
	}
	return float64(report.Chunks.Objects), nil
}

// make makes a repository, in a process of its own: processes that this one starts begin
// with its peak of memory.
func (s settings) make(ctx context.Context, folder, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	below, err := filestore.Open(at, nil)
	if err != nil {
		return err
	}
	opt := &icechunk.Options{Durability: store.Flush}
	r, err := icechunk.Open(ctx, below, store.Path{}, opt)
	if err != nil {
		r, err = icechunk.Create(ctx, below, store.Path{}, opt)
	}
	if err != nil {
		return err
	}
	session, err := r.Session(ctx, "main")
	if err == nil {
		err = map[string]func(context.Context, *icechunk.Session) error{
			"arrays": s.makeArrays, "refs": s.makeRefs, "windows": s.makeRefs, "cube": s.makeCube, "days": s.makeDays, "garbage": s.makeArrays,
		}[folder](ctx, session)
	}
	if err == nil {
		_, err = session.Commit(ctx, "made")
	}
	if err == nil && folder == "garbage" {
		err = s.makeGarbage(at)
	}
	return err
}

func (s settings) makeArrays(ctx context.Context, to *icechunk.Session) error {
	for i := range s.arrays {
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(4)}
		a, err := zarr.At(to, fmt.Sprintf("a%04d", i)).CreateArray(ctx, spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, []int32{1, 2, 3, int32(i)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeRefs makes an array of many small chunks, and one of as many virtual ones.
func (s settings) makeRefs(ctx context.Context, to *icechunk.Session) error {
	spec := zarr.Spec{Shape: []int64{int64(s.refs)}, Type: dtype.Int32, Chunks: grid.Chunks(1), Codecs: []metadata.Extension{codec.Bytes("little")}}
	if _, err := zarr.At(to, "a").CreateArray(ctx, spec, nil); err != nil {
		return err
	}
	for i := range s.refs {
		value := binary.LittleEndian.AppendUint32(nil, uint32(i))
		if _, err := store.Write(ctx, to, store.Put(store.Path{}.MustKey("a/c/"+strconv.Itoa(i)), value), store.Flush); err != nil {
			return err
		}
	}
	if _, err := zarr.At(to, "v").CreateArray(ctx, spec, nil); err != nil {
		return err
	}
	return refer(to, "v", s.refs, s.refs)
}

func (s settings) makeCube(ctx context.Context, to *icechunk.Session) error {
	spec := zarr.Spec{Shape: []int64{128, 1024, 1024}, Type: dtype.Float32, Chunks: grid.Chunks(4, 512, 512), Codecs: []metadata.Extension{codec.Bytes("little"), codec.Zstd(3)}}
	a, err := zarr.At(to, "cube").CreateArray(ctx, spec, nil)
	if err != nil {
		return err
	}
	values, random := make([]float32, 128*1024*1024), rand.New(rand.NewPCG(2, 3))
	for i := range values {
		x, y, t := float64(i%1024), float64(i/1024%1024), float64(i/(1024*1024))
		values[i] = float32(280 + 20*math.Sin(x/90)*math.Cos(y/70+t/40) + float64(random.IntN(16))/16)
	}
	return zarr.Write(ctx, a, nil, values)
}

func (s settings) makeDays(ctx context.Context, to *icechunk.Session) error {
	for i := range 10 {
		spec := zarr.Spec{Shape: []int64{365, 100, 100}, Type: dtype.Float32, Chunks: grid.Chunks(1, 100, 100), Codecs: []metadata.Extension{codec.Bytes("little"), codec.Zstd(3)}}
		a, err := zarr.At(to, fmt.Sprintf("v%d", i)).CreateArray(ctx, spec, nil)
		if err != nil {
			return err
		}
		values := make([]float32, 365*100*100)
		for k := range values {
			values[k] = float32(k % 1000)
		}
		if err := zarr.Write(ctx, a, nil, values); err != nil {
			return err
		}
	}
	return nil
}

// makeGarbage writes chunk objects that nothing names.
func (s settings) makeGarbage(at string) error {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // those of IDs
	if err := os.MkdirAll(filepath.Join(at, "chunks"), 0o755); err != nil {
		return err
	}
	for i := range s.gc {
		name := []byte("00000000000000000000")
		for k, n := 10, i; n > 0; k, n = k-1, n/32 {
			name[k] = digits[n%32]
		}
		if err := os.WriteFile(filepath.Join(at, "chunks", string(name)), []byte("garbage"), 0o644); err != nil {
			return err
		}
	}
	return nil
}
