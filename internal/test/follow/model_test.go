// SPDX-License-Identifier: Apache-2.0

// Package follow tests that an array keeps in step with the one that it follows.
package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// scene is an array and one that follows it.
type scene struct {
	source    *zarr.Array
	place     *zarr.Location // of the one that follows
	want      rechunk.Rechunking
	value     float32
	attribute float32 // an attribute that was set in the follower, 0 for none
	seen      []reader
}

// reader is a program that has opened the follower earlier, with the elements that it had
// then.
type reader struct {
	at   *zarr.Location
	want []float32
}

// frozen is a store of which a reader has read the document. It reads chunks only.
type frozen struct {
	store.Store
	document []byte
}

func (s frozen) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if key.String() == "b/zarr.json" {
		return append(dst, s.document...), store.Info{Size: int64(len(s.document))}, nil
	}
	return s.Store.Get(ctx, key, q, dst)
}

// all returns the elements of an array.
func all(ctx context.Context, a *zarr.Array) ([]float32, error) {
	v, err := zarr.Read[float32](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	return v.Data, nil
}

// count returns n elements that no array has yet. They have few bits, so that codecs that
// round keep them.
func (s *scene) count(n int64) []float32 {
	data := make([]float32, n)
	for i := range data {
		if s.value++; s.value > 250 {
			s.value = 1
		}
		data[i] = s.value
	}
	return data
}

// stores returns the stores of both arrays: files with locks, a store with conditional
// writes, or one of each.
func stores(t *rapid.T) (a, b store.Store) {
	make := func(label string) store.Store {
		if rapid.Bool().Draw(t, label) {
			return fixture.FileStore(vfs.NewDisk())
		}
		return memstore.New()
	}
	return make("source in files"), make("follower in files")
}

func drawCuts(t *rapid.T, label string, shape []int64) []grid.Cut {
	cuts := make([]grid.Cut, len(shape))
	for i, n := range shape {
		if rapid.Bool().Draw(t, label+" listed") {
			var edges []int64
			for sum := int64(0); sum < n || len(edges) == 0; {
				e := rapid.Int64Range(1, 4).Draw(t, label+" edge")
				edges, sum = append(edges, e), sum+e
			}
			cuts[i] = grid.Edges(edges...)
			continue
		}
		cuts[i] = grid.Every(rapid.Int64Range(1, 4).Draw(t, label+" step"))
	}
	return cuts
}

func newScene(t *rapid.T, from, to store.Store) *scene {
	shape := []int64{rapid.Int64Range(0, 8).Draw(t, "rows"), rapid.Int64Range(1, 6).Draw(t, "columns")}
	codecs := [][]metadata.Extension{fixture.Plain(), fixture.Packed()}[rapid.IntRange(0, 1).Draw(t, "codecs")]
	fill := zarr.FillJSON([]string{"0.0", "7.0"}[rapid.IntRange(0, 1).Draw(t, "fill")])
	a, err := zarr.At(from, "a").CreateArray(context.Background(), zarr.Spec{
		Type: dtype.Float32, Shape: shape, Codecs: codecs, FillValue: fill, Chunks: drawCuts(t, "source", shape),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{source: a, place: zarr.At(to, "b")}
	if err := zarr.Write(context.Background(), a, nil, s.count(shape[0]*shape[1])); err != nil {
		t.Fatal(err)
	}
	switch rapid.IntRange(0, 4).Draw(t, "request") {
	case 0:
		s.want.Chunks = drawCuts(t, "follower", shape)
	case 1:
		s.want.Chunks = rechunk.Cuts{grid.Every(4), grid.Every(6)}
		s.want.Inner = rechunk.Cuts{grid.Every(2), grid.Every(3)}
	case 2:
		s.want.Chunks = drawCuts(t, "follower", shape)
		s.want.Codecs = append([]metadata.Extension{codec.BitRound(10)}, fixture.Packed()...)
	case 3:
		s.drawRegion(t, shape)
	}
	return s
}

// drawRegion draws the part that is followed, with chunks of its own or the same.
func (s *scene) drawRegion(t *rapid.T, shape []int64) {
	for _, n := range shape {
		in := grid.Interval{Start: rapid.Int64Range(0, n).Draw(t, "region from")}
		if rapid.Bool().Draw(t, "region ends") {
			in.Stop = in.Start + rapid.Int64Range(1, 4).Draw(t, "region length")
		}
		s.want.Region = append(s.want.Region, in)
	}
	if rapid.Bool().Draw(t, "region has chunks") {
		s.want.Chunks = rechunk.Cuts{grid.Every(3), grid.Every(2)}
	}
}

// followed returns the shape and the elements that the follower must have.
func (s *scene) followed(ctx context.Context) ([]int64, []float32, error) {
	shape := s.source.Shape()
	if s.want.Region == nil {
		data, err := all(ctx, s.source)
		return shape, data, err
	}
	box := make(selection.Box, len(shape))
	for i, in := range s.want.Region {
		if in.Start = min(in.Start, shape[i]); in.Stop == 0 || in.Stop > shape[i] {
			in.Stop = shape[i]
		}
		box[i], shape[i] = [2]int64{in.Start, in.Stop}, in.Len()
	}
	v, err := zarr.Read[float32](ctx, s.source, box)
	if err != nil {
		return nil, nil, err
	}
	return shape, v.Data, nil
}

// change changes the array that is followed.
func (s *scene) change(t *rapid.T) error {
	ctx, a := context.Background(), s.source
	shape := a.Shape()
	switch op := rapid.SampledFrom([]string{"append", "append", "widen", "write", "fill", "shrink", "both", "rechunk", "rewrite", "attributes", "mine"}).Draw(t, "change"); op {
	case "append", "widen":
		axis := map[string]int{"append": 0, "widen": 1}[op]
		n := rapid.Int64Range(1, 5).Draw(t, "planes")
		return zarr.Append(ctx, a, axis, s.count(n*shape[1-axis]), &zarr.AppendOptions{Planes: n})
	case "write", "fill":
		box := selection.Box{}
		n := int64(1)
		for _, extent := range shape {
			if extent == 0 {
				return nil
			}
			from := rapid.Int64Range(0, extent-1).Draw(t, "from")
			to := rapid.Int64Range(from+1, extent).Draw(t, "to")
			box = append(box, [2]int64{from, to})
			n *= to - from
		}
		data := s.count(n)
		if op == "fill" {
			for i := range data {
				data[i] = 7
			}
		}
		return zarr.Write(ctx, a, box, data)
	case "shrink":
		axis := rapid.IntRange(0, 1).Draw(t, "axis")
		shape[axis] = rapid.Int64Range(1, max(1, shape[axis])).Draw(t, "extent")
		if shape[axis] > a.Shape()[axis] {
			return nil
		}
		return a.Resize(ctx, shape, nil)
	case "both":
		shape[0], shape[1] = shape[0]+2, shape[1]+1
		return a.Resize(ctx, shape, nil)
	case "rechunk":
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: drawCuts(t, "rechunk", shape)}, nil)
		if errors.Is(err, rechunk.ErrNoKeys) {
			_, err = rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		}
		return err
	case "rewrite": // the same elements in other versions
		data, err := all(ctx, a)
		if err != nil || len(data) == 0 {
			return err
		}
		return zarr.Write(ctx, a, nil, data)
	case "attributes":
		form := rapid.SampledFrom([]string{`{"n": %v}`, `{"units": "K", "n": [ %v ]}`, `{"m": %v}`}).Draw(t, "attributes")
		s.value++
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return fmt.Appendf(nil, form, s.value), nil })
	case "mine":
		b, err := s.place.OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			return err
		}
		s.attribute++
		return b.UpdateAttributes(ctx, func(object []byte) ([]byte, error) {
			return metadata.SetAttribute(object, "mine", fmt.Append(nil, s.attribute))
		})
	}
	return nil
}

