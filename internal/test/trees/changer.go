// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// Changer changes a hierarchy at random.
type Changer struct {
	Options zarr.Options
	Format  int

	t    *testing.T
	rand *rand.Rand
	at   *zarr.Location
}

// NewChanger returns a changer of the hierarchy at a place, in a format.
func NewChanger(t *testing.T, r *rand.Rand, at *zarr.Location, format int) *Changer {
	return &Changer{t: t, rand: r, at: at, Options: zarr.Options{Write: true}, Format: format}
}

var changerPaths = []string{"a", "b", "g/a", "g/h/c", "g"}

// Step does one change.
func (c *Changer) Step() {
	ctx := c.t.Context()
	path := changerPaths[c.rand.IntN(len(changerPaths))]
	n, err := c.at.At(path).Open(ctx, &c.Options)
	if errors.Is(err, fs.ErrNotExist) {
		c.must("create", c.create(path))
		return
	}
	c.must("open", err)
	a, isArray := n.(*zarr.Array)
	switch k := c.rand.IntN(10); {
	case k == 0:
		c.must("delete", c.at.At(path).Delete(ctx, &c.Options))
	case !isArray:
		c.must("set", n.(*zarr.Group).UpdateAttributes(ctx, c.attributes))
	default:
		c.change(a, k)
	}
}

func (c *Changer) create(path string) error {
	ctx := c.t.Context()
	spec := zarr.Spec{Type: dtype.Int32, FillValue: zarr.FillJSON(fmt.Sprint(c.rand.IntN(2))), KeyEncoding: metadata.KeyEncoding(c.rand.IntN(4))}
	for range 1 + c.rand.IntN(2) {
		spec.Shape = append(spec.Shape, int64(c.rand.IntN(12)))
		cut := grid.Every(int64(1 + c.rand.IntN(4)))
		if c.rand.IntN(2) == 0 && c.Format == 3 {
			cut = grid.Edges(2, 3, 8)
		}
		spec.Chunks = append(spec.Chunks, cut)
	}
	// The encoders of zstd are shared with other tests, which have another clock.
	spec.Codecs = []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}}
	if c.rand.IntN(3) == 0 {
		spec.Codecs = append(spec.Codecs, metadata.Extension{Name: "gzip", Configuration: []byte(`{"level":1}`)})
	}
	o := &zarr.CreateOptions{Options: c.Options, Format: c.Format}
	if c.Format == 2 {
		spec.KeyEncoding = metadata.V2Dot + metadata.KeyEncoding(c.rand.IntN(2))
	}
	if path == "g" {
		_, err := c.at.At(path).CreateGroup(ctx, nil, o)
		return err
	}
	a, err := c.at.At(path).CreateArray(ctx, spec, o)
	if err == nil {
		c.write(a)
	}
	return err
}

// write writes a random box, perhaps of fill values.
func (c *Changer) write(a *zarr.Array) {
	box, n := selection.Box{}, int64(1)
	for _, extent := range a.Shape() {
		start := c.rand.Int64N(extent + 1)
		stop := start + c.rand.Int64N(extent-start+1)
		box, n = append(box, [2]int64{start, stop}), n*(stop-start)
	}
	v, same := make([]int32, n), c.rand.IntN(3) == 0 // perhaps of fill values only
	for i := range v {
		if v[i] = c.rand.Int32N(2) * c.rand.Int32N(50); same {
			v[i] = v[0] % 2
		}
	}
	c.must("write", zarr.Write(c.t.Context(), a, box, v))
}

// change changes an array in the way of a number.
func (c *Changer) change(a *zarr.Array, k int) {
	ctx := c.t.Context()
	rank := a.Rank()
	switch k {
	case 1:
		n := int64(1 + c.rand.IntN(4))
		for i, extent := range a.Shape() {
			if i > 0 {
				n *= extent
			}
		}
		v := make([]int32, n)
		for i := range v {
			v[i] = c.rand.Int32N(50)
		}
		if n > 0 {
			c.must("append", zarr.Append(ctx, a, 0, v, nil))
		}
	case 2, 3:
		shape := make([]int64, rank)
		for i := range shape {
			shape[i] = c.rand.Int64N(15)
		}
		shrinks := []grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact}
		err := a.Resize(ctx, shape, &zarr.ResizeOptions{Shrink: shrinks[c.rand.IntN(3)]})
		if !errors.Is(err, zarr.ErrInvalidArgument) { // a regular axis is not trimmed
			c.must("resize", err)
		}
	case 4:
		_, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: int64(2 + c.rand.IntN(6))}, nil)
		c.rechunked("compact", err)
	case 5:
		cuts := rechunk.Cuts{}
		for range rank {
			cuts = append(cuts, grid.Every(int64(1+c.rand.IntN(5))))
		}
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: cuts}, nil)
		c.rechunked("rechunk", err)
	case 6:
		_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		c.must("vacuum", err)
	case 7:
		c.rechunked("unlock", a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: c.rand.IntN(2) == 0}))
	case 8:
		c.must("set", a.UpdateAttributes(ctx, c.attributes))
	default:
		c.write(a)
	}
}

// rechunked permits that no keys are free, and that format 2 has no such grid.
func (c *Changer) rechunked(what string, err error) {
	if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrConflict) || errors.Is(err, zarr.ErrUnsupported) {
		return
	}
	c.must(what, err)
}

func (c *Changer) attributes([]byte) ([]byte, error) {
	return fmt.Appendf(nil, `{"n": %d}`, c.rand.IntN(100)), nil
}

func (c *Changer) must(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}
