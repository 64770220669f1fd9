// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// The array of a crowd begins with rows of its own for each program that writes to
// regions. The last of them are in the chunk at the border, which appends change, too.
const (
	ownRows   = 10
	chunkRows = 4
	shardRows = 8
	innerRows = 2
)

// ownRow returns the row of a program that writes: the first programs have those at the
// border.
func ownRow(number int) int64 { return ownRows - 1 - int64(number) }

func rowSpec(cut grid.Cut) zarr.Spec {
	return zarr.Spec{Type: dtype.Int32, Shape: []int64{ownRows}, Chunks: []grid.Cut{cut}}
}

func regularRows() zarr.Spec { return rowSpec(grid.Every(chunkRows)) }

func listedRows() zarr.Spec { return rowSpec(grid.Edges(chunkRows, chunkRows, ownRows-2*chunkRows)) }

func regularShards() zarr.Spec { return inShards(rowSpec(grid.Every(shardRows))) }

func listedShards() zarr.Spec { return inShards(rowSpec(grid.Edges(chunkRows, ownRows-chunkRows))) }

func inShards(s zarr.Spec) zarr.Spec {
	s.InnerChunks = grid.Chunks(innerRows)
	return s
}

// rowsOf returns a function that makes an array.
func rowsOf(spec func() zarr.Spec) func(ctx context.Context, location string) error {
	return func(ctx context.Context, location string) error {
		a, err := zarr.CreateArray(ctx, location, spec(), nil)
		if err != nil {
			return err
		}
		return a.Close()
	}
}

// rower is a program that works on an array.
type rower struct {
	role
	*zarr.Array
}

func (r role) openArray(ctx context.Context) (actor, error) {
	a, err := zarr.OpenArray(ctx, r.location, &zarr.Options{Write: !r.isReader()})
	if err != nil {
		return nil, err
	}
	return &rower{r, a}, nil
}

func (r *rower) step(ctx context.Context, k int) error {
	switch r.kind {
	case appends:
		return insist(func() error { return r.append(ctx, k) })
	case streams:
		return stream(ctx, r.Array, batch(firstStream+r.number, k))
	case writes:
		row := ownRow(r.number)
		return insist(func() error {
			return zarr.Write(ctx, r.Array, selection.Box{{row, row + 1}}, []int32{int32(k + 1)})
		})
	case rechunks:
		return beaten(recut(ctx, r.Array, recutting(r.Array, k)))
	case packs:
		return beaten(recut(ctx, r.Array, repacking(r.Array, k)))
	}
	_, err := inspect(ctx, r.Array)
	return err
}

// insist repeats what failed because other programs changed the array all the time.
func insist(do func() error) error {
	for {
		if err := do(); !errors.Is(err, zarr.ErrConflict) {
			return err
		}
	}
}

// rounded is for shards with listed edges, the last of which is lengthened to whole inner
// chunks.
var rounded = &zarr.AppendOptions{RoundUp: true}

// append appends a batch, every other time from a source.
func (r *rower) append(ctx context.Context, k int) error {
	if rows := batch(r.number, k); k%2 == 0 {
		return zarr.Append(ctx, r.Array, 0, rows, rounded)
	} else {
		return r.AppendFrom(ctx, 0, sourceOf(rows), rounded)
	}
}

// sourceOf returns a source of rows.
func sourceOf(rows []int32) *zarr.Source {
	return &zarr.Source{Shape: []int64{int64(len(rows))}, Read: func(_ context.Context, box grid.Box, dst []byte) error {
		for i, v := range rows[box[0].Start:box[0].Stop] {
			binary.NativeEndian.PutUint32(dst[4*i:], uint32(v))
		}
		return nil
	}}
}

