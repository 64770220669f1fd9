// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
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
