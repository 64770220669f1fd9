// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// drawStreamSpec draws an array with at least one axis whose planes have elements. It
// returns the Spec and that axis.
func drawStreamSpec(t *rapid.T) (zarr.Spec, int) {
	s := drawSpec(t)
	if len(s.Shape) == 0 {
		s.Shape, s.Chunks = []int64{rapid.Int64Range(0, 9).Draw(t, "extent")}, grid.Chunks(rapid.Int64Range(1, 6).Draw(t, "step"))
		s.Codecs = drawCodecs(t, s.Type, 1)
	}
	axis := rapid.IntRange(0, len(s.Shape)-1).Draw(t, "axis")
	for i := range s.Shape {
		if i != axis {
			s.Shape[i] = max(1, s.Shape[i])
		}
	}
	return s, axis
}

// drawStream draws options of a stream that the axis permits.
func drawStream(t *rapid.T, a grid.Axis) *zarr.StreamOptions {
	o := &zarr.StreamOptions{
		Every:   rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 7, 12}).Draw(t, "every"),
		Budget:  rapid.SampledFrom([]int64{0, 0, 1, 40, 200, 1000}).Draw(t, "stream budget"),
		RoundUp: rapid.Bool().Draw(t, "round up"),
		// Within an hour, only a checkpoint or a full budget publishes.
		Interval: rapid.SampledFrom([]time.Duration{0, 0, 1, time.Hour}).Draw(t, "interval"),
	}
	if !a.IsRegular() {
		o.Grow = rapid.SampledFrom([]grid.Growth{
			grid.AppendOne(), grid.AppendOne(), grid.RepeatLast(), grid.Fixed(3), grid.Pattern(2, 1, 4),
		}).Draw(t, "grow")
	}
	return o
}

// streamModel is an array with a stream, its published planes and all written planes.
type streamModel struct {
	h    *zarr.Location
	opt  zarr.Options
	a    *zarr.Array
	s    *zarr.Stream
	axis int

	visible, written *fixture.Model
}

// TestStreamModel writes drawn planes to streams with drawn options, to arrays of every
// kind, in stores with locks and without. It makes checkpoints, closes streams, or drops
// them. Exactly the planes that the stream reports are visible.
func TestStreamModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s store.Store = memtest.New()
		if rapid.IntRange(0, 3).Draw(rt, "without locks") == 0 {
			s = stepping.Conditional(memtest.New(), stepping.Hooks{})
		}
		m := &streamModel{h: zarr.At(s, ""), opt: drawOptions(rt)}
		var spec zarr.Spec
		spec, m.axis = drawStreamSpec(rt)
		a, err := m.h.At("a").CreateArray(context.Background(), spec, &zarr.CreateOptions{Options: m.opt})
		if err != nil {
			rt.Fatal(err)
		}
		m.a, m.visible = a, fixture.NewModel(spec.Shape, fixture.FillElement(a))
		data := drawValues(rt, a, fixture.Count(spec.Shape))
		if err := a.WriteBytes(context.Background(), nil, data); err != nil {
			rt.Fatal(err)
		}
		m.visible.Data = data
		m.begin(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"": m.compare, "write": m.write, "checkpoint": m.checkpoint, "close": m.close, "leave": m.begin, "change": m.change,
		})
	})
}

// begin opens the array and a stream, without reading its planes.
func (m *streamModel) begin(t *rapid.T) {
	var err error
	if m.a, err = m.h.At("a").OpenArray(context.Background(), &m.opt); err != nil {
		t.Fatal(err)
	}
	o := drawStream(t, m.a.Grid().Axis(m.axis))
	m.s, err = m.a.Stream(context.Background(), m.axis, o)
	if errors.Is(err, zarr.ErrInvalidArgument) { // a drawn policy or a list without edges
		m.s, err = m.a.Stream(context.Background(), m.axis, &zarr.StreamOptions{Every: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.written = m.visible.Clone()
	m.agree(t)
}

func (m *streamModel) write(t *rapid.T) {
	planes := slices.Clone(m.written.Shape)
	planes[m.axis] = rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 3, 5, 9, 14}).Draw(t, "planes")
	data := drawValues(t, m.a, fixture.Count(planes))
	given := bytes.Clone(data)
	if err := m.s.WriteBytes(context.Background(), given); err != nil {
		t.Fatal(err)
	}
	for i := range given {
		given[i] ^= 1 // the stream must not keep the slice
	}
	m.written.Append(m.axis, planes, data)
	m.agree(t)
}

// agree copies the number of published planes from the stream to the model.
func (m *streamModel) agree(t *rapid.T) {
	if m.s.Stats().Written != m.written.Shape[m.axis] || m.s.Stats().Published > m.s.Stats().Written || m.s.Stats().Published < m.visible.Shape[m.axis] {
		t.Fatalf("the stream published %d planes and continues %d, of %d", m.s.Stats().Published, m.s.Stats().Written, m.written.Shape[m.axis])
	}
	shape := slices.Clone(m.written.Shape)
	shape[m.axis] = m.s.Stats().Published
	m.visible = m.written.Clone()
	m.visible.Resize(shape)
}

// compare reads the array through the array of the stream, and as another program.
func (m *streamModel) compare(t *rapid.T) {
	compare(t, m.a, m.visible)
	other, err := m.h.At("a").OpenArray(context.Background(), &m.opt)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, other, m.visible)
}

func (m *streamModel) checkpoint(t *rapid.T) {
	if err := m.s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.done(t)
}

func (m *streamModel) close(t *rapid.T) {
	for range 2 {
		if err := m.s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	m.done(t)
	if err := m.s.WriteBytes(context.Background(), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Fatalf("writing to a closed stream: %v", err)
	}
	m.compare(t)
	m.begin(t)
}

// done expects all planes to be published.
func (m *streamModel) done(t *rapid.T) {
	m.agree(t)
	if m.s.Stats().Published != m.s.Stats().Written {
		t.Fatalf("published %d of %d planes", m.s.Stats().Published, m.s.Stats().Written)
	}
}

// change writes to published planes while the stream is open.
func (m *streamModel) change(t *rapid.T) {
	sel, at := drawSelection(t, m.visible.Shape)
	data := drawValues(t, m.a, fixture.Count(at[1]))
	if err := m.a.WriteBytes(context.Background(), sel, data); err != nil {
		t.Fatal(err)
	}
	for _, to := range []*fixture.Model{m.visible, m.written} {
		strided.Copy(to.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], to.Size))
	}
}