// stream appends rows as a stream does. If another program changes the array, it
// continues behind the rows that are published.
func stream(ctx context.Context, a *zarr.Array, rows []int32) error {
	for {
		s, err := a.Stream(ctx, 0, &zarr.StreamOptions{RoundUp: true})
		if err != nil {
			return err
		}
		begin := s.Stats().Written
		if err = zarr.WritePlanes(ctx, s, rows); err == nil {
			err = s.Close(ctx)
		}
		if !errors.Is(err, zarr.ErrConflict) {
			return err
		}
		rows = rows[s.Stats().Published-begin:]
	}
}

// inspect reads the array and checks its rows.
func inspect(ctx context.Context, a *zarr.Array) (*found, error) {
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	rows, err := count(ownRows, b.Data[ownRows:])
	return &found{b.Data[:ownRows], rows}, err
}

// finalRows rechunks an array once more, and reads it.
func finalRows(ctx context.Context, location string) (*found, error) {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	request := repacking(a, 2)
	err = recut(ctx, a, request)
	if errors.Is(err, rechunk.ErrClaimed) { // by a program that was killed
		if err = rechunk.Abandon(ctx, a, &rechunk.Options{TakeOver: true}); err == nil {
			err = recut(ctx, a, request)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the next rechunk: %w", err)
	}
	return inspect(ctx, a)
}

// batchRows is the number of rows of a batch. It divides no chunk.
const batchRows = 5

// firstStream is the number from which on batches are those of streams. Their rows may
// become visible chunk by chunk, with rows of others in between.
const firstStream = 20

// batch returns the rows that a program appends in step k.
func batch(number, k int) []int32 {
	rows := make([]int32, batchRows)
	for i := range rows {
		rows[i] = int32((number+1)*100_000 + k*10 + i)
	}
	return rows
}

// found is what the arrays of a crowd contain.
type found struct {
	own  []int32     // the rows of the programs that write
	rows map[int]int // the number of rows of each program that appends, by its number
}

// count counts the rows of each program. It checks that those of each are in order and
// there once, and that the batches are whole but for those of streams. The first row is
// row number at.
func count(at int, rows []int32) (map[int]int, error) {
	counts := map[int]int{}
	for len(rows) > 0 {
		number := int(rows[0])/100_000 - 1
		n := counts[number]
		want := batch(number, n/batchRows)[n%batchRows:]
		if number >= firstStream {
			want = want[:1]
		}
		if got := rows[:min(len(want), len(rows))]; !slices.Equal(got, want) {
			return nil, fmt.Errorf("wrong: row %d and those that follow are %v, want %v", at, got, want)
		}
		counts[number] += len(want)
		at, rows = at+len(want), rows[len(want):]
	}
	return counts, nil
}

// steps returns the number of steps of a program that are there, and whether a part of
// the next one is. It returns what was acknowledged of a program that leaves nothing.
func (f *found) steps(p *program) (n int, part bool) {
	switch p.kind {
	case appends, joins:
		return f.rows[p.number] / batchRows, false
	case streams:
		rows := f.rows[firstStream+p.number]
		return rows / batchRows, rows%batchRows > 0
	case writes:
		return int(f.own[ownRow(p.number)]), false
	}
	return p.done, false
}

// The group of a crowd has an axis of time, and two arrays along it: one of planes with
// listed edges, and one in shards. Their elements follow from those of time.
const planeColumns = 3

// planes returns the elements of the array with listed edges.
func planes(rows []int32) []int32 {
	out := make([]int32, 0, planeColumns*len(rows))
	for _, v := range rows {
		for j := range int32(planeColumns) {
			out = append(out, 4*v+j)
		}
	}
	return out
}

// negative returns the elements of the array in shards.
func negative(rows []int32) []int32 {
	out := make([]int32, len(rows))
	for i, v := range rows {
		out[i] = -v
	}
	return out
}

// groupSpecs are the arrays of a group, without elements.
func groupSpecs() map[string]zarr.Spec {
	typ, time := dtype.Int32, []string{"time"}
	return map[string]zarr.Spec{
		"time":   {Shape: []int64{0}, Type: typ, Chunks: grid.Chunks(chunkRows), DimensionNames: time},
		"planes": {Shape: []int64{0, planeColumns}, Type: typ, Chunks: []grid.Cut{grid.Edges(), grid.Every(2)}, DimensionNames: []string{"time", "x"}},
		"shards": inShards(zarr.Spec{Shape: []int64{0}, Type: typ, Chunks: grid.Chunks(shardRows), DimensionNames: time}),
	}
}

func createGroup(ctx context.Context, location string) error {
	g, err := zarr.CreateGroup(ctx, location, nil, nil)
	if err != nil {
		return err
	}
	defer g.Close()
	for name, spec := range groupSpecs() {
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			return err
		}
	}
	return g.Consolidate(ctx)
}

