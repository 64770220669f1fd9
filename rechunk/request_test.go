// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store/memstore"
)

// TestRequestOfCodecs passes requests with codecs to another process. No compressor is
// something else than the compressor that is there.
func TestRequestOfCodecs(t *testing.T) {
	codecs := []metadata.Extension{codec.Bytes("little"), codec.Blosc(codec.BloscOptions{Level: 5, Element: 4})}
	for _, r := range []Rechunking{
		{Codecs: codecs, Inner: Cuts{grid.Every(3)}},
		{Compressor: codecs[1:], Adapt: true},
		{Compressor: []metadata.Extension{}},
		{Chunks: Cuts{grid.Edges(3, 4, 5)}, FillValue: zarr.FillJSON("7")},
	} {
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRequest("rechunk", raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		again, err := json.Marshal(got)
		if k := got.(Rechunking); err != nil || !bytes.Equal(again, raw) || (k.Compressor == nil) != (r.Compressor == nil) || len(k.Codecs) != len(r.Codecs) {
			t.Errorf("%s becomes %s, %v", raw, again, err)
		}
	}
}

// TestRequestNil gives no request to every function that takes one.
func TestRequestNil(t *testing.T) {
	ctx := t.Context()
	a := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int8}, nil))
	for name, call := range map[string]func() error{
		"Do":       func() error { _, err := Do(ctx, a, nil, nil); return err },
		"DoAll":    func() error { _, err := DoAll(ctx, []Part{{Array: a}}, nil); return err },
		"no array": func() error { _, err := DoAll(ctx, []Part{{}}, nil); return err },
		"NewPlan":  func() error { _, err := NewPlan(ctx, a, nil, nil); return err },
		"NewPlans": func() error { _, err := NewPlans(ctx, []Part{{Array: a}}, nil); return err },
		"Publish":  func() error { _, err := Publish(ctx, a, nil, nil); return err },
		"Tasks":    func() error { _, err := Tasks(a, nil, nil); return err },
	} {
		if err := call(); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