// follow brings the follower up to date, and compares it.
func (s *scene) follow(t *rapid.T) *rechunk.Report {
	ctx := context.Background()
	opt := &rechunk.Options{Into: s.place}
	want := s.want
	if rapid.Bool().Draw(t, "bare") && len(s.seen) > 0 {
		want = rechunk.Rechunking{}
	}
	r, err := rechunk.Follow(ctx, s.source, want, opt)
	if errors.Is(err, rechunk.ErrNoKeys) {
		// The readers of the oldest grids are gone.
		b, openErr := s.place.OpenArray(ctx, &zarr.Options{Write: true})
		if openErr != nil {
			t.Fatal(openErr)
		}
		if _, err := rechunk.Vacuum(ctx, b, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		s.seen = nil
		r, err = rechunk.Follow(ctx, s.source, want, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t)
	return r
}

// compare compares both arrays, and what readers see that opened the follower earlier.
func (s *scene) compare(t *rapid.T) {
	t.Helper()
	ctx := context.Background()
	shape, want, err := s.followed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.place.OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(ctx, b)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(b.Shape(), shape) {
		t.Fatalf("shape %v, elements %v (%v), want %v and %v", b.Shape(), got, err, shape, want)
	}
	described := attributesOf(t, s.source)
	if s.attribute > 0 {
		described["mine"] = float64(s.attribute)
	}
	if is := attributesOf(t, b); !reflect.DeepEqual(is, described) {
		t.Fatalf("attributes %v, want %v", is, described)
	}
	for i, r := range s.seen {
		if got, err := r.read(ctx); err != nil || !slices.Equal(got, r.want) {
			t.Fatalf("reader %d of %d sees %v (%v), and saw %v", i, len(s.seen), got, err, r.want)
		}
	}
	doc, _, err := s.place.Store().Get(ctx, store.MustKey("b/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.seen = append(s.seen, reader{zarr.At(frozen{s.place.Store(), doc}, "b"), want})
}

// attributesOf returns the attributes of an array, without those of following.
func attributesOf(t *rapid.T, a *zarr.Array) map[string]any {
	attributes := map[string]any{}
	if err := json.Unmarshal(a.Attributes(), &attributes); err != nil {
		t.Fatal(err)
	}
	delete(attributes, "varve:follow")
	return attributes
}

// read reads with the document that the reader has.
func (r *reader) read(ctx context.Context) ([]float32, error) {
	a, err := r.at.OpenArray(ctx, nil)
	if err != nil {
		return nil, err
	}
	return all(ctx, a)
}

// TestFollow follows an array through random changes. After each call the follower has
// its elements.
func TestFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := stores(t)
		s := newScene(t, from, to)
		if r := s.follow(t); !r.Changed {
			t.Fatal("nothing was made")
		}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(1, 2).Draw(t, "changes") {
				if err := s.change(t); err != nil {
					t.Fatal(err)
				}
			}
			s.follow(t)
			if r := s.follow(t); r.Changed || r.Staged.BytesEncoded > 0 {
				t.Fatalf("it was up to date, and %+v was done", r)
			}
		}
	})
}