// joiner is a program that works on a group.
type joiner struct {
	role
	*zarr.Group
}

func (r role) openGroup(ctx context.Context) (actor, error) {
	g, err := zarr.OpenGroup(ctx, r.location, &zarr.Options{Write: !r.isReader()})
	if err != nil {
		return nil, err
	}
	return &joiner{r, g}, nil
}

func (j *joiner) step(ctx context.Context, k int) error {
	if j.kind == joins {
		return join(ctx, j.Group, batch(j.number, k))
	}
	_, err := look(ctx, j.At(""), j.number%2 == 0)
	return err
}

// join appends rows to all arrays at once. It repeats what other programs got in the way
// of. A change that is decided is made, and the next writer completes it.
func join(ctx context.Context, g *zarr.Group, rows []int32) error {
	return insist(func() error {
		err := g.Append(ctx, zarr.Add("time", 0, rows, nil), zarr.Add("planes", 0, planes(rows), nil),
			zarr.Addition{Path: "shards", From: sourceOf(negative(rows)), Options: rounded})
		if errors.Is(err, zarr.ErrDecided) {
			return nil
		}
		return err
	})
}

// look opens the arrays as the consolidated metadata describes them, and reads them: all
// have grown at once. It refreshes them if it is asked to. Then each is as its own
// document says, so one may have grown before another.
func look(ctx context.Context, at *zarr.Location, refresh bool) (*found, error) {
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return nil, err
	}
	members := map[string]*zarr.Array{}
	for m, err := range g.Members(ctx, false) {
		if err = errors.Join(err, m.Err); err != nil {
			return nil, err
		}
		members[m.Path] = m.Node.(*zarr.Array)
	}
	f, err := belong(ctx, members, true)
	if !refresh || err != nil {
		return f, err
	}
	for _, a := range members {
		if err := a.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	return belong(ctx, members, false)
}

// belong reads the arrays and checks that they belong together: up to the end of the
// shortest one or, if they are to be equally long, up to the end of each.
func belong(ctx context.Context, members map[string]*zarr.Array, equal bool) (*found, error) {
	data, lengths := map[string][]int32{}, []int{}
	for name := range groupSpecs() {
		a := members[name]
		if a == nil {
			return nil, fmt.Errorf("wrong: the group has no array %q", name)
		}
		b, err := zarr.Read[int32](ctx, a, nil)
		if err != nil {
			return nil, err
		}
		data[name], lengths = b.Data, append(lengths, int(b.Shape[0]))
	}
	least := slices.Min(lengths)
	if most := slices.Max(lengths); equal && most != least {
		return nil, fmt.Errorf("wrong: one array has %d rows, and another one %d", least, most)
	}
	rows := data["time"][:least]
	if got := data["planes"][:planeColumns*least]; !slices.Equal(got, planes(rows)) {
		return nil, fmt.Errorf("wrong: the times are %v, and the planes %v", rows, got)
	}
	if got := data["shards"][:least]; !slices.Equal(got, negative(rows)) {
		return nil, fmt.Errorf("wrong: the times are %v, and the shards have %v", rows, got)
	}
	counts, err := count(0, rows)
	return &found{rows: counts}, err
}

// last is the number of the program that appends to a group after all others.
const last = 19

// finalGroup appends to a group once more, and reads it. Then all arrays are equally long
// in their own documents as well.
func finalGroup(ctx context.Context, location string) (*found, error) {
	g, err := zarr.OpenGroup(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if err := join(ctx, g, batch(last, 0)); err != nil {
		return nil, fmt.Errorf("the next append: %w", err)
	}
	if err := g.Unconsolidated().CheckDimensions(ctx); err != nil {
		return nil, fmt.Errorf("after the next append: %w", err)
	}
	f, err := look(ctx, g.At(""), true)
	if err == nil && f.rows[last] != batchRows {
		err = fmt.Errorf("wrong: the next append has %d rows, want %d", f.rows[last], batchRows)
	}
	return f, err
}

// recutting returns a request for chunks of another length, or for longer ones if they
// are listed.
func recutting(a *zarr.Array, k int) rechunk.Request {
	length := chunkRows + 1 + int64(k%3)
	if !a.Grid().Axis(0).IsRegular() {
		return rechunk.Compaction{UpTo: length}
	}
	return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(length)}}
}

// repacking returns a request for other shards, or for none.
func repacking(a *zarr.Array, k int) rechunk.Request {
	inner := rechunk.Cuts{grid.Every(innerRows)}
	if !a.Grid().Axis(0).IsRegular() {
		if k%2 == 0 {
			return rechunk.Compaction{UpTo: shardRows + int64(k%3)*innerRows}
		}
		return rechunk.Rechunking{Inner: inner, IndexAtStart: k%4 == 1}
	}
	switch k % 4 {
	case 0:
		return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(12)}, Inner: rechunk.Cuts{grid.Every(4)}}
	case 1:
		return rechunk.Rechunking{Unpack: true}
	case 2:
		return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(shardRows)}, Inner: inner}
	}
	return rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(16)}, Inner: inner, IndexAtStart: true}
}

// recut rechunks the array. If no keys are free, it removes what is superseded.
func recut(ctx context.Context, a *zarr.Array, request rechunk.Request) error {
	for range 2 {
		_, err := rechunk.Do(ctx, a, request, nil)
		if !errors.Is(err, rechunk.ErrNoKeys) {
			return err
		}
		if _, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			return err
		}
	}
	return nil // another program has used the keys that were free
}

// beaten returns nil if other programs were faster: one rechunks the array, or was killed
// while it did, or writers publish all the time.
func beaten(err error) error {
	if errors.Is(err, rechunk.ErrClaimed) || errors.Is(err, zarr.ErrConflict) {
		return nil
	}
	return err
}

// Strange are names of objects that are no keys. A service holds them, and a listing must
// not be silent about them.
var Strange = []string{"g/../../etc/x", "g//x", "g/./x", "g/dir/"}

// CheckStrange checks a driver for a service that holds the objects "g/zarr.json" and
// "g/a\tb/c/0", those of [Strange], each with a value, and the empty object "g/mark/",
// with which other programs mark a directory.
func CheckStrange(t *testing.T, s store.Store) {
	t.Helper()
	dir, err := store.ParsePath("g")
	if err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		var bad *store.UnusableError
		for e, err := range store.List(t.Context(), s, dir, store.Deep) {
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			if err == nil {
				names = append(names, e.Name)
			}
		}
		if slices.Sort(names); bad == nil || bad.Count != int64(len(Strange)) {
			t.Errorf("listed %q, and %v", names, bad)
		}
		return names
	}
	want := []string{"a\tb/c/0", "zarr.json"}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	order := store.TreeOrder{First: []string{"zarr.json"}}
	if err := store.DeleteTree(t.Context(), s, dir, order, store.Sync); !errors.Is(err, store.ErrUnusable) {
		t.Errorf("deletion: %v", err)
	}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("the deletion leaves %q, want %q", got, want)
	}
	for _, err := range store.List(t.Context(), s, dir, store.Flat) {
		if err != nil && !errors.Is(err, store.ErrUnusable) {
			t.Error(err)
		}
	}
}
